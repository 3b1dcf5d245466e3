"""Placement of an application's ranks on hosts.

A placement is a function in this module and an entry in PLACEMENTS. It returns an order of all hosts; rank i
runs on the i-th host of that order. Hosts are numbered router by router.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from topology.base import Topology
from topology.errors import ParameterError, UsageError
from topology.files.escaping import quoted
from topology.parameters import Parameter, hint, spelled, split_parameters


def linear(topology: Topology, hosts_per_router: int, _seed: int) -> list[int]:
    """Returns the hosts in ascending order, router by router.

    Args:
        topology: the graph of routers; its `host_counts` defines which of them have hosts.
        hosts_per_router: concentration p, the number of hosts at each router with hosts.

    Returns:
        The indices of all hosts.
    """
    return list(range(topology.endpoints(hosts_per_router)))


def random(topology: Topology, hosts_per_router: int, seed: int) -> list[int]:
    """Returns the hosts in a random order.

    Args:
        topology: the graph of routers; its `host_counts` defines which of them have hosts.
        hosts_per_router: concentration p, the number of hosts at each router with hosts.
        seed: seed of the random generator, at least 0.

    Returns:
        The indices of all hosts.
    """
    hosts = topology.endpoints(hosts_per_router)
    return list(map(int, np.random.default_rng(seed).permutation(hosts)))


def cluster(topology: Topology, hosts_per_router: int, _seed: int) -> list[int]:
    """Returns the hosts cluster by cluster (`Topology.clusters`), and those outside clusters last.

    Args:
        topology: the graph of routers; its `host_counts` defines which of them have hosts.
        hosts_per_router: concentration p, the number of hosts at each router with hosts.

    Returns:
        The indices of all hosts.

    Raises:
        ParameterError: the topology has no clusters.
    """
    clusters = topology.clusters()
    if not clusters.members:
        raise ParameterError(f"placement cluster requires clusters of routers; {topology.name} has none")
    counts = topology.host_counts(hosts_per_router)
    first_host = np.cumsum(counts) - counts
    return [
        int(first_host[router] + index)
        for router in clusters.in_order(topology.routers)
        for index in range(counts[router])
    ]


@dataclass(frozen=True)
class Placement:
    """Definition of a placement.

    Attributes:
        order: (topology, hosts_per_router, seed) -> indices of all hosts, in the order of the ranks.
        parameters: parameters that may follow the name; a seed replaces the run's seed.
    """

    order: Callable[[Topology, int, int], list[int]]
    parameters: tuple[Parameter, ...] = ()


SEED = Parameter(
    name="seed",
    type=int,
    help="seed of the placement",
    least=0,
    most=2**63 - 1,
    default_text="the run's seed",
)
PLACEMENTS: Mapping[str, Placement] = {
    "linear": Placement(linear),
    "random": Placement(random, (SEED,)),
    "cluster": Placement(cluster),
}


def place_ranks(
    placement: str, ranks: int, topology: Topology, hosts_per_router: int, seed: int
) -> tuple[int, ...]:
    """Returns the host of each rank of an application.

    Args:
        placement: one of PLACEMENTS; `random:7` or `random:seed=7` has a seed of its own.
        ranks: number of ranks, 2 to the number of hosts.
        topology: the graph of routers; its `host_counts` defines which of them have hosts.
        hosts_per_router: concentration p, the number of hosts at each router with hosts.
        seed: seed of random placements without a seed of their own.

    Returns:
        The index of each rank's host, by rank; all different.

    Raises:
        UsageError: the placement does not exist, or has no such parameter.
        ParameterError: the fabric has too few hosts, or no clusters for the placement `cluster`.
    """
    name = spelled(placement.partition(":")[0], PLACEMENTS)
    if name not in PLACEMENTS:
        names = ", ".join(PLACEMENTS)
        raise UsageError(f"placement must be one of {names}, got {quoted(name)}{hint(name, PLACEMENTS)}")
    chosen = PLACEMENTS[name]
    _, values = split_parameters(placement, chosen.parameters)
    hosts = topology.endpoints(hosts_per_router)
    if not 2 <= ranks <= hosts:
        raise ParameterError(f"number of ranks must be 2 to {hosts} on this fabric, got {ranks}")
    return tuple(chosen.order(topology, hosts_per_router, int(values.get(SEED.key, seed)))[:ranks])
