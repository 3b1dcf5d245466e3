"""Loads of links, computed from readings of their queues over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from controller.occupancy.queues import QueueState
from experiments.results.tables import read_csv
from experiments.validity.coverage import Coverage, Span, covered_s, note_time
from experiments.validity.link_loss import LinkLoss
from topology.addressing import switch_name
from topology.base import Topology
from topology.errors import ParameterError

_STEP_S = 0.25
_MAX_READINGS = 480
_SPARE_S = 1.0  # tolerated delay of a reading beyond the intended pause

# A link's real rate is known if the link was saturated for the time of _MIN_FRAMES frames and for _MIN_S.
_MIN_FRAMES, _MIN_S = 50, 1.0

# Table with rows of LinkLoadRow.
LINK_LOADS = "link_loads.csv"

Amounts = npt.NDArray[np.float64]
Link = tuple[int, int]  # datapath id, port


class LinkHistory:
    """Readings of all queues over time.

    Whenever a switch has more than a few hundred readings, every other reading is dropped.
    """

    def __init__(self) -> None:
        # Datapath id -> ports; datapath id -> list of (time, array of port states).
        self._ports: dict[int, list[int]] = {}
        self._readings: dict[int, list[tuple[float, npt.NDArray[np.int64]]]] = {}
        self._step_s = _STEP_S
        self._keep_all = False

    def note(self, switch: int, time_s: float, queues: dict[int, QueueState]) -> None:
        """Records a switch's queues (port -> state), if enough time has passed since the last reading."""
        readings = self._readings.setdefault(switch, [])
        if readings and not self._keep_all and time_s < readings[-1][0] + self._step_s:
            return
        ports = self._ports.setdefault(switch, sorted(queues))
        if not queues.keys() >= set(ports):  # an incomplete reading
            return
        states = [
            (queue.sent_bytes, queue.dropped_packets, queue.packets, queue.lost_packets)
            for queue in (queues[port] for port in ports)
        ]
        readings.append((time_s, np.array(states, np.int64)))
        if len(readings) > _MAX_READINGS:
            self._step_s *= 2
            for kept in self._readings.values():
                del kept[1:-1:2]

    def keep_next(self) -> None:
        """Makes `note` record all further readings, regardless of the time between them."""
        self._keep_all = True

    def series(self, switch: int, port: int) -> tuple[Amounts, Amounts]:
        """Returns the readings of a port's queue.

        Args:
            switch: datapath id.
            port: port number.

        Returns:
            (float64 array, one entry per reading: its time on the monotonic clock in s; float64 array,
            readings x 4: bytes sent, packets dropped, packets waiting, packets lost). Counters start when the
            queue is created.
        """
        readings = self._readings.get(switch, [])
        if not readings or port not in self._ports[switch]:
            return np.zeros(0), np.zeros((0, 4))
        place = self._ports[switch].index(port)
        times = np.array([time_s for time_s, _ in readings])
        return times, np.array([states[place] for _, states in readings], np.float64)

    def totals(self, switch: int, port: int) -> tuple[int, int]:
        """Returns (bytes sent, packets dropped) of a port between first and last reading."""
        times, amounts = self.series(switch, port)
        if not len(times):
            return 0, 0
        sent, dropped = (amounts[-1, :2] - amounts[0, :2]).tolist()
        return int(sent), int(dropped)


