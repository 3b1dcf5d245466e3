"""Random numbers of the kernels: a 32-bit xorshift generator for each host and each router.

Integer arithmetic only: a seed gives the same run on every machine, compiled or not.

Source: G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (14), 2003.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from simulation.kernels.compiled import inlined

_LOW = 0xFFFFFFFF
# The low bits of xorshift are the weakest: the product spreads them over the high bits. It fits into 63 bits.
_ODD = 0x2545F491


@inlined
def draw(states: Any, index: int) -> int:
    """Returns a random 32-bit number and advances the generator.

    Args:
        states: states of generators, int64 array.
        index: index of the generator.
    """
    x = states[index]
    x ^= (x << 13) & _LOW
    x ^= x >> 17
    x ^= (x << 5) & _LOW
    states[index] = x
    number: int = (x * _ODD) & _LOW
    return number


@inlined
def below(states: Any, index: int, limit: int) -> int:
    """Returns a random number from 0 to limit - 1.

    Args:
        states: states of generators, int64 array.
        index: index of the generator.
        limit: 1 to 2^31.
    """
    return (draw(states, index) * limit) >> 32


def seeded(seed: int, stream: int, count: int) -> npt.NDArray[np.int64]:
    """Returns the states of new generators.

    Args:
        seed: seed of the run, at least 0.
        stream: identifies the purpose of the generators; different purposes get different states.
        count: number of generators.

    Returns:
        int64 array, (count,), without zeros (0 is a fixed point of xorshift).
    """
    sequence = np.random.SeedSequence([seed, stream])
    states = sequence.generate_state(max(count, 1), np.uint32).astype(np.int64)[:count]
    states[states == 0] = 1
    return states
