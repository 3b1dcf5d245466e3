"""Counts of packets sent and received, kept as they come; of the time only the series' length depends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from traffic.metrics.histogram import LogHistogram
from traffic.metrics.measurements import ARRIVAL, Received, Sent
from traffic.metrics.reordering import FlowOrder
from traffic.metrics.window import Window

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CounterSettings:
    """What is counted.

    Attributes:
        hosts: how many hosts there are.
        flows: source ports per host pair.
        window: what is measured.
        interval_ns: the time step of the series.
        most_intervals: what comes later goes into the last one.
    """

    hosts: int
    flows: int
    window: Window
    interval_ns: int
    most_intervals: int = 1 << 20


class SentCounter:
    """What was sent."""

    def __init__(self, measured: CounterSettings) -> None:
        self._measured = measured
        self._frames = np.zeros(measured.hosts**2, np.int64)
        self._bytes = _Series(measured)
        self._lag = LogHistogram()
        self.refused = 0

    def add(
        self,
        source: Numbers,
        destination: Numbers,
        sent_ns: Numbers,
        due_ns: Numbers | None,
        frame_bytes: int | Numbers,
    ) -> None:
        """Counts packets: hosts' indices, when they were sent and (if ever) due, lengths in bytes."""
        inside = self._measured.window.inside(sent_ns)
        pairs = source * self._measured.hosts + destination
        np.add.at(self._frames, pairs[inside], 1)
        self._bytes.add(sent_ns, source, frame_bytes)
        if due_ns is not None:
            self._lag.add((sent_ns - due_ns)[inside])

    def result(self, seconds: float) -> Sent:
        """Returns what was counted until `seconds` after the start."""
        frames = self._frames.reshape(self._measured.hosts, -1)
        return Sent(frames, self._bytes.table, self.refused, self._lag, seconds)


@dataclass(frozen=True)
class ReceivedPackets:
    """Packets in the order in which each host received them; arrays of one length.

    Attributes:
        source, destination: hosts' indices (int64).
        flow: which of the pair's flows (int64).
        number: ascending as the pair's source sent them (int64).
        hops: links between routers that it took (int64).
        frame_bytes: lengths (int64).
        sent_ns, arrived_ns: since the schedule's start (int64).
    """

    source: Numbers
    destination: Numbers
    flow: Numbers
    number: Numbers
    hops: Numbers
    frame_bytes: Numbers
    sent_ns: Numbers
    arrived_ns: Numbers


class ReceivedCounter:
    """What was received.

    Attributes:
        misdelivered: how many probes reached another host than theirs.
        damaged: how many failed their checks.
    """

    def __init__(self, measured: CounterSettings, *, keep_log: bool = False) -> None:
        hosts = measured.hosts
        self._measured = measured
        self._frames = np.zeros(hosts**2, np.int64)
        self._latency_sum_ns = np.zeros(hosts**2)
        self._out_of_order = np.zeros(hosts**2, np.int64)
        self._hops_min = np.full(hosts**2, 255, np.uint8)
        self._hops_max = np.zeros(hosts**2, np.uint8)
        self._hops = np.zeros(256, np.int64)
        self._bytes = _Series(measured)
        self._window_bytes = np.zeros(hosts, np.int64)
        self._latency = LogHistogram()
        self._log: list[npt.NDArray[np.void]] | None = [] if keep_log else None
        self._order = FlowOrder(hosts * hosts * measured.flows)
        self.misdelivered = 0
        self.damaged = 0

    def add(self, arrivals: ReceivedPackets) -> None:
        """Counts packets."""
        pairs = arrivals.source * self._measured.hosts + arrivals.destination
        self._bytes.add(arrivals.arrived_ns, arrivals.destination, arrivals.frame_bytes)
        arrived = self._measured.window.inside(arrivals.arrived_ns)
        np.add.at(self._window_bytes, arrivals.destination[arrived], arrivals.frame_bytes[arrived])
        hops = arrivals.hops.astype(np.uint8)
        np.minimum.at(self._hops_min, pairs, hops)
        np.maximum.at(self._hops_max, pairs, hops)
        if self._log is not None:
            self._log.append(_records(arrivals))
        late = self._order.late(pairs * self._measured.flows + arrivals.flow, arrivals.number)
        inside = self._measured.window.inside(arrivals.sent_ns)
        pairs = pairs[inside]
        latency_ns = (arrivals.arrived_ns - arrivals.sent_ns)[inside]
        np.add.at(self._frames, pairs, 1)
        np.add.at(self._latency_sum_ns, pairs, latency_ns)
        np.add.at(self._out_of_order, pairs, late[inside])
        self._hops += np.bincount(arrivals.hops[inside], minlength=256)
        self._latency.add(latency_ns)

    def result(self) -> Received:
        """Returns everything counted so far."""
        shape = (self._measured.hosts, self._measured.hosts)
        return Received(
            frames=self._frames.reshape(shape),
            latency_sum_ns=self._latency_sum_ns.reshape(shape),
            out_of_order=self._out_of_order.reshape(shape),
            hops_min=self._hops_min.reshape(shape),
            hops_max=self._hops_max.reshape(shape),
            hops=self._hops,
            bytes=self._bytes.table,
            window_bytes=self._window_bytes,
            latency=self._latency,
            misdelivered=self.misdelivered,
            damaged=self.damaged,
            log=np.concatenate([np.zeros(0, ARRIVAL), *(self._log or [])]),
        )


def _records(arrivals: ReceivedPackets) -> npt.NDArray[np.void]:
    log = np.zeros(len(arrivals.source), ARRIVAL)
    for name in ARRIVAL.names or ():
        log[name] = getattr(arrivals, {"sequence": "number"}.get(name, name))
    return log


class _Series:
    """Bytes by time and host; it grows with the time."""

    def __init__(self, measured: CounterSettings) -> None:
        self._measured = measured
        self._steps = 1
        self._table = np.zeros((64, measured.hosts), np.int64)

    @property
    def table(self) -> Numbers:
        """int64, intervals x hosts, up to the last interval in which there was anything."""
        return self._table[: self._steps]

    def add(self, times_ns: Numbers, hosts: Numbers, frame_bytes: int | Numbers) -> None:
        """Counts packets."""
        steps = np.clip(times_ns // self._measured.interval_ns, 0, self._measured.most_intervals - 1)
        self._steps = max(self._steps, 1 + int(steps.max(initial=0)))
        while len(self._table) < self._steps:
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        np.add.at(self._table, (steps, hosts), frame_bytes)