@dataclass
class LinkLog:
    """Observations of all links of a fabric while traffic ran.

    Attributes:
        busy_s: link -> time in s during which it was certainly saturated.
        busy_bytes: link -> bytes that it sent in that time.
        dropped_packets: packets dropped by the queues of all switches.
        lost: link -> packets that netem lost at random, as requested.
        passed: link -> packets that netem did not lose: sent, or dropped by the full queue that follows
            netem.
        observable: whether queues drain slowly enough to be full in two successive readings.
        history: readings of all queues.
        host_queues: host -> bytes that it sent and packets that its own full queue dropped.
        read_s: spans of continuous readings, on the monotonic clock in s.
    """

    busy_s: dict[Link, float] = field(default_factory=dict)
    busy_bytes: dict[Link, int] = field(default_factory=dict)
    dropped_packets: int = 0
    lost: dict[Link, int] = field(default_factory=dict)
    passed: dict[Link, int] = field(default_factory=dict)
    observable: bool = True
    history: LinkHistory = field(default_factory=LinkHistory)
    host_queues: dict[str, tuple[int, int]] = field(default_factory=dict)
    read_s: list[Span] = field(default_factory=list)

    def note_reading(self, time_s: float, pause_s: float) -> None:
        """Records that the queues were read at `time_s`; `pause_s` is the intended pause between readings."""
        note_time(self.read_s, time_s, 2 * pause_s + _SPARE_S)

    def coverage(self, window: Span) -> Coverage:
        """Returns the share of a window in which the queues were read."""
        seconds = covered_s(self.read_s, window, _SPARE_S / 2)
        return Coverage("queues of links", seconds, window[1] - window[0])

    def note(self, link: Link, before: QueueState, after: QueueState, seconds: float, rate_bps: int) -> None:
        """Adds the changes between two readings of a link's queue, `seconds` apart, to the link's totals."""
        dropped = after.dropped_packets - before.dropped_packets
        self.dropped_packets += dropped
        lost, passed = after.lost_packets - before.lost_packets, after.sent_packets - before.sent_packets
        self.lost[link] = self.lost.get(link, 0) + lost
        self.passed[link] = self.passed.get(link, 0) + passed + dropped
        # The queue already had more than the link could send until the second reading: it was never idle.
        if before.waiting_bytes * 8 >= rate_bps * seconds:
            self.busy_s[link] = self.busy_s.get(link, 0.0) + seconds
            sent = after.sent_bytes - before.sent_bytes
            self.busy_bytes[link] = self.busy_bytes.get(link, 0) + sent

    @property
    def lost_packets(self) -> int:
        """Packets that all links lost at random, as requested."""
        return sum(self.lost.values())

    def losses(self, links: Sequence[DirectedLink]) -> list[LinkLoss]:
        """Returns how many packets netem lost, and how many it passed on, for each of the given links."""
        places = [(link.name, (link.source + 1, link.port)) for link in links]
        return [LinkLoss(name, self.lost.get(at, 0), self.passed.get(at, 0)) for name, at in places]

    def rate_errors(self, rate_bps: int, frame_bytes: int) -> dict[Link, float]:
        """Returns link -> real rate / configured rate - 1, for links that were saturated long enough."""
        min_s = max(_MIN_S, _MIN_FRAMES * frame_bytes * 8 / rate_bps)
        return {
            link: self.busy_bytes[link] * 8 / seconds / rate_bps - 1
            for link, seconds in self.busy_s.items()
            if seconds >= min_s
        }


@dataclass(frozen=True)
class DirectedLink:
    """One direction of a link, from switch `source` through its `port` to switch `destination`."""

    source: int
    destination: int
    port: int

    @property
    def name(self) -> str:
        """Both ends, such as `s3-s7`; parallel links have the same name and different ports."""
        return f"{switch_name(self.source)}-{switch_name(self.destination)}"


def directed_links(topology: Topology) -> list[DirectedLink]:
    """Returns all directed links, ordered by switch and neighbour; a link's number is its index here."""
    return [
        DirectedLink(router, neighbour, port)
        for router in range(topology.routers)
        for neighbour, port in zip(
            topology.neighbours(router).tolist(), topology.link_ports(router).tolist(), strict=True
        )
    ]


@dataclass(frozen=True)
class LinkLoadRow:
    """Load of a directed link in the measurement window, a row of `link_loads.csv`.

    Attributes:
        link: both switches, `s3-s7` for packets from s3 to s7.
        port: port of the sending switch; distinguishes parallel links.
        load: bits carried in the window / (link rate x length of the window), 0 to about 1.
        dropped_packets: packets that the link's full queue dropped in the window; in a simulation, also
            packets lost in the queue or on the link when it failed.
    """

    link: str
    port: int
    load: float
    dropped_packets: int


