"""Monitor of the machine's wall clock: notices when it is set, which falsifies latencies.

Probes carry departure times that are computed from the monotonic clock; the kernel stamps arrivals with the
wall clock. Readings at intervals notice every lasting change. `timerfd_create(2)` would report every setting,
but also settings that change nothing, and it cannot be tested without setting the machine's clock.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from traffic.engine.wall_clock import ClockOffset, read_offset

_EVERY_S = 0.05
# A smaller change hardly affects a latency: on a link of 10 Mbit/s, a packet of 1,000 bytes takes 0.8 ms.
_MIN_CHANGE_NS = 100_000


@dataclass
class ClockSamples:
    """Extreme offsets of the wall clock from the monotonic clock.

    Attributes:
        least: the offset with the smallest upper bound; None before the first observation.
        most: the offset with the largest lower bound; None before the first observation.
        forward: whether `most` was observed later than `least`.
    """

    least: ClockOffset | None = None
    most: ClockOffset | None = None
    forward: bool = False

    def add(self, offset: ClockOffset) -> None:
        """Adds an observation."""
        if self.most is None or offset.low_ns > self.most.low_ns:
            self.most, self.forward = offset, True
        if self.least is None or offset.high_ns < self.least.high_ns:
            self.least, self.forward = offset, False

    def doubts(self) -> list[str]:
        """Returns a reason to doubt measured times if the clock was certainly set meanwhile; else none."""
        if self.least is None or self.most is None:
            return []
        change_ns = self.most.low_ns - self.least.high_ns
        if change_ns <= _MIN_CHANGE_NS:
            return []
        change_ms = (change_ns if self.forward else -change_ns) / 1e6
        return [f"the machine's clock was set by {change_ms:+.3g} ms during the measurement"]


class ClockMonitor:
    """Monitor of the machine's wall clock; a context manager.

    Attributes:
        samples: the observations so far.
    """

    def __init__(self) -> None:
        self.samples = ClockSamples()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> ClockMonitor:
        self.samples.add(read_offset())
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()
        self.samples.add(read_offset())

    def _run(self) -> None:
        while not self._stop.wait(_EVERY_S):
            self.samples.add(read_offset())
