"""Who sends to whom: each pattern is one function here, and one line in PATTERNS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from topology.errors import ParameterError, UsageError

HostIndices = npt.NDArray[np.int64]

# (sources of some packets, number of hosts, random generator) -> the destination of each packet
Pattern = Callable[[HostIndices, int, np.random.Generator], HostIndices]


def uniform(sources: HostIndices, hosts: int, generator: np.random.Generator) -> HostIndices:
    """Every packet goes to any host but its source, all equally likely (PolarFly, section VIII-A)."""
    return (sources + generator.integers(1, hosts, sources.shape)) % hosts


PATTERNS: Mapping[str, Pattern] = {"uniform": uniform}


def pattern(name: str) -> Pattern:
    """Returns the pattern called `name`.

    Raises:
        UsageError: there is none; those that exist are named.
    """
    if name not in PATTERNS:
        raise UsageError(f"unknown pattern {name!r}; there are: {', '.join(sorted(PATTERNS))}")
    return PATTERNS[name]


def check_load(load: Any) -> None:
    """Raises ParameterError unless `load` is a fraction of the injection capacity over 0."""
    if not 0 < load <= 1:
        raise ParameterError(f"a load must be over 0 and at most 1, got {load:g}")
