"""A histogram with bounded memory and bounded relative error, for latencies and lags."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

_MIN_NS = 100.0
_RATIO = 1.01  # adjacent bins differ by 1 %, so that the error of a quantile is at most 0.5 %
_BINS = math.ceil(math.log(1e12 / _MIN_NS) / math.log(_RATIO))  # the last bin ends at 1,000 s


class LogHistogram:
    """Histogram of durations with logarithmic bins, from 100 ns to 1,000 s.

    Attributes:
        counts: int64 array, one entry per bin.
        total_ns: sum of all durations.
    """

    def __init__(self) -> None:
        self.counts = np.zeros(_BINS, np.int64)
        self.total_ns = 0.0

    def add(self, durations_ns: npt.NDArray[np.int64]) -> None:
        """Counts durations; those out of range count in the first or last bin.

        Args:
            durations_ns: durations in nanoseconds; shape (durations,).
        """
        if len(durations_ns):
            scaled = np.log(np.maximum(durations_ns, _MIN_NS) / _MIN_NS) / math.log(_RATIO)
            bins = np.minimum(scaled.astype(np.int64), _BINS - 1)
            self.counts += np.bincount(bins, minlength=_BINS)
            self.total_ns += float(durations_ns.sum())

    @property
    def count(self) -> int:
        """The number of counted durations."""
        return int(self.counts.sum())

    def mean_ms(self) -> float | None:
        """Returns the exact mean in ms, or None if nothing was counted."""
        return self.total_ns / self.count / 1e6 if self.count else None

    def quantile_ms(self, fraction: float) -> float | None:
        """Returns a quantile of the durations, with a relative error of at most 0.5 %.

        Args:
            fraction: fraction of the durations that do not exceed the quantile, 0 to 1.

        Returns:
            The quantile in ms, or None if nothing was counted.
        """
        if not self.count:
            return None
        rank = max(1, math.ceil(fraction * self.count))
        index = int(np.searchsorted(np.cumsum(self.counts), rank))
        return float(bin_middles_ms()[index])


def bin_middles_ms() -> npt.NDArray[np.float64]:
    """Returns the geometric centre of every bin in ms: float64 array, one entry per bin."""
    return np.asarray(_MIN_NS / 1e6 * _RATIO ** (np.arange(_BINS) + 0.5), np.float64)


def histogram_from_counts(counts: npt.NDArray[np.int64], total_ns: float) -> LogHistogram:
    """Recreates a histogram from counts of another process.

    Args:
        counts: number of durations per bin, like `LogHistogram.counts`.
        total_ns: sum of all durations in nanoseconds.

    Returns:
        A histogram with a copy of the counts.
    """
    histogram = LogHistogram()
    histogram.counts[:] = counts
    histogram.total_ns = total_ns
    return histogram
