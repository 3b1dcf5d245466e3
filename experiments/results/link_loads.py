"""What every link carried over time, from readings of its queue, and its load in a span of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from controller.occupancy.queues import QueueState
from topology.addressing import switch_name
from topology.base import Topology

_STEP_S = 0.25
_MOST_READINGS = 480

Amounts = npt.NDArray[np.float64]


class LinkHistory:
    """Readings of all queues, a few hundred at the most: of more, every other one is forgotten."""

    def __init__(self) -> None:
        # By switch: its ports, and (time, their states as an array).
        self._ports: dict[int, list[int]] = {}
        self._readings: dict[int, list[tuple[float, npt.NDArray[np.int64]]]] = {}
        self._step_s = _STEP_S
        self._keep_all = False

    def note(self, switch: int, time_s: float, queues: dict[int, QueueState]) -> None:
        """Takes a reading of a switch's queues by port, if it is time for one."""
        readings = self._readings.setdefault(switch, [])
        if readings and not self._keep_all and time_s < readings[-1][0] + self._step_s:
            return
        ports = self._ports.setdefault(switch, sorted(queues))
        if not queues.keys() >= set(ports):  # some are missing at the moment
            return
        found = [queues[port] for port in ports]
        states = [(q.sent_bytes, q.dropped_packets, q.packets, q.lost_packets) for q in found]
        readings.append((time_s, np.array(states, np.int64)))
        if len(readings) > _MOST_READINGS:
            self._step_s *= 2
            for kept in self._readings.values():
                del kept[1:-1:2]

    def keep_next(self) -> None:
        """Has the next readings kept, whenever they come."""
        self._keep_all = True

    def series(self, switch: int, port: int) -> tuple[Amounts, Amounts]:
        """Returns the times of a port's readings, and of each: bytes sent, packets dropped, waiting and lost.

        Times are by the monotonic clock in s; the amounts are float64, readings x 4, all but those that wait
        summed up since the queue was made.
        """
        readings = self._readings.get(switch, [])
        if not readings or port not in self._ports[switch]:
            return np.zeros(0), np.zeros((0, 4))
        place = self._ports[switch].index(port)
        times = np.array([time_s for time_s, _ in readings])
        return times, np.array([states[place] for _, states in readings], np.float64)


@dataclass(frozen=True)
class DirectedLink:
    """A link in one direction: the switch that sends, and its port."""

    source: int
    destination: int
    port: int

    @property
    def name(self) -> str:
        """Its ends, as `s3-s7`; parallel links are told apart by the port."""
        return f"{switch_name(self.source)}-{switch_name(self.destination)}"


def directed_links(topology: Topology) -> list[DirectedLink]:
    """Returns all links in both directions, switch by switch and port by port."""
    return [
        DirectedLink(router, neighbour, port)
        for router in range(topology.routers)
        for port, neighbour in enumerate(topology.neighbours(router).tolist(), 1)
    ]


class LinkLoads(NamedTuple):
    """What links did in a span of time, each an array with an entry per link.

    Attributes:
        loads: what they carried, over their capacity.
        dropped: packets that their queues dropped.
        lost: packets that they lost themselves, as they were asked to.
    """

    loads: Amounts
    dropped: Amounts
    lost: Amounts


def link_loads(
    history: LinkHistory, links: list[DirectedLink], begin_s: float, end_s: float, rate_bps: int
) -> LinkLoads:
    """Returns what each link did in a span of time, evenly between two readings for all that is known."""
    found = LinkLoads(*np.zeros((3, len(links))))
    for place, link in enumerate(links):
        times, amounts = history.series(link.source + 1, link.port)
        if len(times) and end_s > begin_s:
            sent, dropped, lost = (
                np.diff(np.interp([begin_s, end_s], times, amounts[:, column])).item() for column in (0, 1, 3)
            )
            found.loads[place] = max(0.0, sent * 8 / (rate_bps * (end_s - begin_s)))
            found.dropped[place], found.lost[place] = max(0.0, dropped), max(0.0, lost)
    return found


def jain(values: Amounts) -> float | None:
    """Returns Jain's fairness index: 1 if all are equal, 1 / n if one has all (Jain et al., DEC-TR-301)."""
    squares = float((values**2).sum())
    return float(values.sum() ** 2 / (len(values) * squares)) if squares else None
