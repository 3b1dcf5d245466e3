"""Who sends to whom: each pattern is one function here, and one line in PATTERNS.

A pattern is fixed for a run: either every host has one destination (a permutation of routers, with
host k of a router sending to host k of its partner), or every packet draws its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from topology.errors import ParameterError, UsageError
from topology.graph import Topology

HostIndices = npt.NDArray[np.int64]
RouterMap = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Pattern:
    """A pattern on a fabric of a certain size.

    Attributes:
        name: as on the command line.
        hosts: the number of hosts, which are counted router by router.
        partners: each host's only destination, or None where every packet goes to any other host, all
            equally likely.
    """

    name: str
    hosts: int
    partners: tuple[int, ...] | None = None

    def destinations(self, sources: HostIndices, generator: np.random.Generator) -> HostIndices:
        """Returns the destination of each of some packets, given their sources."""
        if self.partners is not None:
            return np.asarray(self.partners, np.int64)[sources]
        return (sources + generator.integers(1, self.hosts, sources.shape)) % self.hosts

    def shares(self) -> npt.NDArray[np.float64]:
        """Returns which share of a source's packets goes to which host: float64, hosts x hosts."""
        if self.partners is None:
            return (1 - np.eye(self.hosts)) / (self.hosts - 1)
        shares = np.zeros((self.hosts, self.hosts))
        shares[np.arange(self.hosts), self.partners] = 1
        return shares


# (topology, random generator) -> the router that each router's hosts send to
RouterPattern = Callable[[Topology, np.random.Generator], RouterMap]


def tornado(topology: Topology, _generator: np.random.Generator) -> RouterMap:
    """Router i sends to router i + floor(N / 2), modulo N (PolarFly, section VIII-A)."""
    everyone = np.arange(topology.routers)
    return (everyone + topology.routers // 2) % topology.routers


def random_permutation(topology: Topology, generator: np.random.Generator) -> RouterMap:
    """A random permutation of the routers, none of which sends to itself (PolarFly, section VIII-A)."""
    while True:
        partners = generator.permutation(topology.routers)
        if (partners != np.arange(topology.routers)).all():
            return partners


def perm1hop(topology: Topology, generator: np.random.Generator) -> RouterMap:
    """A random permutation in which every router sends to a neighbour (PolarFly, section VIII-A)."""
    return _permutation_at_distance(topology, generator, 1)


def perm2hop(topology: Topology, generator: np.random.Generator) -> RouterMap:
    """A random permutation in which every router sends two hops away (PolarFly, section VIII-A)."""
    return _permutation_at_distance(topology, generator, 2)


def _permutation_at_distance(topology: Topology, generator: np.random.Generator, distance: int) -> RouterMap:
    """Returns a perfect matching of sources and destinations that are so far apart.

    The matching is made by Hopcroft and Karp's algorithm on a random renumbering of the routers.
    """
    import networkx as nx  # slow to import, and traffic processes need none of it

    routers = topology.routers
    everyone = np.arange(routers)
    apart = topology.distances(everyone[:, None], everyone[None, :]) == distance
    rows, columns = generator.permutation(routers), generator.permutation(routers)
    graph = nx.Graph()
    graph.add_nodes_from(range(2 * routers))
    places = np.argwhere(apart[rows][:, columns])
    graph.add_edges_from((int(s), int(d) + routers) for s, d in generator.permutation(places))
    matching = nx.bipartite.hopcroft_karp_matching(graph, top_nodes=range(routers))
    if len(matching) < 2 * routers:
        raise ParameterError(
            f"{topology.name} has no permutation in which every router sends {distance} hops away"
        )
    partners = np.empty(routers, np.int64)
    for place in range(routers):
        partners[rows[place]] = columns[matching[place] - routers]
    return partners


ROUTER_PATTERNS: Mapping[str, RouterPattern] = {
    "tornado": tornado,
    "random-permutation": random_permutation,
    "perm1hop": perm1hop,
    "perm2hop": perm2hop,
}
UNIFORM = "uniform"
NAMES = (UNIFORM, *ROUTER_PATTERNS)


def check_pattern(name: str) -> None:
    """Raises UsageError, naming those that exist, unless there is a pattern called `name`."""
    if name not in NAMES:
        raise UsageError(f"unknown pattern {name!r}; there are: {', '.join(sorted(NAMES))}")


def make_pattern(name: str, topology: Topology, hosts_per_router: int, seed: int) -> Pattern:
    """Returns a pattern for a fabric.

    Args:
        name: one of NAMES.
        topology: the fabric's graph.
        hosts_per_router: p.
        seed: of the random choices of the pattern itself, not of its packets.

    Raises:
        UsageError: there is no such pattern, or none on this topology.
    """
    check_pattern(name)
    hosts = topology.routers * hosts_per_router
    if name == UNIFORM:
        return Pattern(name, hosts)
    routers = ROUTER_PATTERNS[name](topology, np.random.default_rng(seed))
    partners = routers[:, None] * hosts_per_router + np.arange(hosts_per_router)
    return Pattern(name, hosts, tuple(partners.ravel().tolist()))


def check_load(load: Any) -> None:
    """Raises ParameterError unless `load` is a fraction of the injection capacity over 0."""
    if not 0 < load <= 1:
        raise ParameterError(f"a load must be over 0 and at most 1, got {load:g}")
