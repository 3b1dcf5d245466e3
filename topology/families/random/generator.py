"""SplitMix64 random generator: a seed gives the same numbers with every version of every library.

Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (OOPSLA 2014), figure 15.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from topology.parameters import Parameter

MAX_SEED = 2**63 - 1
SEED = Parameter(
    name="seed", type=int, help="seed of the graph's random links", default=1, least=0, most=MAX_SEED
)

_WORD = 1 << 64
_STEP = 0x9E3779B97F4A7C15
_ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


class SplitMix64:
    """A sequence of random numbers from a seed."""

    def __init__(self, seed: int) -> None:
        """Initialises the generator.

        Args:
            seed: any integer; seeds that are equal modulo 2^64 give the same sequence.
        """
        self._state = seed % _WORD

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """Returns the next numbers in the sequence.

        Args:
            count: the number of numbers, at least 0.

        Returns:
            uint64 array, count: numbers uniform in 0 .. 2^64 - 1.
        """
        steps = np.arange(1, count + 1, dtype=np.uint64)
        word = steps * np.uint64(_STEP) + np.uint64(self._state)
        self._state = (self._state + count * _STEP) % _WORD
        for shift, factor in _ROUNDS:
            word = (word ^ word >> np.uint64(shift)) * np.uint64(factor)
        return word ^ word >> np.uint64(31)

    def below(self, bound: int) -> int:
        """Returns a random integer.

        Args:
            bound: the number of possible values, 1 to 2^64.

        Returns:
            An integer uniform in 0 .. bound - 1.
        """
        # Reject words beyond the last multiple of the bound: they would favour small values.
        fair = _WORD - _WORD % bound
        while (word := int(self.words(1)[0])) >= fair:
            pass
        return word % bound

    def permutation(self, count: int) -> npt.NDArray[np.int64]:
        """Returns a random permutation.

        Args:
            count: the length of the permutation.

        Returns:
            int64 array, count: the numbers 0 .. count - 1 in random order. All orders are equally likely
            unless two random words are equal (probability below count^2 / 2^65).
        """
        return np.argsort(self.words(count), kind="stable").astype(np.int64)
