"""Bit patterns: permutations of endpoints by the bits of their numbers.

Such a pattern is a function in this module and an entry in `patterns.PATTERNS`. Endpoints are numbered router
by router. The functions map b-bit numbers, 0 to 2^b - 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

HostIndices = npt.NDArray[np.int64]

# (numbers of endpoints, b, parameters by key) -> numbers of their destinations
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
        bits: b, at least 1; if b is odd, the lower half has one more bit.

    Returns:
        int64 array of the same shape.

    Source:
        Dally and Towles, Principles and Practices of Interconnection Networks, table 3.1.
    """
    lower = (bits + 1) // 2
    return number >> lower | (number & (1 << lower) - 1) << bits - lower


def half_shift(number: HostIndices, bits: int) -> HostIndices:
    """Returns numbers with their highest bit inverted: s + N / 2 modulo N for N = 2^bits endpoints.

    Slim Fly's shift pattern sends to s mod N / 2, or, with probability 1/2, to s mod N / 2 + N / 2. One of
    the two is s itself, the other is this number; each gets half of the packets.

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
