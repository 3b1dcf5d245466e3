"""Traffic patterns: the destinations of every host's packets.

A pattern is fixed for a run: every host has one destination or none, or every packet draws its own. Patterns
of routers (`router_patterns`) are carried over to the routers' hosts; patterns of endpoints (`bit_patterns`),
hot spots and demand matrices count all hosts, router by router. PATTERNS holds a line for each.
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
from topology.files.shown import quoted
from topology.parameters import Parameter, Value, hint, join_parameters, split_parameters, value_text
from topology.plugins import Call, Registry
from traffic.workload import bit_patterns as of_bits
from traffic.workload import hot_spots
from traffic.workload import router_patterns as of_routers
from traffic.workload.bit_patterns import BitPattern, HostIndices
from traffic.workload.collectives.registry import COLLECTIVES
from traffic.workload.demand_matrix import read_matrix
from traffic.workload.hot_spots import HotSpots
from traffic.workload.motifs import MOTIFS
from traffic.workload.router_patterns import RouterPattern
from traffic.workload.worst_case import worst_case

IDLE = -1  # in the place of a destination: the host sends nothing


@dataclass(frozen=True)
class Pattern:
    """A pattern on a fabric of a certain size.

    Attributes:
        name: as on the command line.
        hosts: the number of hosts, at least 2, which are counted router by router.
        partners: each host's only destination, IDLE where it sends nothing; None where packets draw theirs.
        matrix: (source, destination, share of the source's packets), ascending; None where all other hosts
            are equally likely.
        hot: hosts that receive a share of all packets; None where there are none.
    """

    name: str
    hosts: int
    partners: tuple[int, ...] | None = None
    matrix: tuple[tuple[int, int, float], ...] | None = None
    hot: HotSpots | None = None

    @cached_property
    def senders(self) -> HostIndices:
        """The hosts that send, ascending."""
        if self.partners is not None:
            return np.flatnonzero(np.asarray(self.partners) != IDLE)
        if self.matrix is not None:
            return np.unique(np.array([source for source, _, _ in self.matrix], np.int64))
        return np.arange(self.hosts)

    def destinations(self, sources: HostIndices, generator: np.random.Generator) -> HostIndices:
        """Returns the destinations of packets, given their sources.

        Args:
            sources: index of each packet's sending host, one of `senders`; shape (packets,).
            generator: source of the destinations that packets draw; unused where hosts have partners.

        Returns:
            int64 array, (packets,): index of each packet's receiving host.
        """
        if self.partners is not None:
            return np.asarray(self.partners, np.int64)[sources]
        if self.matrix is not None:
            # All shares in a row, those of a source between its number and the next.
            places = np.searchsorted(self._cumulated, sources + generator.random(sources.shape), "right")
            return self._matrix_destinations[np.minimum(places, len(self._cumulated) - 1)]
        if self.hot is not None:
            return self.hot.destinations(sources, self.hosts, generator)
        return (sources + generator.integers(1, self.hosts, sources.shape)) % self.hosts

    def shares(self) -> npt.NDArray[np.float64]:
        """Returns the demand matrix: the share of a source's packets that goes to each destination.

        Returns:
            float64 array, hosts x hosts, [source, destination]; a row's sum is 1, or 0 for idle hosts.
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
    def _cumulated(self) -> npt.NDArray[np.float64]:
        """Source + cumulated shares of its destinations, one entry per entry of the matrix, ascending."""
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


@dataclass(frozen=True)
class PatternDefinition:
    """Definition of a pattern, by its name on the command line.

    Attributes:
        level: the entities that it is defined on: `packets`, `routers` or `endpoints`.
        description: the definition, for users.
        source: the publication that defines it.
        router_map: the function of a pattern of routers; it takes the parameters but SEED by their keys.
        bit_map: the function of a pattern of endpoints' bits; it takes the parameters by their keys.
        hot_spots: (number of hosts, parameters by their keys) -> the hot hosts of a pattern that has some.
        parameters: the parameters that may follow the name, as `hotspot:hosts=8,share=0.5`.
    """

    level: str
    description: str
    source: str
    router_map: RouterPattern | None = None
    bit_map: BitPattern | None = None
    hot_spots: Callable[..., HotSpots] | None = None
    parameters: tuple[Parameter, ...] = ()


_BOOK = "Dally and Towles, table 3.1"
_POLARFLY = "PolarFly, section VIII-A"
_POWER = "over the largest power of two of endpoints, the rest idle"

# Seed of the random choices of a pattern itself, not of its packets.
SEED = Parameter(
    name="seed",
    type=int,
    help="seed of the pattern itself",
    least=0,
    most=2**63 - 1,
    default_text="that of the run",
)
_SEEDED = (SEED,)
_FILE = Parameter(
    name="file", type=str, help="CSV file of source,destination,share", required=True, file=True
)
_BY = Parameter(name="by", type=int, help="distance in the order of the routers", least=1, default=1)

_GROUPS_ON = Parameter(name="by", type=int, help="distance in the order of the groups", least=1, default=1)

UNIFORM, MATRIX = "uniform", "matrix"


def _calls(name: str, entry: PatternDefinition) -> Iterator[Call]:
    makers = (entry.router_map, entry.bit_map, entry.hot_spots)
    functions = [function for function in makers if function is not None]
    if len(functions) != 1:
        raise ParameterError(
            f"pattern {name} must have one of router_map, bit_map and hot_spots, got {len(functions)}"
        )
    places = (("topology", "routers", "generator"), ("number", "bits"), ("hosts",))
    keyed = [parameter for parameter in entry.parameters if parameter is not SEED]
    yield Call(functions[0], places[makers.index(functions[0])], keyed)


_OWN = {
    UNIFORM: PatternDefinition(
        "packets", "every packet to any other endpoint, all equally likely", _POLARFLY
    ),
    "hotspot": PatternDefinition(
        "packets",
        "a share of every endpoint's packets to a few hot ones, the rest to any other",
        "Pfister and Norton, IEEE Trans. Computers, 1985",
        hot_spots=hot_spots.hotspot,
        parameters=hot_spots.PARAMETERS,
    ),
    "tornado": PatternDefinition(
        "routers", "router i to i + floor(N / 2) modulo N", _POLARFLY, of_routers.tornado
    ),
    "shift": PatternDefinition(
        "routers", "router i to i + by modulo N", "-", of_routers.shift, parameters=(_BY,)
    ),
    "random-permutation": PatternDefinition(
        "routers",
        "a random permutation without fixed points",
        _POLARFLY,
        of_routers.random_permutation,
        parameters=_SEEDED,
    ),
    "perm1hop": PatternDefinition(
        "routers", "a random permutation of neighbours", _POLARFLY, of_routers.perm1hop, parameters=_SEEDED
    ),
    "perm2hop": PatternDefinition(
        "routers",
        "a random permutation of routers two hops apart",
        _POLARFLY,
        of_routers.perm2hop,
        parameters=_SEEDED,
    ),
    "neighbour": PatternDefinition("routers", "router i to i + 1 modulo N", _BOOK, of_routers.neighbour),
    "adversarial": PatternDefinition(
        "routers",
        "all of a group (a supernode) to one other, over longest minimal paths",
        "PolarStar, section 9.6",
        of_routers.adversarial,
        parameters=_SEEDED,
    ),
    "adv": PatternDefinition(
        "routers",
        "all of a group to the group by places further on",
        "Kim et al., ISCA 2008, section 4.3",
        of_routers.next_groups,
        parameters=(_GROUPS_ON,),
    ),
    "group-permutation": PatternDefinition(
        "routers",
        "a random permutation of groups; routers and hosts keep their places",
        "-",
        of_routers.group_permutation,
        parameters=_SEEDED,
    ),
    "worst-case": PatternDefinition(
        "routers",
        "of minimal routing at diameter 2: router r to s(s(r)), s a permutation along links",
        "Slim Fly, section V-C: with as many flows on its links as a permutation can have",
        worst_case,
        parameters=_SEEDED,
    ),
    "half-shift": PatternDefinition(
        "endpoints",
        f"endpoint s to s + N / 2 modulo N, {_POWER}",
        "Slim Fly, section V-B: its shift without what is for the source itself",
        bit_map=of_bits.half_shift,
    ),
    "transpose": PatternDefinition(
        "endpoints", f"halves of the bits exchanged, {_POWER}", _BOOK, bit_map=of_bits.transpose
    ),
    "bit-shuffle": PatternDefinition(
        "endpoints", f"bits rotated left by one, {_POWER}", _BOOK, bit_map=of_bits.shuffle
    ),
    "bit-rotation": PatternDefinition(
        "endpoints", f"bits rotated right by one, {_POWER}", _BOOK, bit_map=of_bits.rotation
    ),
    "bit-reverse": PatternDefinition("endpoints", f"bits reversed, {_POWER}", _BOOK, bit_map=of_bits.reverse),
    "bit-complement": PatternDefinition(
        "endpoints", f"bits inverted, {_POWER}", _BOOK, bit_map=of_bits.complement
    ),
    MATRIX: PatternDefinition(
        "endpoints", "shares of sources' packets from a CSV file", "-", parameters=(_FILE,)
    ),
}
PATTERNS = Registry("patterns", "pattern", PatternDefinition, _OWN, _calls)


def usage(name: str) -> str:
    """Returns the form of a pattern's name on the command line, with its parameters.

    Args:
        name: a name of PATTERNS.

    Returns:
        The form, as `perm1hop[:SEED]`, `matrix:FILE` or `hotspot[:hosts=HOSTS,share=SHARE]`.
    """
    parameters = PATTERNS[name].parameters
    if not parameters:
        return name
    forms = [f"{parameter.name}={parameter.name.upper()}" for parameter in parameters]
    form = ",".join(forms) if len(forms) > 1 else parameters[0].name.upper()
    return f"{name}:{form}" if parameters[0].required else f"{name}[:{form}]"


def split_name(text: str) -> tuple[str, dict[str, Value]]:
    """Returns the pattern and its parameters of a name like `perm1hop:7` or `hotspot:hosts=8,share=0.5`.

    Args:
        text: a name of PATTERNS, alone or followed by a colon and parameters.

    Returns:
        The pattern's name and key -> value of the parameters that the text gives.

    Raises:
        UsageError: the name is not that of a pattern, or the pattern has not such a parameter.
        ParameterError: the value of a parameter is outside its domain.
    """
    pattern = text.partition(":")[0]
    if pattern not in PATTERNS:
        raise UsageError(_unknown(pattern))
    parameters = PATTERNS[pattern].parameters
    name, values = split_parameters(text, parameters)
    for parameter in parameters:
        if parameter.required and parameter.key not in values:
            raise UsageError(f"pattern {name} must be given a {parameter.name}, as {usage(name)}")
    return name, values


def _unknown(name: str) -> str:
    """Returns the message that a name is not that of a pattern."""
    text = f"pattern must be one of {', '.join(sorted(PATTERNS))}, got {quoted(name)}; "
    if name in COLLECTIVES:
        return f"{text}only `polarlab run` and `polarlab simulate` run collectives"
    if name in MOTIFS:
        return f"{text}only `polarlab simulate` runs motifs"
    collectives = ", ".join(sorted(COLLECTIVES))
    near = hint(name, [*PATTERNS, *COLLECTIVES, *MOTIFS])
    return f"{text}runs and simulations also have collectives: {collectives}{near}"


def pattern_name(text: str) -> str:
    """Returns the one name of all texts that mean the same pattern, without parameters at their defaults.

    Args:
        text: a name of PATTERNS, alone or followed by a colon and parameters.

    Raises:
        UsageError: the name is not that of a pattern, or the pattern has not such a parameter.
        ParameterError: the value of a parameter is outside its domain.
    """
    name, values = split_name(text)
    parameters = PATTERNS[name].parameters
    if values and parameters in (_SEEDED, (_FILE,)):
        return f"{name}:{value_text(values[parameters[0].key])}"
    return join_parameters(name, values, parameters)


def make_pattern(name: str, topology: Topology, concentration: int, seed: int) -> Pattern:
    """Returns a pattern on a fabric.

    Args:
        name: a name of PATTERNS, alone or followed by a colon and parameters.
        topology: the graph of routers; its `host_counts` says which of them have hosts.
        concentration: p, the number of hosts at each router that has any, at least 1.
        seed: seed of the random choices of the pattern itself (not of its packets), unless the name has one.

    Returns:
        The pattern; a pattern of routers sends from host k of a router to host k of its partner (modulo the
        number of the partner's hosts). Its name is that of `pattern_name`.

    Raises:
        UsageError: the name is not that of a pattern, or the pattern has not such a parameter.
        ParameterError: the pattern is not defined on this fabric, or the value of a parameter is outside its
            domain.
    """
    pattern, given = split_name(name)
    name, definition = pattern_name(name), PATTERNS[pattern]
    hosts = topology.endpoints(concentration)
    if hosts < 2:
        raise ParameterError(f"number of endpoints must be at least 2 for pattern {name}, got {hosts}")
    if pattern == MATRIX:
        return Pattern(name, hosts, matrix=read_matrix(str(given["file"]), topology, concentration))
    values = {p.key: given.get(p.key, p.default) for p in definition.parameters if p is not SEED}
    if definition.hot_spots:
        return Pattern(name, hosts, hot=definition.hot_spots(hosts, **values))
    if definition.bit_map:
        bit_map = partial(definition.bit_map, **values)
        return Pattern(name, hosts, _bit_partners(name, bit_map, hosts))
    if definition.router_map:
        router_map = partial(definition.router_map, **values)
        generator = np.random.default_rng(int(given.get(SEED.key, seed)))
        partners = _router_partners(name, router_map, topology, concentration, generator)
        return Pattern(name, hosts, partners)
    return Pattern(name, hosts)


def _bit_partners(name: str, bit_map: BitPattern, hosts: int) -> tuple[int, ...]:
    """Returns the partners; hosts beyond the power of two, or with themselves for partners, are idle."""
    bits = hosts.bit_length() - 1
    number = np.arange(1 << bits)
    partners = np.asarray(bit_map(number, bits))
    _check_partners(name, partners, number, "endpoints")
    partners = np.where(partners == number, IDLE, partners)
    if (partners == IDLE).all():
        raise ParameterError(f"number of endpoints must be at least 4 for pattern {name}, got {hosts}")
    return (*partners.tolist(), *[IDLE] * (hosts - len(number)))


def _check_partners(name: str, partners: HostIndices, known: HostIndices, what: str) -> None:
    """Raises ParameterError unless a pattern's function has returned a partner for each that it was given."""
    if partners.shape != known.shape or not np.isin(partners, known).all():
        wrong = np.setdiff1d(partners, known)
        got = f"{len(partners.ravel())} partners" if partners.shape != known.shape else f"number {wrong[0]}"
        raise ParameterError(
            f"partners of pattern {name} must be one of the {len(known)} {what} each, got {got}"
        )


def _router_partners(
    name: str,
    router_map: RouterPattern,
    topology: Topology,
    concentration: int,
    generator: np.random.Generator,
) -> tuple[int, ...]:
    """Returns the hosts' partners, given those of the routers with hosts."""
    counts = topology.host_counts(concentration)
    routers = np.flatnonzero(counts)
    if len(routers) < 2:
        raise ParameterError(
            f"number of routers with hosts must be at least 2 for pattern {name}, got {len(routers)}"
        )
    partner_of = np.full(topology.routers, IDLE)
    partners = np.asarray(router_map(topology, routers, generator))
    _check_partners(name, partners, routers, "routers with hosts")
    if (partners == routers).any():
        alone = routers[partners == routers][0]
        raise ParameterError(
            f"pattern {name} must send from each router to another one, got router {alone} as its own partner"
        )
    partner_of[routers] = partners
    first_host = np.cumsum(counts) - counts
    own = host_routers(topology, concentration)
    partner = partner_of[own]
    index = np.arange(len(own)) - first_host[own]
    return tuple((first_host[partner] + index % counts[partner]).tolist())
