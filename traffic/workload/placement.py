"""Placement of a collective's ranks on hosts.

A placement is one function here and one line in PLACEMENTS: an order of all hosts, the first of which hold
the ranks. Hosts are counted router by router.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from topology.base import Topology
from topology.errors import ParameterError, UsageError
from topology.files.shown import quoted
from topology.parameters import Parameter, hint, split_parameters


def linear(topology: Topology, concentration: int, _seed: int) -> list[int]:
    """Returns the hosts in their own order: router by router.

    Args:
        topology: the graph of routers; its `host_counts` says which of them have hosts.
        concentration: p, the number of hosts at each router that has any.

    Returns:
        All hosts' indices.
    """
    return list(range(topology.endpoints(concentration)))


def random(topology: Topology, concentration: int, seed: int) -> list[int]:
    """Returns the hosts in a random order.

    Args:
        topology: the graph of routers; its `host_counts` says which of them have hosts.
        concentration: p, the number of hosts at each router that has any.
        seed: of the random generator; a non-negative integer.

    Returns:
        All hosts' indices.
    """
    hosts = topology.endpoints(concentration)
    return list(map(int, np.random.default_rng(seed).permutation(hosts)))


def cluster(topology: Topology, concentration: int, _seed: int) -> list[int]:
    """Returns the hosts cluster by cluster (`Topology.clusters`), those outside of clusters last.

    Args:
        topology: the graph of routers; its `host_counts` says which of them have hosts.
        concentration: p, the number of hosts at each router that has any.

    Returns:
        All hosts' indices.

    Raises:
        ParameterError: the topology has no clusters.
    """
    clusters = topology.clusters()
    if not clusters.members:
        raise ParameterError(f"{topology.name} has no clusters to place ranks by")
    counts = topology.host_counts(concentration)
    first_host = np.cumsum(counts) - counts
    return [
        int(first_host[router] + index)
        for router in clusters.in_order(topology.routers)
        for index in range(counts[router])
    ]


@dataclass(frozen=True)
class Placement:
    """A placement.

    Attributes:
        order: (topology, concentration, seed) -> all hosts' indices, in the order of the ranks.
        parameters: the parameters that may follow the name; a seed stands for the run's.
    """

    order: Callable[[Topology, int, int], list[int]]
    parameters: tuple[Parameter, ...] = ()


SEED = Parameter(
    name="seed",
    type=int,
    help="seed of the placement",
    least=0,
    most=2**63 - 1,
    default_text="that of the run",
)
PLACEMENTS: Mapping[str, Placement] = {
    "linear": Placement(linear),
    "random": Placement(random, (SEED,)),
    "cluster": Placement(cluster),
}


def place_ranks(
    placement: str, ranks: int, topology: Topology, concentration: int, seed: int
) -> tuple[int, ...]:
    """Returns the host of each rank of a collective.

    Args:
        placement: one of PLACEMENTS; `random:7` or `random:seed=7` has a seed of its own.
        ranks: the number of ranks, 2 to the number of hosts.
        topology: the graph of routers; its `host_counts` says which of them have hosts.
        concentration: p, the number of hosts at each router that has any.
        seed: seed of random placements that have none of their own.

    Returns:
        The index of each rank's host, by rank; all different.

    Raises:
        UsageError: the placement is not one of PLACEMENTS, or has not such a parameter.
        ParameterError: the fabric has too few hosts, or no clusters for the placement `cluster`.
    """
    name = placement.partition(":")[0]
    if name not in PLACEMENTS:
        names = ", ".join(PLACEMENTS)
        raise UsageError(f"placement must be one of {names}, got {quoted(name)}{hint(name, PLACEMENTS)}")
    chosen = PLACEMENTS[name]
    _, values = split_parameters(placement, chosen.parameters)
    hosts = topology.endpoints(concentration)
    if not 2 <= ranks <= hosts:
        raise ParameterError(f"number of ranks must be 2 to {hosts} on this fabric, got {ranks}")
    return tuple(chosen.order(topology, concentration, int(values.get(SEED.key, seed)))[:ranks])
