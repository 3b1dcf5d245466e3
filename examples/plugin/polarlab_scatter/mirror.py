"""Mirrored traffic (`mirror`): the first router sends to the last one, the second to the last but one ..."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polarlab.extend import ParameterError, PatternDefinition, Topology


def mirror(
    _topology: Topology, routers: npt.NDArray[np.int64], _generator: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Returns the destination of each router.

    Args:
        routers: indices of the routers with hosts, ascending.

    Raises:
        ParameterError: their number is odd, so that the middle one would send to itself.
    """
    if len(routers) % 2:
        raise ParameterError(f"number of routers with hosts must be even for mirror, got {len(routers)}")
    return routers[::-1]


PATTERN = PatternDefinition("routers", "router i to N - 1 - i", "-", mirror)
