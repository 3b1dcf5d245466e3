"""What traffic does at the moment: told by its processes a few times a second, read by who started them."""

from __future__ import annotations

import json
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from traffic.metrics.histogram import LogHistogram

_EVERY_S = 0.25


class LiveCounts:
    """Totals of one traffic process, told as lines of JSON, at most a few a second."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._next = 0.0
        self._packets = self._bytes = 0
        self._latency = LogHistogram()

    def add(self, packets: int, frame_bytes: int, latency_ns: npt.NDArray[np.int64] | None = None) -> None:
        """Notes what was sent, or received with these latencies, just now."""
        self._packets += packets
        self._bytes += frame_bytes
        if latency_ns is not None:
            self._latency.add(latency_ns)
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _EVERY_S
            self._tell(json.dumps([now, self._packets, self._bytes, self._latency.quantile_ms(0.99)]))
            self._latency = LogHistogram()


_SPAN_S = 1.0


@dataclass
class Told:
    """What one process told so far.

    Attributes:
        lines: (time by the monotonic clock in s, packets, bytes, p99 in ms), ascending.
    """

    lines: list[tuple[float, int, int, float | None]] = field(default_factory=list)

    def hear(self, line: str) -> None:
        """Takes a line of a process."""
        time_s, packets, frame_bytes, p99_ms = json.loads(line)
        self.lines.append((time_s, packets, frame_bytes, p99_ms))

    @property
    def packets(self) -> int:
        """How many so far."""
        return self.lines[-1][1] if self.lines else 0

    @property
    def until_s(self) -> float:
        """When it told the last line."""
        return self.lines[-1][0] if self.lines else 0.0

    @property
    def p99_ms(self) -> float | None:
        """The last 99th percentile."""
        return self.lines[-1][3] if self.lines else None

    def packets_until(self, time_s: float) -> float:
        """Returns how many until a time, between two lines by interpolation."""
        if not self.lines:
            return 0.0
        place = bisect_right(self.lines, time_s, key=itemgetter(0))
        before = self.lines[place - 1] if place else (self.lines[0][0] - _EVERY_S, 0)
        after = self.lines[min(place, len(self.lines) - 1)]
        return float(np.interp(time_s, (before[0], after[0]), (before[1], after[1])))

    def rate_bps(self) -> float:
        """Returns the rate in the last second or so."""
        if len(self.lines) < 2:
            return 0.0
        last = self.lines[-1]
        before = (line for line in reversed(self.lines) if line[0] <= last[0] - _SPAN_S)
        first = next(before, self.lines[0])
        return (last[2] - first[2]) * 8 / (last[0] - first[0])


class Live(NamedTuple):
    """What traffic does at the moment.

    Attributes:
        seconds: since the schedule's start.
        offered_bps, accepted_bps: in the last second or so.
        loss: share of the packets that had time to arrive and did not; None before the first.
        p99_ms: 99th percentile of the latencies since the last time.
    """

    seconds: float
    offered_bps: float
    accepted_bps: float
    loss: float | None
    p99_ms: float | None

    @classmethod
    def of(cls, seconds: float, sender: Told, collector: Told) -> Live:
        """Returns it from what the two processes told."""
        # What is still on its way is not lost. A collector that gets nothing tells nothing.
        heard_s = max(collector.until_s, sender.until_s - 2 * _EVERY_S)
        sent = sender.packets_until(heard_s - (collector.p99_ms or 0.0) / 1e3)
        loss = max(0.0, 1 - collector.packets / sent) if sent else None
        return cls(seconds, sender.rate_bps(), collector.rate_bps(), loss, collector.p99_ms)


@dataclass(frozen=True)
class SteadyState:
    """When traffic has settled, so that it can be measured.

    It has when the mean throughput of the last `span_s` seconds differs from that of the `span_s` before by
    at most `tolerance`, or by no more than chance would have it: twice the standard error of the two means,
    from the rates of quarter seconds.

    Attributes:
        span_s: how long either mean is over.
        most_s: after so many seconds it is measured in any case.
        duration_ns: how long it is measured.
        tolerance: as a fraction of the mean.
    """

    span_s: float
    most_s: float
    duration_ns: int
    tolerance: float = 0.02

    def reached(self, told: Told) -> bool:
        """Returns whether what a collector told is steady."""
        lines = list(told.lines)
        if len(lines) < 2 or lines[-1][0] - lines[0][0] < 2 * self.span_s:
            return False
        times = np.array([line[0] for line in lines])
        rates = np.diff([line[2] for line in lines]) / np.diff(times)
        age_s = times[-1] - times[1:]
        late, early = rates[age_s < self.span_s], rates[(age_s >= self.span_s) & (age_s < 2 * self.span_s)]
        if min(len(late), len(early)) < 2:
            return False
        change = abs(late.mean() - early.mean())
        error = np.sqrt(late.var(ddof=1) / len(late) + early.var(ddof=1) / len(early))
        return bool(change <= max(self.tolerance * late.mean(), 2 * error))
