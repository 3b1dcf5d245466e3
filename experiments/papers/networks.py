"""Networks that papers compare: members of families, by the papers' names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from topology.base import Topology
from topology.parameters import Value
from topology.registry import make_topology


@dataclass(frozen=True)
class Network:
    """A member of a family.

    Attributes:
        label: its name in the paper, such as `DF1`.
        family: name of the family.
        params: its parameters by their keys.
    """

    label: str
    family: str
    params: tuple[tuple[str, Value], ...]

    def graph(self) -> Topology:
        """Returns the graph of the network, which is built once and cached."""
        return _graph(self.family, self.params)


def network(label: str, family: str, **params: Value) -> Network:
    """Returns a network.

    Args:
        label: its name in the paper.
        family: name of the family.
        params: its parameters by their keys.
    """
    return Network(label, family, tuple(params.items()))


@cache
def _graph(family: str, params: tuple[tuple[str, Value], ...]) -> Topology:
    return make_topology(family, dict(params))


def size_values(networks: Iterable[Network]) -> Mapping[str, float]:
    """Returns key of a claim, such as `DF1 routers` -> number of routers or network radix of that network.

    Args:
        networks: the networks.
    """
    values: dict[str, float] = {}
    for one in networks:
        values[f"{one.label} routers"] = one.graph().routers
        values[f"{one.label} radix"] = one.graph().network_radix
    return values


def common(values: Iterable[float]) -> float:
    """Returns the value that all the numbers have; NaN if they differ or there are none.

    Args:
        values: the numbers.
    """
    different = set(values)
    return float(different.pop()) if len(different) == 1 else math.nan
