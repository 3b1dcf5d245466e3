"""Classes of latencies: exact below 128 cycles, then 64 classes for each doubling."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulation.kernels.compiled import inlined

_EXACT = 128
_PER_DOUBLING = 64
CLASSES = _PER_DOUBLING * 25 + _EXACT  # up to 2^31 cycles


@inlined
def latency_class(cycles: int) -> int:
    """Returns the class of a latency.

    Args:
        cycles: the latency, 0 to 2^31 - 1.
    """
    doublings = 0
    while cycles >= _EXACT:
        cycles >>= 1
        doublings += 1
    return doublings * _PER_DOUBLING + cycles


def least_of_class(number: int) -> int:
    """Returns the least latency of a class, in cycles.

    Args:
        number: the class.
    """
    if number < _EXACT:
        return number
    doublings = (number - _EXACT) // _PER_DOUBLING + 1
    return (number - doublings * _PER_DOUBLING) << doublings


def middle_of_class(number: int) -> float:
    """Returns the middle of the latencies of a class, in cycles.

    Args:
        number: the class.
    """
    return (least_of_class(number) + least_of_class(number + 1) - 1) / 2


def quantile(counts: npt.NDArray[np.int64], share: float) -> float | None:
    """Returns a quantile of latencies, within 1 %.

    Args:
        counts: packets by class.
        share: share of the packets whose latency is not to exceed the quantile, 0 to 1.

    Returns:
        The middle of the quantile's class, in cycles, or None where nothing was counted.
    """
    total = int(counts.sum())
    if not total:
        return None
    rank = max(1, int(np.ceil(share * total)))
    number = int(np.searchsorted(np.cumsum(counts), rank))
    return middle_of_class(number)
