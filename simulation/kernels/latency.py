"""Histogram bins of latencies: one bin per cycle below 128 cycles, then 64 bins per octave."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulation.kernels.compiled import inlined

_EXACT = 128
_PER_OCTAVE = 64
BINS = _PER_OCTAVE * 25 + _EXACT  # up to 2^31 cycles


@inlined
def latency_bin(cycles: int) -> int:
    """Returns the histogram bin of a latency.

    Args:
        cycles: the latency, 0 to 2^31 - 1.
    """
    octaves = 0
    while cycles >= _EXACT:
        cycles >>= 1
        octaves += 1
    return octaves * _PER_OCTAVE + cycles


def _lower_bound(number: int) -> int:
    """Returns the smallest latency of a bin, in cycles."""
    if number < _EXACT:
        return number
    octaves = (number - _EXACT) // _PER_OCTAVE + 1
    return (number - octaves * _PER_OCTAVE) << octaves


def bin_centre(number: int) -> float:
    """Returns the centre of a histogram bin, in cycles.

    Args:
        number: index of the bin.
    """
    return (_lower_bound(number) + _lower_bound(number + 1) - 1) / 2


def quantile(counts: npt.NDArray[np.int64], share: float) -> float | None:
    """Returns a quantile of latencies, with a relative error of at most 1 %.

    Args:
        counts: the number of packets in each histogram bin.
        share: share of the packets whose latency does not exceed the quantile, 0 to 1.

    Returns:
        The centre of the quantile's bin, in cycles; None if no packets were counted.
    """
    total = int(counts.sum())
    if not total:
        return None
    rank = max(1, int(np.ceil(share * total)))
    number = int(np.searchsorted(np.cumsum(counts), rank))
    return bin_centre(number)