LINK_LOAD_COLUMNS = tuple(entry.name for entry in fields(LinkLoadRow))


class LinkLoads(NamedTuple):
    """Loads of links in a span of time: arrays with one entry per directed link.

    Attributes:
        loads: carried bytes as a fraction of link capacity.
        dropped: packets that the links' queues dropped.
        lost: packets that the links lost at random, as requested.
    """

    loads: Amounts
    dropped: Amounts
    lost: Amounts


def link_loads(
    history: LinkHistory, links: list[DirectedLink], start_s: float, end_s: float, rate_bps: int
) -> LinkLoads:
    """Returns the load of each link in a span of time, interpolated linearly between readings.

    Args:
        history: readings of all queues.
        links: the links.
        start_s: start of the span, on the monotonic clock in s.
        end_s: its end.
        rate_bps: rate of every link in bit/s.
    """
    result = LinkLoads(*np.zeros((3, len(links))))
    for place, link in enumerate(links):
        times, amounts = history.series(link.source + 1, link.port)
        if len(times) and end_s > start_s:
            sent, dropped, lost = (
                np.diff(np.interp([start_s, end_s], times, amounts[:, column])).item() for column in (0, 1, 3)
            )
            result.loads[place] = max(0.0, sent * 8 / (rate_bps * (end_s - start_s)))
            result.dropped[place], result.lost[place] = max(0.0, dropped), max(0.0, lost)
    return result


def load_rows(
    links: Sequence[DirectedLink], loads: Amounts, dropped: Amounts | npt.NDArray[np.int64]
) -> list[LinkLoadRow]:
    """Returns the rows of a table of link loads.

    Args:
        links: the links.
        loads: load of each.
        dropped: dropped packets of each.
    """
    return [
        LinkLoadRow(link.name, link.port, round(load, 6), round(packets))
        for link, load, packets in zip(links, loads.tolist(), dropped.tolist(), strict=True)
    ]


def mean_rows(each: Sequence[Sequence[LinkLoadRow]]) -> list[LinkLoadRow]:
    """Combines the rows of replications: mean of the loads, sum of the drops.

    Args:
        each: the rows of each replication, at least one.
    """
    means = np.mean([[row.load for row in rows] for rows in each], axis=0).tolist()
    return [
        replace(rows[0], load=round(mean, 6), dropped_packets=sum(row.dropped_packets for row in rows))
        for mean, rows in zip(means, zip(*each, strict=True), strict=True)
    ]


def read_link_loads(path: Path) -> tuple[LinkLoadRow, ...]:
    """Returns the rows of a table of link loads.

    Raises:
        ParameterError: the table is missing or damaged.
    """
    table = read_csv(path, LINK_LOAD_COLUMNS)
    cells = zip(*(table[name] for name in LINK_LOAD_COLUMNS), strict=True)
    try:
        rows = tuple(LinkLoadRow(link, int(port), float(load), int(lost)) for link, port, load, lost in cells)
    except ValueError:
        raise ParameterError(f"{path} is damaged") from None
    if not all(math.isfinite(row.load) for row in rows):
        raise ParameterError(f"{path} is damaged")
    return rows


def load_values(loads: Amounts) -> dict[str, Any]:
    """Returns field of a summary -> value: maximum, mean and fairness of link loads."""
    fairness = jain(loads)
    return {
        "load_max": round(float(loads.max(initial=0)), 6),
        "load_mean": round(float(loads.mean()), 6) if len(loads) else None,
        "jain": None if fairness is None else round(fairness, 6),
    }


def jain(values: Amounts) -> float | None:
    """Returns Jain's fairness index of n values: 1 if all are equal, 1 / n if only one is positive.

    It is None if all are 0. Source: DEC-TR-301.
    """
    squares = float((values**2).sum())
    return float(values.sum() ** 2 / (len(values) * squares)) if squares else None
