"""Running counts of packets sent and received; memory hardly grows with the length of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from traffic.metrics.histogram import LogHistogram
from traffic.metrics.measurements import ARRIVAL, Received, Sent
from traffic.metrics.reordering import FlowOrder
from traffic.metrics.window import PendingBatches, Window

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CounterSettings:
    """Settings of a `SentCounter` or `ReceivedCounter`.

    Attributes:
        hosts: number of hosts.
        flows: number of source ports per host pair.
        window: measurement window.
        interval_ns: time step of series, in nanoseconds.
        max_intervals: maximum length of series; later packets count in the last interval.
        settling_ns: how long before the window, in nanoseconds, a late departure still affects the window.
    """

    hosts: int
    flows: int
    window: Window
    interval_ns: int
    max_intervals: int = 1 << 20
    settling_ns: int = 0


class _SentBatch(NamedTuple):
    """Packets that were sent: their host pairs, departure times, and delays behind the schedule."""

    pairs: Numbers
    sent_ns: Numbers
    lag_ns: Numbers | None


class SentCounter:
    """Running counts of the packets that hosts send.

    Attributes:
        refused: number of packets rejected by a host's own queue or interface.
        unsent: int64 per host: packets refused because the host's interface was down.
    """

    def __init__(self, settings: CounterSettings) -> None:
        """Creates a counter with all counts 0.

        Args:
            settings: settings of the counter.
        """
        self._settings = settings
        self._frames = np.zeros(settings.hosts**2, np.int64)
        self._run_frames = np.zeros(settings.hosts**2, np.int64)
        self._bytes = _ByteSeries(settings)
        self._lag = LogHistogram()
        self._pending: PendingBatches[_SentBatch] = PendingBatches(settings.window)
        self.refused = 0
        self.unsent = np.zeros(settings.hosts, np.int64)

    def add(
        self,
        source: Numbers,
        destination: Numbers,
        sent_ns: Numbers,
        due_ns: Numbers | None,
        frame_bytes: int | Numbers,
    ) -> None:
        """Counts packets.

        Args:
            source: index of each packet's sending host; shape (packets,).
            destination: index of each packet's receiving host; shape (packets,).
            sent_ns: departure times since the schedule's start in nanoseconds; shape (packets,).
            due_ns: scheduled times since the schedule's start in nanoseconds; shape (packets,). None for
                packets without a schedule.
            frame_bytes: length of the frames in bytes; one for all, or of shape (packets,).
        """
        pairs = source * self._settings.hosts + destination
        np.add.at(self._run_frames, pairs, 1)
        self._bytes.add(sent_ns, source, frame_bytes)
        lag_ns = None if due_ns is None else sent_ns - due_ns
        self._pending.add(_SentBatch(pairs, sent_ns, lag_ns), sent_ns)
        self._count_measured()

    def _count_measured(self) -> None:
        """Counts pending packets that were sent in the window, once the window is known."""
        for batch in self._pending.released():
            inside = self._settings.window.contains(batch.sent_ns)
            np.add.at(self._frames, batch.pairs[inside], 1)
            if batch.lag_ns is not None:
                judged = self._settings.window.contains(batch.sent_ns, self._settings.settling_ns)
                self._lag.add(batch.lag_ns[judged])

    def result(self, seconds: float) -> Sent:
        """Returns everything counted so far.

        Args:
            seconds: time since the schedule's start, in seconds.

        Returns:
            The counts; arrays are not copied.
        """
        self._count_measured()
        shape = (self._settings.hosts, self._settings.hosts)
        frames, run_frames = self._frames.reshape(shape), self._run_frames.reshape(shape)
        # Packets before the window say nothing about a window without packets.
        lag = self._lag if frames.any() else LogHistogram()
        return Sent(frames, run_frames, self._bytes.table, self.refused, lag, seconds, self.unsent)


@dataclass(frozen=True)
class ReceivedPackets:
    """Packets in the order in which each host received them; arrays of the same length.

    Attributes:
        source, destination: indices of the hosts (int64).
        flow: index of the flow within the host pair (int64).
        number: sequence number, ascending in the order in which the source sent the packets (int64).
        hops: number of links between routers on the packet's path (int64).
        frame_bytes: length of the frame in bytes (int64).
        sent_ns, arrived_ns: times since the schedule's start in nanoseconds (int64).
    """

    source: Numbers
    destination: Numbers
    flow: Numbers
    number: Numbers
    hops: Numbers
    frame_bytes: Numbers
    sent_ns: Numbers
    arrived_ns: Numbers


class _ReceivedBatch(NamedTuple):
    """Packets that were received, and whether each arrived after a later packet of its flow."""

    packets: ReceivedPackets
    reordered: npt.NDArray[np.bool_]


class ReceivedCounter:
    """Running counts of the packets that hosts receive.

    Attributes:
        misdelivered: number of probes that arrived at the wrong host.
        damaged: number of packets that failed their checks, including duplicates.
        reordered: number of packets in the whole run that arrived after a later packet of their flow.
    """

    def __init__(self, settings: CounterSettings, *, keep_log: bool = False) -> None:
        """Creates a counter with all counts 0.

        Args:
            settings: settings of the counter.
            keep_log: whether to keep a record of every packet; its memory grows with the run.
        """
        hosts = settings.hosts
        self._settings = settings
        self._frames = np.zeros(hosts**2, np.int64)
        self._run_frames = np.zeros(hosts**2, np.int64)
        self._latency_sum_ns = np.zeros(hosts**2)
        self._out_of_order = np.zeros(hosts**2, np.int64)
        self._hops_min = np.full(hosts**2, 255, np.uint8)
        self._hops_max = np.zeros(hosts**2, np.uint8)
        self._hops = np.zeros(256, np.int64)
        self._bytes = _ByteSeries(settings)
        self._window_bytes = np.zeros(hosts, np.int64)
        self._latency = LogHistogram()
        self._last_ns = 0
        self._log: list[npt.NDArray[np.void]] | None = [] if keep_log else None
        self._order = FlowOrder(hosts * hosts * settings.flows)
        self._pending: PendingBatches[_ReceivedBatch] = PendingBatches(settings.window)
        self.misdelivered = 0
        self.damaged = 0
        self.reordered = 0

    def add(self, packets: ReceivedPackets) -> None:
        """Counts packets.

        Args:
            packets: packets that arrived after all packets counted before.
        """
        pairs = packets.source * self._settings.hosts + packets.destination
        np.add.at(self._run_frames, pairs, 1)
        self._bytes.add(packets.arrived_ns, packets.destination, packets.frame_bytes)
        hops = packets.hops.astype(np.uint8)
        np.minimum.at(self._hops_min, pairs, hops)
        np.maximum.at(self._hops_max, pairs, hops)
        if self._log is not None:
            self._log.append(_records(packets))
        reordered = self._order.reordered(pairs * self._settings.flows + packets.flow, packets.number)
        self.reordered += int(reordered.sum())
        self._pending.add(_ReceivedBatch(packets, reordered), packets.arrived_ns)
        self._count_measured()

    def _count_measured(self) -> None:
        """Counts pending packets that were sent, or arrived, in the window, once the window is known."""
        for packets, reordered in self._pending.released():
            arrived = self._settings.window.contains(packets.arrived_ns)
            np.add.at(self._window_bytes, packets.destination[arrived], packets.frame_bytes[arrived])
            inside = self._settings.window.contains(packets.sent_ns)
            pairs = (packets.source * self._settings.hosts + packets.destination)[inside]
            latency_ns = (packets.arrived_ns - packets.sent_ns)[inside]
            np.add.at(self._frames, pairs, 1)
            np.add.at(self._latency_sum_ns, pairs, latency_ns)
            np.add.at(self._out_of_order, pairs, reordered[inside])
            self._hops += np.bincount(packets.hops[inside], minlength=256)
            self._latency.add(latency_ns)
            self._last_ns = int(packets.arrived_ns[inside].max(initial=self._last_ns))

    def result(self) -> Received:
        """Returns everything counted so far."""
        self._count_measured()
        shape = (self._settings.hosts, self._settings.hosts)
        return Received(
            frames=self._frames.reshape(shape),
            run_frames=self._run_frames.reshape(shape),
            latency_sum_ns=self._latency_sum_ns.reshape(shape),
            out_of_order=self._out_of_order.reshape(shape),
            hops_min=self._hops_min.reshape(shape),
            hops_max=self._hops_max.reshape(shape),
            hops=self._hops,
            bytes=self._bytes.table,
            window_bytes=self._window_bytes,
            latency=self._latency,
            last_ns=self._last_ns,
            misdelivered=self.misdelivered,
            damaged=self.damaged,
            log=np.concatenate([np.zeros(0, ARRIVAL), *(self._log or [])]),
        )


def _records(packets: ReceivedPackets) -> npt.NDArray[np.void]:
    log = np.zeros(len(packets.source), ARRIVAL)
    for name in ARRIVAL.names or ():
        log[name] = getattr(packets, {"sequence": "number"}.get(name, name))
    return log


class _ByteSeries:
    """Adds up bytes per time interval and host, in a table that grows with time."""

    def __init__(self, settings: CounterSettings) -> None:
        self._settings = settings
        self._steps = 1
        self._table = np.zeros((64, settings.hosts), np.int64)

    @property
    def table(self) -> Numbers:
        """Bytes up to the last interval with a packet: int64 array, intervals x hosts."""
        return self._table[: self._steps]

    def add(self, times_ns: Numbers, hosts: Numbers, frame_bytes: int | Numbers) -> None:
        """Counts packets.

        Args:
            times_ns: times since the schedule's start in nanoseconds; shape (packets,).
            hosts: indices of the hosts to which the bytes are attributed; shape (packets,).
            frame_bytes: length of the frames in bytes; one for all, or of shape (packets,).
        """
        steps = np.clip(times_ns // self._settings.interval_ns, 0, self._settings.max_intervals - 1)
        self._steps = max(self._steps, 1 + int(steps.max(initial=0)))
        while len(self._table) < self._steps:
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        np.add.at(self._table, (steps, hosts), frame_bytes)
