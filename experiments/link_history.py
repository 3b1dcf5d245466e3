"""What every link carried over time, from readings of its queue, and its load in a span of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from controller.netlink_queues import QueueState
from topology.addressing import switch_name
from topology.graph import Topology

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
        states = [(queues[p].sent_bytes, queues[p].dropped_packets, queues[p].packets) for p in ports]
        readings.append((time_s, np.array(states, np.int64)))
        if len(readings) > _MOST_READINGS:
            self._step_s *= 2
            for kept in self._readings.values():
                del kept[1:-1:2]

    def keep_next(self) -> None:
        """Has the next readings kept, whenever they come."""
        self._keep_all = True

    def series(self, switch: int, port: int) -> tuple[Amounts, Amounts]:
        """Returns the times of a port's readings, and of each: bytes sent, packets dropped, packets waiting.

        Times are by the monotonic clock in s; the amounts are float64, readings x 3, the first two summed up
        since the queue was made.
        """
        readings = self._readings.get(switch, [])
        if not readings or port not in self._ports[switch]:
            return np.zeros(0), np.zeros((0, 3))
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


def link_loads(
    history: LinkHistory, links: list[DirectedLink], begin_s: float, end_s: float, rate_bps: int
) -> tuple[Amounts, Amounts]:
    """Returns each link's load in a span of time, over its capacity, and the packets that its queue dropped.

    Between two readings, a link is taken to have sent evenly.
    """
    loads, dropped = np.zeros(len(links)), np.zeros(len(links))
    for place, link in enumerate(links):
        times, amounts = history.series(link.source + 1, link.port)
        if len(times) and end_s > begin_s:
            sent, lost = (np.interp([begin_s, end_s], times, amounts[:, column]) for column in (0, 1))
            loads[place] = (sent[1] - sent[0]) * 8 / (rate_bps * (end_s - begin_s))
            dropped[place] = lost[1] - lost[0]
    return np.maximum(loads, 0), np.maximum(dropped, 0)


def jain(values: Amounts) -> float | None:
    """Returns Jain's fairness index: 1 if all are equal, 1 / n if one has all (Jain et al., DEC-TR-301)."""
    squares = float((values**2).sum())
    return float(values.sum() ** 2 / (len(values) * squares)) if squares else None
