"""The criterion that ends the warm-up: throughput no longer changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class SteadyState:
    """The criterion that ends a warm-up.

    Throughput is steady if its means over the last two spans of `span_s` seconds differ by at most
    `tolerance`, or by at most twice the standard error of the difference, estimated from the rates between
    successive readings.

    Attributes:
        span_s: length of each span, in seconds.
        max_s: maximum length of the warm-up, in seconds; it then ends even if throughput is not steady.
        duration_ns: length of the measurement that follows, in ns.
        tolerance: maximum accepted difference, as a fraction of the later mean.
    """

    span_s: float
    max_s: float
    duration_ns: int
    tolerance: float = 0.02

    def reached(self, times_s: npt.NDArray[np.float64], total_bytes: npt.NDArray[np.int64]) -> bool:
        """Returns whether throughput is steady at the last reading.

        Args:
            times_s: times of the readings, ascending, in seconds on any clock; shape (readings,).
            total_bytes: total bytes received at each of these times; shape (readings,).

        Returns:
            Whether both spans have at least two rates and their means agree.
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
