"""Placement of a collective's ranks on hosts.

A placement is one function here and one line in PLACEMENTS: an order of all hosts, the first of which hold
the ranks. Hosts are counted router by router.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from topology.base import Topology
from topology.errors import ParameterError, UsageError


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


# (topology, concentration, seed) -> all hosts' indices, in the order of the ranks
PLACEMENTS: Mapping[str, Callable[[Topology, int, int], list[int]]] = {
    "linear": linear,
    "random": random,
    "cluster": cluster,
}


def place_ranks(
    placement: str, ranks: int, topology: Topology, concentration: int, seed: int
) -> tuple[int, ...]:
    """Returns the host of each rank of a collective.

    Args:
        placement: one of PLACEMENTS; `random:7` has a seed of its own.
        ranks: the number of ranks, 2 to the number of hosts.
        topology: the graph of routers; its `host_counts` says which of them have hosts.
        concentration: p, the number of hosts at each router that has any.
        seed: seed of random placements that have none of their own.

    Returns:
        The index of each rank's host, by rank; all different.

    Raises:
        UsageError: the placement is not one of PLACEMENTS, or does not take a seed.
        ParameterError: the fabric has too few hosts, or no clusters for the placement `cluster`.
    """
    name, colon, argument = placement.partition(":")
    if name not in PLACEMENTS:
        raise UsageError(f"placement must be one of {', '.join(PLACEMENTS)}, got {name!r}")
    if colon and name != "random":
        raise UsageError(f"placement {name} takes no seed, got {argument!r}; random does, as in random:7")
    if colon and not argument.isdecimal():
        raise UsageError(f"seed of placement random must be a whole number, as in random:7, got {argument!r}")
    hosts = topology.endpoints(concentration)
    if not 2 <= ranks <= hosts:
        raise ParameterError(f"number of ranks must be 2 to {hosts} on this fabric, got {ranks}")
    return tuple(PLACEMENTS[name](topology, concentration, int(argument) if argument else seed)[:ranks])
