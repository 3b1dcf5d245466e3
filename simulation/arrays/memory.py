"""Memory of a simulation: its arrays side by side, where the processor finds them quickly."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from simulation.kernels import state as of
from simulation.kernels.state import State

CACHE_BYTES = 1 << 22  # of a processor; the rows of larger arrays are prefetched
_CACHE_LINE = 64  # bytes
_LARGE_PAGE = 1 << 21  # bytes
_LARGE_ARRAY = 1 << 26  # bytes


def packed(network: State) -> State:
    """Returns a network whose arrays lie in one piece of memory, each from the begin of a cache line on.

    NumPy asks for large pages for large pieces. With small pages, the processor looks for the pages longer
    than for the data. The largest arrays do not change and are left where they are.

    Args:
        network: the network; its settings then tell whether its arrays are large.
    """
    arrays: dict[str, Any] = network._asdict()
    small = {name: array for name, array in arrays.items() if array.nbytes < _LARGE_ARRAY}
    size = sum(_lines(array) for array in small.values())
    network.settings[of.LARGE] = size > CACHE_BYTES
    memory = np.empty(size + _LARGE_PAGE, np.uint8)
    begin = -memory.ctypes.data % _LARGE_PAGE
    for name, array in small.items():
        place = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
        place[...] = array
        arrays[name] = place
        begin += _lines(array)
    return State(**arrays)


def _lines(array: npt.NDArray[Any]) -> int:
    """Returns the bytes of the lines of the processor's cache that an array needs."""
    return -(-array.nbytes // _CACHE_LINE) * _CACHE_LINE
