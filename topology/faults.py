"""Fault schedules: which components of a fabric fail and are restored, and when; pure data.

A fault schedule is a text of lines like

    2.0 fail link:s1-s7      # a cable is pulled
    3.5 fail hang:s4         # a switch's process hangs, its links stay up
    5   restore hang:s4
    6   fail controller      # killed without warning
    8   restore controller
    9   restore link:s1-s7
    10  drain s3             # traffic is diverted around s3, which can then be powered off without loss
    12  undrain s3

with times from the start of traffic, in seconds or with a unit such as `300ms`; in a simulation, in cycles
(`CYCLES`). A line may list components, `5 restore hang:s4, controller`; `5 restore all` restores all that are
down at 5 s. `link:s1-s7.2` is the second of several links between two switches, `link:s1-s7` all of them.
`switch:s4` is a switch that loses power: its links fail, too. `random:3`, `random-link` and `random-switch`
stand for components that a seeded generator draws. The prompt of a session also accepts the link of a host,
`link:s1-h1_1`. `topology.drawn_faults` draws whole schedules. `emulation.fault_injection` executes a schedule
in an emulation, and `simulation.faults` in a simulation.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from topology import units
from topology.addressing import Host, switch_name, switch_router
from topology.base import Link, Topology
from topology.errors import ParameterError
from topology.files.escaping import quoted
from topology.parameters import hint, one_of

RANDOM_LINK, RANDOM_SWITCH = "random-link", "random-switch"
FORCE = "--force"
_HOST_LINK = re.compile(r"link:(?:s\d+-h\d+_\d+|h\d+_\d+-s\d+)")


@dataclass(frozen=True)
class TimeUnit:
    """The unit of the times of a fault schedule.

    Attributes:
        name: its name in messages.
        limit: the latest time that a schedule may contain.
        decimals: number of decimals of random times (`topology.drawn_faults`).
        whole: whether times are whole numbers.
        form: an example of the text that describes random faults.
    """

    name: str
    limit: int
    decimals: int
    whole: bool
    form: str

    @property
    def step(self) -> float:
        """The resolution of random times, in this unit."""
        return 10.0**-self.decimals


SECONDS = TimeUnit(units.SECONDS, 86_400, 3, False, "mtbf:links=30s,mttr=10s")
CYCLES = TimeUnit("cycles", 10**9, 0, True, "mtbf:links=3000,mttr=1000")


class ComponentKind(enum.Enum):
    """The kinds of components that can fail."""

    LINK = "link"
    SWITCH = "switch"
    HANG = "hang"
    CONTROLLER = "controller"


@dataclass(frozen=True, slots=True)
class Component:
    """A component of a fabric that can fail.

    Attributes:
        kind: the kind of component; HANG is a switch whose program hangs while its links stay up.
        routers: both routers of a link, ascending; the router of a switch; empty for the controller.
        copy: the number of one of several parallel links, from 1; 0 for all links between both routers.
        host: the host, for the link between a host and its router; None for all other components.
    """

    kind: ComponentKind
    routers: tuple[int, ...] = ()
    copy: int = 0
    host: Host | None = None

    @property
    def name(self) -> str:
        """The text in a fault schedule: `link:s1-s7`, `link:s1-s7.2`, `switch:s4`, `controller`.

        The link of a host is `link:s1-h1_1`.
        """
        return f"{self.kind.value}:{self.location}" if self.location else self.kind.value

    @property
    def location(self) -> str:
        """The name without its kind: `s1-s7`, `s1-s7.2`, `s4`, `s1-h1_1`; empty for the controller."""
        if self.host:
            return f"{switch_name(self.host.router)}-{self.host.name}"
        switches = "-".join(map(switch_name, self.routers))
        return f"{switches}.{self.copy}" if self.copy else switches

    def covers(self, link: Link) -> bool:
        """Returns whether a link fails when this component does.

        Args:
            link: a link of the fabric.

        Returns:
            True for the link itself and for every link of a switch; never for a host's link.
        """
        if self.kind is not ComponentKind.LINK:
            return bool({link.a, link.b} & set(self.routers))
        return self.routers == (link.a, link.b) and self.copy in (0, link.copy)

    def includes(self, other: Component) -> bool:
        """Returns whether another component is this one, or one of the parallel links for which it stands.

        Args:
            other: a component of the same fabric.
        """
        same = (self.kind, self.routers, self.host) == (other.kind, other.routers, other.host)
        return same and self.copy in (0, other.copy)


CONTROLLER = Component(ComponentKind.CONTROLLER)
_ALL = Component(ComponentKind.SWITCH)  # `all` in a schedule, until its line is replaced by restorations


@dataclass(frozen=True, slots=True)
class Fault:
    """An event of a fault schedule: a component fails, is restored, is drained, or its drain ends.

    Attributes:
        time_s: seconds from the start of traffic, 0 to 86400; in a simulation, cycles.
        component: the component.
        restores: whether the component is restored or its drain ends; otherwise it fails or is drained.
        maintenance: whether it is drained or its drain ends; otherwise it fails or is restored.
        forced: whether it is drained even if that cuts off other components.
    """

    time_s: float
    component: Component
    restores: bool = False
    maintenance: bool = False
    forced: bool = False

    @property
    def line(self) -> str:
        """The line of a fault schedule, such as `2.5 fail link:s1-s7`; times have six decimals at most."""
        time_s = f"{self.time_s:.6f}".rstrip("0").rstrip(".")
        return f"{time_s} {self}"

    def __str__(self) -> str:
        verbs = ("drain", "undrain") if self.maintenance else ("fail", "restore")
        return f"{verbs[self.restores]} {self.component.name}" + (f" {FORCE}" if self.forced else "")


def link_component(link: Link) -> Component:
    """Returns a link as a component that can fail.

    Args:
        link: a link of the fabric.

    Returns:
        The component; for one of several parallel links, only that link.
    """
    return Component(ComponentKind.LINK, (link.a, link.b), link.copy)


def host_link(host: Host) -> Component:
    """Returns the link between a host and its router as a component that can fail.

    Args:
        host: the host.

    Returns:
        The component.
    """
    return Component(ComponentKind.LINK, (host.router,), host=host)


def names_host_link(text: str) -> bool:
    """Returns whether a text has the form of a host's link, such as `link:s1-h1_1` or `link:h1_1-s1`.

    Args:
        text: the name of a component.

    Returns:
        True even if the fabric has no such link.
    """
    return bool(_HOST_LINK.fullmatch(text))


def is_of_graph(name: str) -> bool:
    """Returns whether a component is a switch or a link between switches, not a host's link.

    Args:
        name: the name of the component.
    """
    return name != CONTROLLER.name and not names_host_link(name)


def components_of_graph(names: Iterable[str], topology: Topology) -> tuple[Component, ...]:
    """Returns the named components that are switches or links between switches.

    Args:
        names: names of components; those of the controller and of hosts' links are left out.
        topology: the graph of routers.
    """
    text = ",".join(filter(is_of_graph, names))
    return parse_components(text, topology, 0) if text else ()


def parse_components(
    text: str, topology: Topology, seed: int, hosts: Sequence[Host] | None = None
) -> tuple[Component, ...]:
    """Returns the components that a text names.

    Args:
        text: `link:s1-s7`, `switch:s4`, `hang:s4`, `controller`, `random:3` (three different links),
            `random-link` or `random-switch`, or a comma-separated list of these; case-insensitive.
        topology: the graph of routers.
        seed: the seed of the random generator that draws random components.
        hosts: the hosts whose links may be named (`link:s1-h1_1`); None if hosts' links cannot fail.

    Returns:
        The components in the order of the text, each once.

    Raises:
        ParameterError: the text is malformed, or names a link or switch that the fabric does not have.
    """
    words = [word.strip().lower() for word in text.split(",")]
    components: list[Component] = []
    for word in words:
        of_host = names_host_link(word)
        components += [_parse_host_link(word, hosts)] if of_host else _parse(word, topology, seed)
    return tuple(dict.fromkeys(components))


def parse_drained(text: str, topology: Topology) -> tuple[Component, ...]:
    """Returns the components to drain that a text names.

    Args:
        text: `s3`, `switch:s3`, `link:s1-s2` or `link:s1-s2.1`, or a comma-separated list of these.
        topology: the graph of routers.

    Returns:
        Switches and links in the order of the text, each once.

    Raises:
        ParameterError: the text is malformed, or names a link or switch that the fabric does not have.
    """
    components: list[Component] = []
    for word in (word.strip().lower() for word in text.split(",")):
        kind, _, rest = word.rpartition(":")
        if kind == ComponentKind.LINK.value and not names_host_link(word):
            components += _parse(word, topology, seed=1)
        elif kind in ("", ComponentKind.SWITCH.value) and re.fullmatch(r"s\d+", rest):
            components.append(Component(ComponentKind.SWITCH, (switch_router(rest, topology.routers),)))
        else:
            names = [*map(switch_name, range(topology.routers)), "switch:s1", "link:s1-s2"]
            raise ParameterError(
                "component to drain must be a switch, such as s3, or a link between switches, such as "
                f"link:s1-s2, got {quoted(word)}{hint(word, names)}"
            )
    return tuple(dict.fromkeys(components))


def _parse_host_link(word: str, hosts: Sequence[Host] | None) -> Component:
    """Returns the link of a host that a text names."""
    if hosts is None:
        raise ParameterError(
            f"link must be between switches, got {quoted(word)}; hosts' links can fail only at the prompt"
        )
    ends = word.partition(":")[2].split("-")
    for host in hosts:
        if {host.name, switch_name(host.router)} == {*ends}:
            return host_link(host)
    raise ParameterError(
        f"a host's link must lead to its own switch, such as link:s1-h1_1, got {quoted(word)}"
    )


def _parse(word: str, topology: Topology, seed: int) -> Sequence[Component]:
    kind, _, rest = word.partition(":")
    if word == ComponentKind.CONTROLLER.value:
        return [CONTROLLER]
    if kind == "random" and re.fullmatch(r"[0-9]{1,9}", rest):
        return _random_links(int(rest), topology, seed)
    if word == RANDOM_LINK:
        return _random_links(1, topology, seed)
    if word == RANDOM_SWITCH:
        return [
            Component(ComponentKind.SWITCH, (int(np.random.default_rng(seed).integers(topology.routers)),))
        ]
    if kind in (ComponentKind.SWITCH.value, ComponentKind.HANG.value):
        return [Component(ComponentKind(kind), (switch_router(rest, topology.routers),))]
    between, _, copy = rest.partition(".")
    ends = between.split("-")
    if kind == ComponentKind.LINK.value and len(ends) == 2:
        a, b = sorted(switch_router(end, topology.routers) for end in ends)
        return [Component(ComponentKind.LINK, (a, b), _link_copy(word, copy, a, b, topology))]
    raise ParameterError(
        "component must be link:s1-s2, link:s1-s2.1, switch:s4, hang:s4, random:3 (links), random-link, "
        f"random-switch or controller, got {quoted(word)}"
    )


def _random_links(count: int, topology: Topology, seed: int) -> list[Component]:
    """Returns distinct random links, in the order of `link_list`."""
    if not 1 <= count <= topology.links:
        raise ParameterError(f"number of random links must be 1 to {topology.links}, got {count}")
    drawn = np.random.default_rng(seed).choice(topology.links, count, replace=False)
    return [link_component(topology.link_list[index]) for index in sorted(drawn.tolist())]


def _link_copy(word: str, copy: str, a: int, b: int, topology: Topology) -> int:
    """Returns which of the parallel links of routers a and b `word` names, from 1; 0 for all of them."""
    neighbours = topology.neighbours(a).tolist()
    if b not in neighbours:
        names = one_of(dict.fromkeys(map(switch_name, neighbours)))
        raise ParameterError(f"link of {switch_name(a)} must lead to {names}, got {quoted(word)}")
    if not copy:
        return 0
    parallel = neighbours.count(b)
    if not re.fullmatch(r"[0-9]{1,9}", copy) or not 1 <= int(copy) <= parallel:
        ends = f"{switch_name(a)} and {switch_name(b)}"
        raise ParameterError(f"link number between {ends} must be 1 to {parallel}, got {quoted(word)}")
    return int(copy) if parallel > 1 else 0


def without_components(
    components: Iterable[Component], ended: Iterable[Component], topology: Topology
) -> list[Component]:
    """Returns the components that remain failed or drained after others are restored or undrained.

    Args:
        components: the failed or drained components.
        ended: the restored or undrained ones. If they include only some of several parallel links, each of
            the others becomes a component of its own.
        topology: the graph of routers.
    """
    gone = {part for component in ended for part in _parts(component, topology)}
    left: list[Component] = []
    for component in components:
        parts = _parts(component, topology)
        staying = [part for part in parts if part not in gone]
        left += [component] if len(staying) == len(parts) else staying
    return left


def _parts(component: Component, topology: Topology) -> list[Component]:
    """Returns each of the parallel links for which a component stands; any other component alone."""
    if component.kind is not ComponentKind.LINK or component.host or component.copy:
        return [component]
    parallel = topology.neighbours(component.routers[0]).tolist().count(component.routers[1])
    return [replace(component, copy=copy) for copy in range(1, parallel + 1)] if parallel > 1 else [component]


def parse_schedule(
    text: str, topology: Topology, seed: int = 1, unit: TimeUnit = SECONDS
) -> tuple[Fault, ...]:
    """Parses a fault schedule.

    Args:
        text: the schedule; empty lines and everything after a `#` are ignored.
        topology: the graph of routers.
        seed: the seed of the random generator that draws random components.
        unit: the unit of the times.

    Returns:
        The faults in order of time; faults at the same time in the order of their lines.

    Raises:
        ParameterError: a line is malformed; the message names the line.
    """
    faults: list[Fault] = []
    for number, line in enumerate(text.split("\n"), start=1):
        words = re.sub(r"\s*,\s*", ",", line.partition("#")[0]).split()
        if not words:
            continue
        try:
            faults += _parse_line(words, topology, seed, unit)
        except ParameterError as error:
            raise ParameterError(f"line {number}: {error}") from None
    return tuple(_with_all(sorted(faults, key=lambda fault: fault.time_s), topology, unit))


def _with_all(faults: Sequence[Fault], topology: Topology, unit: TimeUnit) -> Iterator[Fault]:
    """Yields the given faults (in order of time), replacing `restore all` by one fault for each component."""
    down: list[Component] = []
    for fault in faults:
        if fault.component is _ALL:
            if not down:
                raise ParameterError(
                    f"restore all must follow a failure, got none up to {fault.time_s:g} {unit.name}"
                )
            yield from (replace(fault, component=component) for component in down)
            down.clear()
            continue
        if not fault.maintenance:
            down = without_components(down, [fault.component], topology)
            if not fault.restores:
                down.append(fault.component)
        yield fault


def _parse_line(words: list[str], topology: Topology, seed: int, unit: TimeUnit) -> list[Fault]:
    forced = len(words) == 4 and words[1] == "drain" and words[3] == FORCE
    known = len(words) > 1 and words[1] in ("fail", "restore", "drain", "undrain")
    time = units.number_of("fault time", words[0], unit.name) if known else None
    if time is None or len(words) != 3 + forced:
        form = "TIME fail|restore|drain|undrain COMPONENT, such as `2.5 fail link:s1-s2`"
        raise ParameterError(f"fault must be {form}, got {quoted(' '.join(words))}")
    time_s = float(time)
    if time_s > unit.limit or (unit.whole and not time_s.is_integer()):
        whole = "whole " if unit.whole else ""
        raise ParameterError(f"fault time must be 0 to {unit.limit} {whole}{unit.name}, got {words[0]}")
    if words[1:] == ["restore", "all"]:
        return [Fault(time_s, _ALL, restores=True)]
    if words[1] in ("fail", "restore"):
        components = parse_components(words[2], topology, seed)
        return [Fault(time_s, component, words[1] == "restore") for component in components]
    drained = parse_drained(words[2], topology)
    return [Fault(time_s, component, words[1] == "undrain", True, forced) for component in drained]
