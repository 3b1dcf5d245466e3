"""Live counts of running traffic: reported by its processes a few times per second, read by their parent."""

from __future__ import annotations

import json
import math
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from traffic.metrics.histogram import LogHistogram
from traffic.metrics.silence import Silence

_EVERY_S = 0.25
_RATE_SPAN_S = 1.0
_LATE_S = 3 * _EVERY_S  # a longer time between two reports means that the process stalled
_KEPT_SILENCES = 120  # number of reports to keep, about half a minute
_Report = tuple[float, int, int, float | None, float | None, int]


class CountReporter:
    """Running totals of one traffic process, written as lines of JSON a few times per second."""

    def __init__(self, write_line: Callable[[str], None]) -> None:
        self._write_line = write_line
        self._next_s = 0.0
        self._packets = self._bytes = self._reordered = 0
        self._latency = LogHistogram()
        self.silences: Callable[[], Silence] | None = None  # returns the silences since its last call
        self.done: float | None = None  # fraction of the work that is done, 0 to 1; None if unknown

    def add(
        self,
        packets: int,
        frame_bytes: int,
        latency_ns: npt.NDArray[np.int64] | None = None,
        reordered: int | None = None,
    ) -> None:
        """Counts packets that were just sent or received, and reports if a report is due.

        Args:
            packets: number of packets.
            frame_bytes: total bytes of their frames.
            latency_ns: latencies of received packets; None for sent packets.
            reordered: total number of out-of-order packets so far; None if it has not changed.
        """
        self._reordered = self._reordered if reordered is None else reordered
        self._packets += packets
        self._bytes += frame_bytes
        if latency_ns is not None:
            self._latency.add(latency_ns)
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + _EVERY_S
            p99_ms, p50_ms = self._latency.quantile_ms(0.99), self._latency.quantile_ms(0.5)
            silence = self.silences() if self.silences else None
            totals = [now_s, self._packets, self._bytes, p99_ms, p50_ms, self._reordered]
            self._write_line(json.dumps([*totals, silence, self.done]))
            self._latency = LogHistogram()


@dataclass
class LiveCounts:
    """The totals that one process has reported so far.

    Attributes:
        reports: (time on the monotonic clock in s, packets, bytes, p99 and median in ms, packets out of
            order), ascending.
        silences: the latest reports, oldest first; see Silence.
        done: fraction of the work that is done, 0 to 1; None if unknown.
        late_s: time, in s on the monotonic clock, of the latest report that came after a stall of the
            process; the first report counts as such. inf before the first report.
    """

    reports: list[_Report] = field(default_factory=list)
    silences: deque[Silence] = field(default_factory=partial(deque, maxlen=_KEPT_SILENCES))
    done: float | None = None
    late_s: float = math.inf

    def read(self, line: str) -> None:
        """Adds a report: a line written by `CountReporter`."""
        time_s, packets, frame_bytes, p99_ms, p50_ms, reordered, silence, self.done = json.loads(line)
        if not self.reports or time_s - self.until_s > _LATE_S:
            self.late_s = time_s
        self.reports.append((time_s, packets, frame_bytes, p99_ms, p50_ms, reordered))
        if silence is not None:
            self.silences.append(Silence(*silence))

    @property
    def packets(self) -> int:
        """Number of packets sent or received up to the last report."""
        return self.reports[-1][1] if self.reports else 0

    @property
    def until_s(self) -> float:
        """Time of the last report in s, on the monotonic clock; 0 before the first report."""
        return self.reports[-1][0] if self.reports else 0.0

    @property
    def p99_ms(self) -> float | None:
        """99th percentile of the latencies between the last two reports, in ms; None without packets."""
        return self.reports[-1][3] if self.reports else None

    @property
    def p50_ms(self) -> float | None:
        """Median of the latencies between the last two reports, in ms; None without packets."""
        return self.reports[-1][4] if self.reports else None

    def packets_until(self, time_s: float) -> float:
        """Returns the number of packets up to `time_s` (monotonic clock), interpolated between reports."""
        if not self.reports:
            return 0.0
        index = bisect_right(self.reports, time_s, key=itemgetter(0))
        before = self.reports[index - 1] if index else (self.reports[0][0] - _EVERY_S, 0)
        after = self.reports[min(index, len(self.reports) - 1)]
        return float(np.interp(time_s, (before[0], after[0]), (before[1], after[1])))

    def rate_bps(self) -> float:
        """Returns the rate over about the last second, in bit/s."""
        if len(self.reports) < 2:
            return 0.0
        first, last = self._last_second()
        return (last[2] - first[2]) * 8 / (last[0] - first[0])

    def out_of_order(self) -> float | None:
        """Returns the share of the last second's packets that were out of order; None without packets."""
        if len(self.reports) < 2:
            return None
        first, last = self._last_second()
        return (last[5] - first[5]) / (last[1] - first[1]) if last[1] > first[1] else None

    def _last_second(self) -> tuple[_Report, _Report]:
        """Returns two reports: the one from about a second before the last report, and the last report."""
        last = self.reports[-1]
        before = (report for report in reversed(self.reports) if report[0] <= last[0] - _RATE_SPAN_S)
        return next(before, self.reports[0]), last

    def byte_totals(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Returns the times of all reports in s, and the total bytes at each."""
        reports = list(self.reports)  # a thread appends meanwhile
        return np.array([report[0] for report in reports]), np.array(
            [report[2] for report in reports], np.int64
        )


class TrafficSnapshot(NamedTuple):
    """Running traffic at one moment.

    Attributes:
        seconds: seconds since the schedule's start.
        offered_bps, accepted_bps: rates over about the last second, in bit/s.
        loss: share of the packets that should have arrived by now but have not; None at the start.
        p99_ms: 99th percentile of the latencies since the last report.
        under_way: packets that were sent and have not arrived, including lost ones.
        draining: whether the measurement window has ended and only packets under way are still received.
        p50_ms: median of the latencies since the last report.
        out_of_order: share of the last second's packets that arrived after a later packet of their flow.
        silences: reports of silences in the last half minute, the oldest first.
    """

    seconds: float
    offered_bps: float
    accepted_bps: float
    loss: float | None
    p99_ms: float | None
    under_way: int = 0
    draining: bool = False
    p50_ms: float | None = None
    out_of_order: float | None = None
    silences: tuple[Silence, ...] = ()

    @classmethod
    def of(
        cls, seconds: float, sender: LiveCounts, collector: LiveCounts, end_s: float = math.inf
    ) -> TrafficSnapshot:
        """Returns the snapshot `seconds` after the start, from the counts of sender and collector.

        Args:
            seconds: seconds since the schedule's start.
            sender: counts of the sender.
            collector: counts of the collector.
            end_s: end of the measurement window; inf if it is not known yet.
        """
        # Packets under way are not lost: compare with those sent p99 before the collector's last report. If
        # the collector has fallen silent, the time moves on nevertheless, so that losses become visible.
        arrived_by_s = max(collector.until_s, sender.until_s - 2 * _EVERY_S)
        sent = sender.packets_until(arrived_by_s - (collector.p99_ms or 0.0) / 1e3)
        # The collector's first report counts the first packets to arrive, and the others are under way.
        begun = len(collector.reports) > 1 or seconds > 4 * _EVERY_S
        loss = max(0.0, 1 - collector.packets / sent) if sent and begun else None
        return cls(
            seconds,
            sender.rate_bps(),
            collector.rate_bps(),
            loss,
            collector.p99_ms,
            max(0, sender.packets - collector.packets),
            seconds >= end_s,
            collector.p50_ms,
            collector.out_of_order(),
            tuple(collector.silences),
        )
