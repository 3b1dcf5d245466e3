"""The warm-up criterion: throughput that no longer changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class SteadyState:
    """The criterion that ends a warm-up.

    Throughput is steady once its mean over the last `span_s` seconds differs from that over the `span_s`
    before by at most `tolerance`, or by no more than chance would make it: twice the standard error of the
    difference of the two means, estimated from the rates between successive readings.

    Attributes:
        span_s: length of either of the two spans, in seconds.
        most_s: time after which the warm-up ends even if throughput is not steady, in seconds.
        duration_ns: length of the measurement that follows, in ns.
        tolerance: largest accepted difference, as a fraction of the later mean.
    """

    span_s: float
    most_s: float
    duration_ns: int
    tolerance: float = 0.02

    def reached(self, times_s: npt.NDArray[np.float64], total_bytes: npt.NDArray[np.int64]) -> bool:
        """Returns whether throughput is steady at the last reading.

        Args:
            times_s: times of the readings, ascending, in seconds on any clock; shape (readings,).
            total_bytes: bytes received until each of these times; shape (readings,).

        Returns:
            True if both spans hold at least two rates and their means agree; False before that.
        """
        if len(times_s) < 2 or times_s[-1] - times_s[0] < 2 * self.span_s:
            return False
        rates = np.diff(total_bytes) / np.diff(times_s)
        age_s = times_s[-1] - times_s[1:]
        late, early = rates[age_s < self.span_s], rates[(age_s >= self.span_s) & (age_s < 2 * self.span_s)]
        if min(len(late), len(early)) < 2:
            return False
        change = abs(late.mean() - early.mean())
        error = np.sqrt(late.var(ddof=1) / len(late) + early.var(ddof=1) / len(early))
        return bool(change <= max(self.tolerance * late.mean(), 2 * error))
