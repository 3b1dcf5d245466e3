"""Which host each rank of a collective is on."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from topology.base import Topology
from topology.errors import ParameterError, UsageError


def linear(topology: Topology, concentration: int, _seed: int) -> list[int]:
    """Ranks in the order of the hosts: router by router."""
    return list(range(topology.routers * concentration))


def random(topology: Topology, concentration: int, seed: int) -> list[int]:
    """Ranks in a random order."""
    hosts = topology.routers * concentration
    return list(map(int, np.random.default_rng(seed).permutation(hosts)))


def cluster(topology: Topology, concentration: int, _seed: int) -> list[int]:
    """Ranks cluster by cluster (`Topology.clusters`), routers outside of them last."""
    clusters = topology.clusters()
    if not clusters.members:
        raise ParameterError(f"{topology.name} has no clusters to place ranks by")
    order = clusters.in_order(topology.routers)
    return [router * concentration + host for router in order for host in range(concentration)]


# (topology, hosts per router, seed) -> all hosts' indices, in the order of the ranks
PLACEMENTS: Mapping[str, Callable[[Topology, int, int], list[int]]] = {
    "linear": linear,
    "random": random,
    "cluster": cluster,
}


def place_ranks(
    placement: str, ranks: int, topology: Topology, concentration: int, seed: int
) -> tuple[int, ...]:
    """Returns the index of each rank's host.

    Args:
        placement: one of PLACEMENTS; `random:7` has a seed of its own.
        ranks: how many.
        topology: the fabric's graph.
        concentration: p.
        seed: of random placements that have none.

    Raises:
        UsageError: there is no such placement, or not on this fabric, or there are too few hosts.
    """
    name, colon, argument = placement.partition(":")
    if name not in PLACEMENTS:
        raise UsageError(f"unknown placement {name!r}; there are: {', '.join(PLACEMENTS)}")
    if colon and (name != "random" or not argument.isdecimal()):
        raise UsageError(f"{placement!r}: only random placements have a seed, as in random:7")
    hosts = topology.routers * concentration
    if not 2 <= ranks <= hosts:
        raise ParameterError(f"a collective has 2 to {hosts} ranks on this fabric, got {ranks}")
    return tuple(PLACEMENTS[name](topology, concentration, int(argument) if argument else seed)[:ranks])
