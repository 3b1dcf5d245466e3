"""Traffic patterns: the destinations of every host's packets.

A pattern is fixed for a run: every host has a fixed destination (or is idle), or every packet has a random
destination. Router patterns (`router_patterns`) apply to the hosts of the routers. Bit patterns
(`bit_patterns`), hot spots and demand matrices number all hosts, router by router. PATTERNS lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from topology.addressing import host_routers
from topology.base import Topology
from topology.errors import ParameterError, UsageError
from topology.files.escaping import quoted
from topology.parameters import Parameter, Value, hint, join_parameters, split_parameters, value_text
from topology.plugins import Call, Registry, returned, wrong_result
from traffic.workload import bit_patterns, hot_spots, router_patterns
from traffic.workload.bit_patterns import BitPattern, HostIndices
from traffic.workload.collectives.registry import COLLECTIVES
from traffic.workload.demand_matrix import read_matrix
from traffic.workload.hot_spots import HotSpots
from traffic.workload.motifs import MOTIFS
from traffic.workload.router_patterns import RouterPattern
from traffic.workload.worst_case import worst_case

IDLE = -1  # instead of a destination: the host sends nothing


@dataclass(frozen=True)
class Pattern:
    """A pattern on a given fabric.

    Without partners, matrix or hot hosts, all other hosts are equally likely destinations of a packet.

    Attributes:
        name: canonical name, see `pattern_name`.
        hosts: number of hosts, at least 2; hosts are numbered router by router.
        partners: each host's fixed destination, or IDLE; None if packets have random destinations.
        matrix: (source, destination, share of the source's packets), ascending; None for other patterns.
        hot: hot hosts, which receive a share of all packets; None for other patterns.
    """

    name: str
    hosts: int
    partners: tuple[int, ...] | None = None
    matrix: tuple[tuple[int, int, float], ...] | None = None
    hot: HotSpots | None = None

    @cached_property
    def senders(self) -> HostIndices:
        """Indices of the sending hosts, ascending."""
        if self.partners is not None:
            return np.flatnonzero(np.asarray(self.partners) != IDLE)
        if self.matrix is not None:
            return np.unique(np.array([source for source, _, _ in self.matrix], np.int64))
        return np.arange(self.hosts)

    def destinations(self, sources: HostIndices, generator: np.random.Generator) -> HostIndices:
        """Returns the destinations of packets, given their sources.

        Args:
            sources: index of each packet's sending host, one of `senders`; shape (packets,).
            generator: random generator of the destinations; unused if destinations are fixed.

        Returns:
            int64 array, (packets,): index of each packet's receiving host.
        """
        if self.partners is not None:
            return np.asarray(self.partners, np.int64)[sources]
        if self.matrix is not None:
            # `_cumulative` has the shares of source s between s and s + 1: one search serves all sources.
            places = np.searchsorted(self._cumulative, sources + generator.random(sources.shape), "right")
            return self._matrix_destinations[np.minimum(places, len(self._cumulative) - 1)]
        if self.hot is not None:
            return self.hot.destinations(sources, self.hosts, generator)
        return (sources + generator.integers(1, self.hosts, sources.shape)) % self.hosts

    def shares(self) -> npt.NDArray[np.float64]:
        """Returns the demand matrix: the share of a source's packets that goes to each destination.

        Returns:
            float64 array, hosts x hosts, [source, destination]; a row sums to 1, or to 0 for an idle host.
        """
        if self.hot is not None:
            return self.hot.shares(self.hosts)
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
    def _cumulative(self) -> npt.NDArray[np.float64]:
        """For each entry of the matrix: its source's index + the source's cumulative share, ascending."""
        assert self.matrix is not None
        sources = np.array([source for source, _, _ in self.matrix])
        shares = np.cumsum([share for _, _, share in self.matrix])
        before = np.concatenate([[0.0], shares])[np.searchsorted(sources, sources)]
        last = np.append(sources[1:] != sources[:-1], True)
        # A source's last share must end exactly at s + 1, despite rounding errors.
        return np.asarray(np.where(last, sources + 1.0, sources + shares - before))

    @cached_property
    def _matrix_destinations(self) -> HostIndices:
        assert self.matrix is not None
        return np.array([destination for _, destination, _ in self.matrix], np.int64)


@dataclass(frozen=True)
class PatternDefinition:
    """Definition of a pattern. Patterns of plug-ins have one of `router_map`, `bit_map` and `hot_spots`.

    Attributes:
        level: what the pattern maps: `packets`, `routers` or `endpoints`.
        description: definition, shown to users.
        source: publication that defines it.
        router_map: function of a router pattern; receives all parameters except SEED as keywords.
        bit_map: function of a bit pattern; receives the parameters as keywords.
        hot_spots: function that returns the hot hosts for a number of hosts; receives the parameters as
            keywords.
        parameters: parameters that may follow the name, for example `hotspot:hosts=8,share=0.5`.

    Examples:
        >>> import numpy as np
        >>> def shifted(topology, routers, generator):
        ...     return np.roll(routers, generator.integers(1, len(routers)))
        >>> definition = PatternDefinition("routers", "a random shift", "-", shifted, parameters=(SEED,))
        >>> register("random-shift", definition)
        >>> polarlab.patterns()["random-shift"].usage
        'random-shift[:SEED]'
    """

    level: str
    description: str
    source: str
    router_map: RouterPattern | None = None
    bit_map: BitPattern | None = None
    hot_spots: Callable[..., HotSpots] | None = None
    parameters: tuple[Parameter, ...] = ()


_DALLY_TOWLES = "Dally and Towles, table 3.1"
_POLARFLY = "PolarFly, section VIII-A"
_POWER = "over the largest power of two of endpoints, the rest idle"

# Seed of the random choices of the pattern itself, not of the random destinations of packets.
SEED = Parameter(
    name="seed",
    type=int,
    help="seed of the pattern itself",
    least=0,
    most=2**63 - 1,
    default_text="the run's seed",
)
_SEEDED = (SEED,)
_FILE = Parameter(
    name="file", type=str, help="CSV file of source,destination,share", required=True, file=True
)
_BY = Parameter(name="by", type=int, help="distance in the order of the routers", least=1, default=1)

_BY_GROUPS = Parameter(name="by", type=int, help="distance in the order of the groups", least=1, default=1)

UNIFORM, MATRIX = "uniform", "matrix"


def _calls(name: str, entry: PatternDefinition) -> Iterator[Call]:
    kinds = (entry.router_map, entry.bit_map, entry.hot_spots)
    functions = [function for function in kinds if function is not None]
    if len(functions) != 1:
        raise ParameterError(
            f"pattern {name} must have one of router_map, bit_map and hot_spots, got {len(functions)}"
        )
    positional = (("topology", "routers", "generator"), ("number", "bits"), ("hosts",))
    keywords = [parameter for parameter in entry.parameters if parameter is not SEED]
    yield Call(functions[0], positional[kinds.index(functions[0])], keywords)


_OWN = {
    UNIFORM: PatternDefinition(
        "packets", "every packet to a random other endpoint, all equally likely", _POLARFLY
    ),
    "hotspot": PatternDefinition(
        "packets",
        "a share of every endpoint's packets to a few hot endpoints, the rest uniform",
        "Pfister and Norton, IEEE Trans. Computers, 1985",
        hot_spots=hot_spots.hotspot,
        parameters=hot_spots.PARAMETERS,
    ),
    "tornado": PatternDefinition(
        "routers", "router i to i + floor(N / 2) modulo N", _POLARFLY, router_patterns.tornado
    ),
    "shift": PatternDefinition(
        "routers", "router i to i + by modulo N", "-", router_patterns.shift, parameters=(_BY,)
    ),
    "random-permutation": PatternDefinition(
        "routers",
        "a random permutation without fixed points",
        _POLARFLY,
        router_patterns.random_permutation,
        parameters=_SEEDED,
    ),
    "perm1hop": PatternDefinition(
        "routers",
        "a random permutation of neighbours",
        _POLARFLY,
        router_patterns.perm1hop,
        parameters=_SEEDED,
    ),
    "perm2hop": PatternDefinition(
        "routers",
        "a random permutation of routers two hops apart",
        _POLARFLY,
        router_patterns.perm2hop,
        parameters=_SEEDED,
    ),
    "neighbour": PatternDefinition(
        "routers", "router i to i + 1 modulo N", _DALLY_TOWLES, router_patterns.neighbour
    ),
    "adversarial": PatternDefinition(
        "routers",
        "each group (supernode) to one other group, over the longest minimal paths",
        "PolarStar, section 9.6",
        router_patterns.adversarial,
        parameters=_SEEDED,
    ),
    "adv": PatternDefinition(
        "routers",
        "group g to group g + by modulo the number of groups",
        "Kim et al., ISCA 2008, section 4.3",
        router_patterns.next_groups,
        parameters=(_BY_GROUPS,),
    ),
    "group-permutation": PatternDefinition(
        "routers",
        "a random permutation of groups; routers and hosts keep their positions",
        "-",
        router_patterns.group_permutation,
        parameters=_SEEDED,
    ),
    "worst-case": PatternDefinition(
        "routers",
        "worst case of minimal routing at diameter 2: router r to s(s(r)), s a permutation along links",
        "Slim Fly, section V-C, with the maximum number of flows per link under a permutation",
        worst_case,
        parameters=_SEEDED,
    ),
    "half-shift": PatternDefinition(
        "endpoints",
        f"endpoint s to s + N / 2 modulo N, {_POWER}",
        "Slim Fly, section V-B: its shift without packets to the source itself",
        bit_map=bit_patterns.half_shift,
    ),
    "transpose": PatternDefinition(
        "endpoints", f"halves of the bits exchanged, {_POWER}", _DALLY_TOWLES, bit_map=bit_patterns.transpose
    ),
    "bit-shuffle": PatternDefinition(
        "endpoints", f"bits rotated left by one, {_POWER}", _DALLY_TOWLES, bit_map=bit_patterns.shuffle
    ),
    "bit-rotation": PatternDefinition(
        "endpoints", f"bits rotated right by one, {_POWER}", _DALLY_TOWLES, bit_map=bit_patterns.rotation
    ),
    "bit-reverse": PatternDefinition(
        "endpoints", f"bits reversed, {_POWER}", _DALLY_TOWLES, bit_map=bit_patterns.reverse
    ),
    "bit-complement": PatternDefinition(
        "endpoints", f"bits inverted, {_POWER}", _DALLY_TOWLES, bit_map=bit_patterns.complement
    ),
    MATRIX: PatternDefinition(
        "endpoints", "shares of sources' packets from a CSV file", "-", parameters=(_FILE,)
    ),
}
PATTERNS = Registry("patterns", "pattern", PatternDefinition, _OWN, _calls)


def usage(name: str) -> str:
    """Returns the syntax of a pattern's name on the command line, with its parameters.

    Args:
        name: a name of PATTERNS.

    Returns:
        The syntax, for example `perm1hop[:SEED]`, `matrix:FILE` or `hotspot[:hosts=HOSTS,share=SHARE]`.
    """
    parameters = PATTERNS[name].parameters
    if not parameters:
        return name
    forms = [f"{parameter.name}={parameter.name.upper()}" for parameter in parameters]
    form = ",".join(forms) if len(forms) > 1 else parameters[0].name.upper()
    return f"{name}:{form}" if parameters[0].required else f"{name}[:{form}]"


def split_name(text: str) -> tuple[str, dict[str, Value]]:
    """Parses a pattern with parameters, for example `perm1hop:7` or `hotspot:hosts=8,share=0.5`.

    Args:
        text: a name of PATTERNS, alone or followed by a colon and parameters.

    Returns:
        The pattern's name, and key -> value of the given parameters.

    Raises:
        UsageError: the pattern does not exist, or has no such parameter.
        ParameterError: a parameter's value is out of range.
    """
    text = PATTERNS.spelled(text)
    pattern = text.partition(":")[0]
    if pattern not in PATTERNS:
        raise UsageError(_unknown(pattern))
    parameters = PATTERNS[pattern].parameters
    name, values = split_parameters(text, parameters)
    for parameter in parameters:
        if parameter.required and parameter.key not in values:
            raise UsageError(f"pattern {name} requires a {parameter.name}: {usage(name)}")
    return name, values


def _unknown(name: str) -> str:
    """Returns the error message for an unknown pattern."""
    text = f"pattern must be one of {', '.join(sorted(PATTERNS))}, got {quoted(name)}; "
    if name in COLLECTIVES:
        return f"{text}only `polarlab run` and `polarlab simulate` run collectives"
    if name in MOTIFS:
        return f"{text}only `polarlab simulate` runs motifs"
    collectives = ", ".join(sorted(COLLECTIVES))
    near = hint(name, [*PATTERNS, *COLLECTIVES, *MOTIFS])
    return f"{text}runs and simulations also have collectives: {collectives}{near}"


def pattern_name(text: str) -> str:
    """Returns the canonical name of a pattern, with its non-default parameters only.

    Args:
        text: a name of PATTERNS, alone or followed by a colon and parameters.

    Raises:
        UsageError: the pattern does not exist, or has no such parameter.
        ParameterError: a parameter's value is out of range.
    """
    name, values = split_name(text)
    parameters = PATTERNS[name].parameters
    if values and parameters in (_SEEDED, (_FILE,)):
        return f"{name}:{value_text(values[parameters[0].key])}"
    return join_parameters(name, values, parameters)


def make_pattern(name: str, topology: Topology, hosts_per_router: int, seed: int) -> Pattern:
    """Returns a pattern on a fabric.

    Args:
        name: a name of PATTERNS, alone or followed by a colon and parameters.
        topology: the graph of routers; its `host_counts` defines which of them have hosts.
        hosts_per_router: concentration p, the number of hosts at each router with hosts, at least 1.
        seed: seed of the random choices of the pattern itself (not of its packets), unless the name has one.

    Returns:
        The pattern, with its canonical name. Under a router pattern, host k of a router sends to host k of
        the partner router (modulo the number of the partner's hosts).

    Raises:
        UsageError: the pattern does not exist, or has no such parameter.
        ParameterError: the pattern is not defined on this fabric, or a parameter's value is out of range.
    """
    pattern, given = split_name(name)
    name, definition = pattern_name(name), PATTERNS[pattern]
    hosts = topology.endpoints(hosts_per_router)
    if hosts < 2:
        raise ParameterError(f"number of endpoints must be at least 2 for pattern {name}, got {hosts}")
    if pattern == MATRIX:
        return Pattern(name, hosts, matrix=read_matrix(str(given["file"]), topology, hosts_per_router))
    values = {p.key: given.get(p.key, p.default) for p in definition.parameters if p is not SEED}
    if definition.hot_spots:
        hot = definition.hot_spots(hosts, **values)
        return Pattern(name, hosts, hot=returned(definition.hot_spots, hot, HotSpots))
    if definition.bit_map:
        bit_map = partial(definition.bit_map, **values)
        return Pattern(name, hosts, _bit_partners(name, bit_map, hosts))
    if definition.router_map:
        router_map = partial(definition.router_map, **values)
        generator = np.random.default_rng(int(given.get(SEED.key, seed)))
        partners = _router_partners(name, router_map, topology, hosts_per_router, generator)
        return Pattern(name, hosts, partners)
    return Pattern(name, hosts)


def _bit_partners(name: str, bit_map: BitPattern, hosts: int) -> tuple[int, ...]:
    """Returns the destination of every host under a bit pattern, by host index.

    The destination is IDLE for hosts that the pattern maps to themselves, and for hosts whose index is not
    below the largest power of two within the number of hosts.
    """
    bits = hosts.bit_length() - 1
    number = np.arange(1 << bits)
    partners = _integers(bit_map, bit_map(number, bits))
    _check_partners(name, partners, number, "endpoints")
    partners = np.where(partners == number, IDLE, partners)
    if (partners == IDLE).all():
        raise ParameterError(f"number of endpoints must be at least 4 for pattern {name}, got {hosts}")
    return (*partners.tolist(), *[IDLE] * (hosts - len(number)))


def _integers(function: Callable[..., object], value: object) -> HostIndices:
    """Returns a function's result as an array of integers; raises ParameterError if it is anything else."""
    try:
        array = np.asarray(value)
    except ValueError:  # nested sequences of different lengths
        array = np.empty(0)
    if array.dtype.kind not in "iu":
        raise wrong_result(function, value, "an array of integers")
    return array


def _check_partners(name: str, partners: HostIndices, known: HostIndices, what: str) -> None:
    """Raises ParameterError unless a pattern's function mapped each of `known` to one of `known`."""
    if partners.shape != known.shape or not np.isin(partners, known).all():
        wrong = np.setdiff1d(partners, known)
        got = f"{len(partners.ravel())} partners" if partners.shape != known.shape else f"number {wrong[0]}"
        raise ParameterError(
            f"pattern {name} must map each of the {len(known)} {what} to one of them, got {got}"
        )


def _router_partners(
    name: str,
    router_map: RouterPattern,
    topology: Topology,
    hosts_per_router: int,
    generator: np.random.Generator,
) -> tuple[int, ...]:
    """Returns the destination of every host under a router pattern, by host index."""
    counts = topology.host_counts(hosts_per_router)
    routers = np.flatnonzero(counts)
    if len(routers) < 2:
        raise ParameterError(
            f"number of routers with hosts must be at least 2 for pattern {name}, got {len(routers)}"
        )
    partner_of = np.full(topology.routers, IDLE)
    partners = _integers(router_map, router_map(topology, routers, generator))
    _check_partners(name, partners, routers, "routers with hosts")
    if (partners == routers).any():
        fixed = routers[partners == routers][0]
        raise ParameterError(
            f"pattern {name} must map each router to another one, got router {fixed} as its own partner"
        )
    partner_of[routers] = partners
    first_host = np.cumsum(counts) - counts
    own = host_routers(topology, hosts_per_router)
    partner = partner_of[own]
    index = np.arange(len(own)) - first_host[own]
    return tuple((first_host[partner] + index % counts[partner]).tolist())
