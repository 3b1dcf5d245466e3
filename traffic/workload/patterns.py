"""Who sends to whom: each pattern is one function here, and one line in PATTERNS.

A pattern is fixed for a run: every host has one destination or none, or every packet draws its own.
Patterns of routers send from host k of a router to host k of its partner; patterns of endpoints count all
hosts, router by router.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from topology.base import Topology
from topology.errors import ParameterError, UsageError
from traffic.workload.collectives.operations import COLLECTIVES
from traffic.workload.demand_matrix import read_matrix

HostIndices = npt.NDArray[np.int64]
RouterMap = npt.NDArray[np.int64]

IDLE = -1


@dataclass(frozen=True)
class Pattern:
    """A pattern on a fabric of a certain size.

    Attributes:
        name: as on the command line.
        hosts: the number of hosts, which are counted router by router.
        partners: each host's only destination, IDLE where it sends nothing; None where packets draw theirs.
        matrix: (source, destination, share of the source's packets), ascending; None where all other hosts
            are equally likely.
    """

    name: str
    hosts: int
    partners: tuple[int, ...] | None = None
    matrix: tuple[tuple[int, int, float], ...] | None = None

    @cached_property
    def senders(self) -> HostIndices:
        """The hosts that send, ascending."""
        if self.partners is not None:
            return np.flatnonzero(np.asarray(self.partners) != IDLE)
        if self.matrix is not None:
            return np.unique(np.array([source for source, _, _ in self.matrix], np.int64))
        return np.arange(self.hosts)

    def destinations(self, sources: HostIndices, generator: np.random.Generator) -> HostIndices:
        """Returns the destination of each of some packets, given their sources."""
        if self.partners is not None:
            return np.asarray(self.partners, np.int64)[sources]
        if self.matrix is not None:
            # All shares in a row, a source's own between its number and the next.
            places = np.searchsorted(self._cumulated, sources + generator.random(sources.shape), "right")
            return self._matrix_destinations[np.minimum(places, len(self._cumulated) - 1)]
        return (sources + generator.integers(1, self.hosts, sources.shape)) % self.hosts

    def shares(self) -> npt.NDArray[np.float64]:
        """Returns which share of a source's packets goes to which host: float64, hosts x hosts."""
        if self.partners is None and self.matrix is None:
            return (1 - np.eye(self.hosts)) / (self.hosts - 1)
        shares = np.zeros((self.hosts, self.hosts))
        if self.matrix is not None:
            for source, destination, share in self.matrix:
                shares[source, destination] = share
        else:
            shares[self.senders, np.asarray(self.partners)[self.senders]] = 1
        return shares

    @cached_property
    def _cumulated(self) -> npt.NDArray[np.float64]:
        assert self.matrix is not None
        sources = np.array([source for source, _, _ in self.matrix])
        shares = np.cumsum([share for _, _, share in self.matrix])
        before = np.concatenate([[0.0], shares])[np.searchsorted(sources, sources)]
        last = np.append(sources[1:] != sources[:-1], True)
        # A source's last share ends at its very end, whatever rounding says.
        return np.asarray(np.where(last, sources + 1.0, sources + shares - before))

    @cached_property
    def _matrix_destinations(self) -> HostIndices:
        assert self.matrix is not None
        return np.array([destination for _, destination, _ in self.matrix], np.int64)


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


def neighbour(topology: Topology, _generator: np.random.Generator) -> RouterMap:
    """Router i sends to router i + 1, modulo N (Dally and Towles, table 3.1, in one dimension)."""
    return (np.arange(topology.routers) + 1) % topology.routers


def adversarial(topology: Topology, generator: np.random.Generator) -> RouterMap:
    """All routers of a group send to those of one other group, over longest minimal paths (PolarStar, 9.6).

    Groups and then routers within them are matched so that the sum of the distances is the largest.
    """
    from scipy.optimize import linear_sum_assignment  # slow to import

    groups = [np.asarray(group) for group in topology.clusters().equal_partition(topology.routers)]
    if len(groups) < 2:
        raise ParameterError(
            f"{topology.name} has no groups of routers, which the pattern adversarial is about"
        )
    order = generator.permutation(len(groups))
    scores = np.full((len(groups), len(groups)), -1.0)
    matched = {}
    for u, v in np.argwhere(~np.eye(len(groups), dtype=bool)).tolist():
        apart = topology.distances(groups[order[u]][:, None], groups[order[v]])
        matched[u, v] = linear_sum_assignment(apart, maximize=True)
        scores[u, v] = apart[matched[u, v]].sum()
    partners = np.empty(topology.routers, np.int64)
    for u, v in zip(*linear_sum_assignment(scores, maximize=True), strict=True):
        rows, columns = matched[int(u), int(v)]
        partners[groups[order[u]][rows]] = groups[order[v]][columns]
    return partners


# ---- patterns of endpoints ----


def bit_shuffle(number: HostIndices, bits: int) -> HostIndices:
    """The source's bits rotated left by one (Dally and Towles, table 3.1)."""
    return (number << 1 | number >> bits - 1) & (1 << bits) - 1


def bit_reverse(number: HostIndices, bits: int) -> HostIndices:
    """The source's bits in reverse order (Dally and Towles, table 3.1)."""
    found = np.zeros_like(number)
    for place in range(bits):
        found |= (number >> place & 1) << bits - 1 - place
    return found


def bit_complement(number: HostIndices, bits: int) -> HostIndices:
    """All of the source's bits inverted (Dally and Towles, table 3.1)."""
    return number ^ (1 << bits) - 1


# (topology, random generator) -> the router that each router's hosts send to
RouterPattern = Callable[[Topology, np.random.Generator], RouterMap]
# (numbers of endpoints, how many bits they have) -> the numbers of those that they send to
BitPattern = Callable[[HostIndices, int], HostIndices]


@dataclass(frozen=True)
class Definition:
    """A pattern by its name on the command line.

    Attributes:
        level: what it is defined on: `packets`, `routers` or `endpoints`.
        argument: what may follow the name after a colon (for `matrix` it has to), or nothing.
        description: the definition, for users.
        source: where it is from.
        routers, bits: what makes it.
    """

    level: str
    argument: str
    description: str
    source: str
    routers: RouterPattern | None = None
    bits: BitPattern | None = None


_BOOK = "Dally and Towles, table 3.1"
_POLARFLY = "PolarFly, section VIII-A"
_POWER = "over the largest power of two of endpoints, the rest idle"

UNIFORM, MATRIX = "uniform", "matrix"
PATTERNS: Mapping[str, Definition] = {
    UNIFORM: Definition("packets", "", "every packet to any other endpoint, all equally likely", _POLARFLY),
    "tornado": Definition("routers", "", "router i to i + floor(N / 2) modulo N", _POLARFLY, tornado),
    "random-permutation": Definition(
        "routers", "SEED", "a random permutation without fixed points", _POLARFLY, random_permutation
    ),
    "perm1hop": Definition("routers", "SEED", "a random permutation of neighbours", _POLARFLY, perm1hop),
    "perm2hop": Definition(
        "routers", "SEED", "a random permutation of routers two hops apart", _POLARFLY, perm2hop
    ),
    "neighbour": Definition("routers", "", "router i to i + 1 modulo N", _BOOK, neighbour),
    "adversarial": Definition(
        "routers",
        "SEED",
        "all of a group (a supernode) to one other, over longest minimal paths",
        "PolarStar, section 9.6",
        adversarial,
    ),
    "bit-shuffle": Definition(
        "endpoints", "", f"bits rotated left by one, {_POWER}", _BOOK, bits=bit_shuffle
    ),
    "bit-reverse": Definition("endpoints", "", f"bits reversed, {_POWER}", _BOOK, bits=bit_reverse),
    "bit-complement": Definition("endpoints", "", f"bits inverted, {_POWER}", _BOOK, bits=bit_complement),
    MATRIX: Definition(
        "endpoints", "FILE", "shares of sources' packets from a CSV file: source,destination,share", "-"
    ),
}
NAMES = tuple(PATTERNS)


def usage(name: str) -> str:
    """Returns how a pattern is named on the command line, with its argument."""
    argument = PATTERNS[name].argument
    if name == MATRIX:
        return f"{name}:{argument}"
    return f"{name}[:{argument}]" if argument else name


def split_name(name: str) -> tuple[str, str]:
    """Returns the pattern and its argument (a seed, a file, or nothing).

    Raises:
        UsageError: there is no such pattern, or it has no such argument.
    """
    pattern, colon, argument = name.partition(":")
    if pattern in COLLECTIVES:
        raise UsageError(f"{pattern} is a collective, which `polarlab run` runs and nothing else")
    if pattern not in PATTERNS:
        collectives = ", ".join(sorted(COLLECTIVES))
        raise UsageError(
            f"unknown pattern {pattern!r}; there are: {', '.join(sorted(NAMES))}, "
            f"and for `polarlab run` the collectives {collectives}"
        )
    wanted = PATTERNS[pattern].argument
    if colon and not wanted:
        raise UsageError(f"the pattern {pattern} takes nothing after a colon, got {argument!r}")
    if colon and wanted == "SEED" and not argument.isdecimal():
        raise UsageError(f"{name!r}: a seed is a whole number, as in {pattern}:7")
    if pattern == MATRIX and not argument:
        raise UsageError("the pattern matrix needs a file, as in matrix:demand.csv")
    return pattern, argument


def make_pattern(name: str, topology: Topology, concentration: int, seed: int) -> Pattern:
    """Returns a pattern for a fabric.

    Args:
        name: one of NAMES, with `:` and its argument where it takes one.
        topology: the fabric's graph.
        concentration: p.
        seed: of the random choices of the pattern itself, not of its packets, unless the name says another.

    Raises:
        UsageError: there is no such pattern, or none on this fabric.
    """
    pattern, argument = split_name(name)
    definition = PATTERNS[pattern]
    hosts = topology.routers * concentration
    if pattern == UNIFORM:
        return Pattern(name, hosts)
    if pattern == MATRIX:
        return Pattern(name, hosts, matrix=read_matrix(argument, topology, concentration))
    if definition.bits:
        return Pattern(name, hosts, _bit_partners(name, definition.bits, hosts))
    assert definition.routers
    generator = np.random.default_rng(int(argument) if argument else seed)
    routers = definition.routers(topology, generator)
    partners = routers[:, None] * concentration + np.arange(concentration)
    return Pattern(name, hosts, tuple(partners.ravel().tolist()))


def _bit_partners(name: str, bits_of: BitPattern, hosts: int) -> tuple[int, ...]:
    """Returns the partners; hosts beyond the power of two or with themselves for partners are idle."""
    bits = hosts.bit_length() - 1
    number = np.arange(1 << bits)
    found = bits_of(number, bits) if bits else number
    found = np.where(found == number, IDLE, found)
    if (found == IDLE).all():
        raise ParameterError(f"{hosts} endpoints are too few for the pattern {name}")
    return (*found.tolist(), *[IDLE] * (hosts - len(number)))


def check_load(load: Any) -> None:
    """Raises ParameterError unless `load` is a fraction of the injection capacity over 0."""
    if not 0 < load <= 1:
        raise ParameterError(f"a load must be over 0 and at most 1, got {load:g}")
