"""The plan compiler: combines the source tables of one routing with the rules that all routings share.

Every routing forwards untagged packets minimally (table 4) and tagged packets minimally to the router named
by the tag (table 2), both through groups with alternates for a dead port (`routing.reroute.base`). Routings
differ in the source table of a switch (table 1): it passes the packets of the router's own hosts to table 4,
or to a group that may choose a detour. Some routings choose again after a packet has lost its tag (table 3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from routing.families import reroute_maker
from routing.plan.columns import SwitchColumns
from routing.plan.forwarding import ForwardingRules
from routing.plan.groups import GroupRole, RouterView, group_number, push_tag, pushed_tags
from routing.plan.model import (
    Bucket,
    DecrementTtl,
    Group,
    GroupKind,
    Output,
    RoutePlan,
    Rule,
    SwitchPlan,
    Table,
    ToGroup,
)
from routing.plan.tables import MAX_TAGS, shared_rules, to_router
from routing.reroute.base import FastReroute, RerouteMaker
from topology.addressing import INITIAL_TTL, Host, hosts_of
from topology.base import Topology
from topology.errors import ParameterError
from topology.faults import Component
from topology.plugins import returned, wrong_result

T = TypeVar("T")
# Distances of router pairs -> maximum hops of their packets without failures; see RoutePlan.
HopBound = Callable[[npt.NDArray[np.int16]], npt.NDArray[np.int16]]


@dataclass(frozen=True)
class SourceTable:
    """The rules and groups by which a router sends packets of its own hosts to other routers.

    Attributes:
        rules: rules of table SOURCE, for untagged IPv4 packets to other routers' hosts.
        groups: the groups that these rules need in addition to the protected groups of the router.
        choices: the number of the group for packets to each destination router, such as
            `reroute.untagged.group_toward[router]` for minimal paths; adds one rule per router. In router
            order, 0 for the router itself. Empty if `rules` is complete.

    Examples:
        All packets continue along minimal paths:

        >>> minimal = Rule(Table.SOURCE, PRIORITY_ROUTER, TO_ANY_HOST, goto=Table.MINIMAL)
        >>> SourceTable((minimal,)).rules[0].goto
        <Table.MINIMAL: 4>
    """

    rules: tuple[Rule, ...] = ()
    groups: tuple[Group, ...] = ()
    choices: tuple[int, ...] = ()


@dataclass(frozen=True)
class AfterTagTable:
    """The groups by which a router forwards packets that arrived with a tag that names it.

    Attributes:
        choices: for each router, in router order, the number of the group for packets to its hosts; 0 if
            these continue minimally. Empty if all packets continue minimally.
        groups: these groups.
        unprotected: (destination, link or switch): while that component is dead, such packets to the
            destination are lost.

    Examples:
        Packets to router 1 continue with a group, the others along minimal paths:

        >>> number = group_number(GroupRole.AFTER_TAG)
        >>> ports = tuple(Bucket((ToGroup(group_number(GroupRole.PORT, port)),)) for port in (1, 2))
        >>> table = AfterTagTable((0, number, 0), (Group(number, GroupKind.SELECT, ports),))
        >>> table.choices[1] == table.groups[0].number
        True
    """

    choices: tuple[int, ...] = ()
    groups: tuple[Group, ...] = ()
    unprotected: tuple[tuple[int, Component], ...] = ()


# (a router's ports and matches, its protected groups) -> its table AFTER_TAG
AfterTagMaker = Callable[[RouterView, FastReroute], AfterTagTable]
# (a router's ports and matches, its protected groups) -> its source table
SourceTableMaker = Callable[[RouterView, FastReroute], SourceTable]


def _empty_after_tag(_view: RouterView, _reroute: FastReroute) -> AfterTagTable:
    return AfterTagTable()


@dataclass(frozen=True)
class _RouterDesign:
    """The tables and groups of one router; its tag rules are added once the tags of all routers are known."""

    view: RouterView
    hosts: tuple[Host, ...]
    reroute: FastReroute
    source: SourceTable
    after_tag: AfterTagTable


def compile_plan(
    topology: Topology,
    hosts_per_router: int,
    name: str,
    hop_bound: HopBound,
    source_table: SourceTableMaker,
    after_tag: AfterTagMaker = _empty_after_tag,
    make_reroute: RerouteMaker | None = None,
) -> RoutePlan:
    """Returns the plan of a routing for a fabric.

    Args:
        topology: the fabric's graph, connected.
        hosts_per_router: p, the number of hosts at each router that has any, 1 to 254.
        name: the routing's name, as on the command line.
        hop_bound: distances of router pairs (int16 array) -> the maximum number of hops of the routing's
            packets between them without failures.
        source_table: builds the source table of one router; called only for routers that have hosts.
        after_tag: builds the table AFTER_TAG of one router; by default, packets continue minimally.
        make_reroute: builds the fast reroute of one router; None for that of the topology's family.

    Returns:
        The plan with fast reroute.

    Raises:
        ParameterError: there are more hosts or routers than addresses and tags, or paths are longer than the
            packets' TTL allows.

    Examples:
        Minimal routing:

        >>> def source_table(view, reroute):
        ...     return SourceTable(choices=reroute.untagged.group_toward)
        >>> graph = make_topology("polarfly", {"q": 3})
        >>> plan = compile_plan(graph, 1, "mine", lambda distances: distances, source_table)
        >>> polarlab.prove(plan, "links")
        Proof(ok, pairs=156, scenarios=25, delivered=3900, max_hops=5)
    """
    hosts = _hosts_by_router(topology, hosts_per_router)
    check_tags(topology)
    check_ttl(topology, hop_bound)
    matches = tuple(to_router(topology, router) for router in range(topology.routers))
    make_reroute = make_reroute or reroute_maker(topology)
    views = (RouterView(topology, router, matches) for router in range(topology.routers))
    designs = list(_design_routers(views, hosts, source_table, after_tag, make_reroute))
    tags = _TagUse.of(designs)
    marks = any(design.reroute.untagged.groups for design in designs)
    rules = ForwardingRules(topology, matches)
    return RoutePlan(
        topology,
        hosts_per_router,
        name,
        tuple(_switch_plan(design, tags, rules, marks=marks) for design in designs),
        hop_bound,
        _repair_hops(designs, tags),
        tuple(
            (design.view.router, destination, component)
            for design in designs
            for destination, component in dict.fromkeys(
                (*design.reroute.unprotected, *design.after_tag.unprotected)
            )
            if hosts[destination]
        ),
    )


def check_tags(topology: Topology) -> None:
    """Checks that every router can have a tag; all plans need tags, for detours or for alternates.

    Args:
        topology: the fabric's graph.

    Raises:
        ParameterError: there are more routers than tags.
    """
    if topology.routers > MAX_TAGS:
        raise ParameterError(
            f"number of routers must be at most {MAX_TAGS}, because detours and alternates "
            f"name routers by VLAN tags, got {topology.routers}"
        )


def check_ttl(topology: Topology, hop_bound: HopBound, repair_hops: int = 0) -> None:
    """Checks that the packets' TTL is sufficient for the longest paths of a plan.

    Args:
        topology: the fabric's graph.
        hop_bound: see `compile_plan`.
        repair_hops: the maximum number of hops that fast reroute adds; 0 without it.

    Raises:
        ParameterError: a path may have more hops than the TTL allows.
    """
    max_hops = INITIAL_TTL - 1
    distances = np.array([topology.diameter], np.int16)
    bounds = hop_bound(distances)
    if not isinstance(bounds, np.ndarray) or bounds.shape != distances.shape or bounds.dtype.kind not in "iu":
        raise wrong_result(hop_bound, bounds, "an array of integers of the shape of its argument")
    longest = int(bounds[0])
    if longest > max_hops:
        raise ParameterError(
            f"paths must have at most {max_hops} hops (the packets' TTL), got up to {longest}; "
            f"the diameter of the graph is {topology.diameter}"
        )
    if longest + repair_hops > max_hops:
        raise ParameterError(
            f"paths must have at most {max_hops} hops (the packets' TTL), got up to {longest} and "
            f"{repair_hops} more for local repair; try --no-local-repair"
        )


def detour_bucket(reroute: FastReroute, intermediate: int) -> Bucket:
    """Returns the bucket that tags an untagged packet and sends it toward an intermediate router.

    Args:
        reroute: the protected groups of the router with the bucket.
        intermediate: another router, which the packet visits before its destination.

    Examples:
        Every packet goes to a neighbour of its router first:

        >>> def source_table(view, reroute):
        ...     buckets = tuple(detour_bucket(reroute, one) for one, _port in view.neighbour_ports())
        ...     group = Group(group_number(GroupRole.CHOICE_ANY), GroupKind.SELECT, buckets)
        ...     rule = Rule(Table.SOURCE, PRIORITY_ROUTER, TO_ANY_HOST, (ToGroup(group.number),))
        ...     return SourceTable((rule,), (group,))
        >>> graph = make_topology("polarfly", {"q": 3})
        >>> plan = compile_plan(graph, 1, "mine", lambda distances: distances + 2, source_table)
        >>> polarlab.prove(plan)
        Proof(ok, pairs=156, scenarios=1, delivered=156, max_hops=3)
    """
    return Bucket((*push_tag(intermediate), ToGroup(reroute.tagged.group_toward[intermediate])))


# ---- steps of compile_plan ----


def _hosts_by_router(topology: Topology, hosts_per_router: int) -> list[tuple[Host, ...]]:
    hosts: list[list[Host]] = [[] for _ in range(topology.routers)]
    for host in hosts_of(topology, hosts_per_router):
        hosts[host.router].append(host)
    return list(map(tuple, hosts))


def _design_routers(
    views: Iterable[RouterView],
    hosts: Sequence[tuple[Host, ...]],
    source_table: SourceTableMaker,
    after_tag: AfterTagMaker,
    make_reroute: RerouteMaker,
) -> Iterator[_RouterDesign]:
    for view, own_hosts in zip(views, hosts, strict=True):
        reroute = returned(make_reroute, make_reroute(view), FastReroute)
        source = SourceTable()
        if own_hosts:
            source = returned(source_table, source_table(view, reroute), SourceTable)
        after = returned(after_tag, after_tag(view, reroute), AfterTagTable)
        yield _RouterDesign(view, own_hosts, reroute, source, after)


@dataclass(frozen=True)
class _TagUse:
    """The tags that packets of a fabric may carry.

    Attributes:
        routers: the routers that tags name.
        from_sources: whether source tables push tags, for detours. If so, tagged packets are rerouted around
            dead ports; otherwise only alternates push tags, and their packets are marked, so that no switch
            reroutes them again.
    """

    routers: Sequence[int]
    from_sources: bool

    @classmethod
    def of(cls, designs: Sequence[_RouterDesign]) -> _TagUse:
        """Returns the tags that groups of any router push."""
        if any(set(pushed_tags(design.source.groups)) for design in designs):
            return cls(range(len(designs)), from_sources=True)
        tags = set(pushed_tags(*(design.reroute.untagged.groups for design in designs)))
        return cls(sorted(tags), from_sources=False)

    def groups_toward(self, design: _RouterDesign) -> tuple[int, ...]:
        """Returns, for each router, the number of one switch's group for packets whose tag names that router.

        The result is `SwitchPlan.tagged_groups`.
        """
        if not self.routers:
            return ()
        if self.from_sources:
            return design.reroute.tagged.group_toward
        view = design.view
        tagged = np.array(self.routers)
        numbers = np.zeros(view.topology.routers, np.int64)
        numbers[tagged] = view.port_sets.first_ports()[tagged] + group_number(GroupRole.PORT)
        numbers[view.router] = 0
        return tuple(numbers.tolist())


def evenly_spaced(items: Sequence[T], most: int, first: int) -> list[T]:
    """Returns evenly spaced items of a sequence that is treated as a ring; all items if they are few enough.

    Args:
        items: any sequence.
        most: the maximum number of items to choose, at least 1.
        first: index of the first item, modulo the length. Sources that choose among the same items should
            start at different indices; otherwise all of them would choose the same.

    Examples:
        >>> evenly_spaced("abcdefgh", 4, first=1)
        ['b', 'd', 'f', 'h']
    """
    count = len(items)
    if count <= most:
        return list(items)
    return [
        items[place] for place in sorted((first + number * count // most) % count for number in range(most))
    ]


def _repair_hops(designs: Sequence[_RouterDesign], tags: _TagUse) -> int:
    hops = max(design.reroute.untagged.max_extra_hops for design in designs)
    if tags.from_sources:
        hops += max(design.reroute.tagged.max_extra_hops for design in designs)
    return hops


def _switch_plan(design: _RouterDesign, tags: _TagUse, rules: ForwardingRules, *, marks: bool) -> SwitchPlan:
    view, reroute = design.view, design.reroute
    router = view.router
    tagged_groups = tags.groups_toward(design)
    tag, after_tag = router in tags.routers, design.after_tag
    shared = shared_rules(
        view.topology, router, design.hosts, tag=tag, after_tag=bool(after_tag.choices), marks=marks
    )
    numbers = (
        np.array(rules.store.add([*shared, *design.source.rules]), np.intp),
        rules.toward(Table.SOURCE, design.source.choices),
        *_minimal_rules(design, rules, marks=marks),
        rules.toward(Table.TRANSIT, tagged_groups),
        rules.toward(Table.AFTER_TAG, after_tag.choices),
    )
    groups = (
        _port_groups(tuple(view.topology.link_ports(router).tolist())),
        reroute.untagged.groups,
        reroute.tagged.groups if tags.from_sources else (),
        design.source.groups,
        after_tag.groups,
    )
    columns = SwitchColumns(rules.store, np.concatenate(numbers), groups)
    return SwitchPlan.of_columns(router, columns, reroute.untagged.group_toward, tagged_groups)


def _minimal_rules(
    design: _RouterDesign, rules: ForwardingRules, *, marks: bool
) -> list[npt.NDArray[np.intp]]:
    """Returns a router's rules for tables MINIMAL and (if `marks`) MARKED, as numbers in `rules.store`."""
    view = design.view
    groups = design.reroute.untagged.group_toward
    # A marked packet takes the minimal port, dead or alive.
    ports = view.port_sets.first_ports()
    marked = np.where(ports, ports + group_number(GroupRole.PORT), 0)
    if view.topology.next_hop_rules == view.topology.routers - 1:
        of_marked = [rules.toward(Table.MARKED, marked)] if marks else []
        return [rules.toward(Table.MINIMAL, groups), *of_marked]
    numbers = []
    for block in view.topology.destination_blocks(view.router):
        first = block.routers[0]
        numbers.append(rules.toward_block(Table.MINIMAL, block, groups[first]))
        if marks:
            numbers.append(rules.toward_block(Table.MARKED, block, int(marked[first])))
    return [np.array(numbers, np.intp)]


@cache
def _port_groups(ports: tuple[int, ...]) -> tuple[Group, ...]:
    """Returns, for each fabric port, a group that outputs packets to it whether the port is up or down."""
    return tuple(map(_port_group, ports))


@cache
def _port_group(port: int) -> Group:
    bucket = Bucket((DecrementTtl(), Output(port)))
    return Group(group_number(GroupRole.PORT, port), GroupKind.INDIRECT, (bucket,))
