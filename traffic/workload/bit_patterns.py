"""Patterns of endpoints by the bits of their numbers.

Such a pattern is one function here and one line in `patterns.PATTERNS`. Endpoints are counted host by host,
router by router; the functions are for numbers of b bits, 0 to 2^b - 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

HostIndices = npt.NDArray[np.int64]

# (numbers of endpoints, b, parameters by their keys) -> the numbers of the endpoints that they send to
BitPattern = Callable[..., HostIndices]


def shuffle(number: HostIndices, bits: int) -> HostIndices:
    """Returns numbers with their bits rotated left by one.

    Args:
        number: numbers from 0 to 2^bits - 1, any shape.
        bits: b, at least 1.

    Returns:
        int64 array of the same shape.

    Source:
        Dally and Towles, Principles and Practices of Interconnection Networks, table 3.1.
    """
    return (number << 1 | number >> bits - 1) & (1 << bits) - 1


def rotation(number: HostIndices, bits: int) -> HostIndices:
    """Returns numbers with their bits rotated right by one.

    Args:
        number: numbers from 0 to 2^bits - 1, any shape.
        bits: b, at least 1.

    Returns:
        int64 array of the same shape.

    Source:
        Dally and Towles, Principles and Practices of Interconnection Networks, table 3.1.
    """
    return number >> 1 | (number & 1) << bits - 1


def reverse(number: HostIndices, bits: int) -> HostIndices:
    """Returns numbers with their bits in reverse order.

    Args:
        number: numbers from 0 to 2^bits - 1, any shape.
        bits: b, at least 1.

    Returns:
        int64 array of the same shape.

    Source:
        Dally and Towles, Principles and Practices of Interconnection Networks, table 3.1.
    """
    reversed_number = np.zeros_like(number)
    for place in range(bits):
        reversed_number |= (number >> place & 1) << bits - 1 - place
    return reversed_number


def transpose(number: HostIndices, bits: int) -> HostIndices:
    """Returns numbers with their upper and lower halves exchanged: row and column of a square matrix.

    Args:
        number: numbers from 0 to 2^bits - 1, any shape.
        bits: b, at least 1; of an odd number the lower part has one bit more.

    Returns:
        int64 array of the same shape.

    Source:
        Dally and Towles, Principles and Practices of Interconnection Networks, table 3.1.
    """
    lower = (bits + 1) // 2
    return number >> lower | (number & (1 << lower) - 1) << bits - lower


def half_shift(number: HostIndices, bits: int) -> HostIndices:
    """Returns numbers with their highest bit inverted: s + N / 2 modulo N for N = 2^bits endpoints.

    Slim Fly's shift sends to s mod N / 2 and, with chance 1/2, N / 2 further on: to s itself or to this
    number, each with half of the packets.

    Args:
        number: numbers from 0 to 2^bits - 1, any shape.
        bits: b, at least 1.

    Returns:
        int64 array of the same shape.

    Source:
        Slim Fly (SC14), section V-B.
    """
    return number ^ 1 << bits - 1


def complement(number: HostIndices, bits: int) -> HostIndices:
    """Returns numbers with all their bits inverted.

    Args:
        number: numbers from 0 to 2^bits - 1, any shape.
        bits: b, at least 1.

    Returns:
        int64 array of the same shape.

    Source:
        Dally and Towles, Principles and Practices of Interconnection Networks, table 3.1.
    """
    return number ^ (1 << bits) - 1
