"""Puts a plan together: what all routings share, around what a routing does with its own hosts' packets.

Every routing forwards minimally once a packet has no tag (table 3) and sends a tagged packet minimally to
the router that its tag names (table 2), both by groups that know ways around a dead port
(`routing.reroute.base`). Routings differ in what the source's switch does (table 1): send packets on to
table 3, or to a group that may choose a detour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from routing.plan.forwarding import forwarding_rule, tag_rule
from routing.plan.groups import GroupRole, RouterView, group_number, push_tag
from routing.plan.model import (
    Bucket,
    DecrementTtl,
    Group,
    GroupKind,
    Output,
    PushVlan,
    RoutePlan,
    Rule,
    SetField,
    SwitchPlan,
    Table,
    ToGroup,
)
from routing.plan.tables import (
    MAX_TAGS,
    PRIORITY_BLOCK,
    PRIORITY_ROUTER,
    router_of_tag,
    shared_rules,
    to_router,
)
from routing.reroute import polarfly as polarfly_reroute
from routing.reroute.base import FastReroute, RerouteMaker
from routing.reroute.loop_free_alternates import AlternateSearch
from topology.addressing import INITIAL_TTL, hosts_of
from topology.base import DestinationBlock, Topology
from topology.errors import ParameterError
from topology.families.polarfly import PolarFly

HopBound = Callable[[npt.NDArray[np.int16]], npt.NDArray[np.int16]]


@dataclass(frozen=True)
class SourceTable:
    """What a routing does with the packets of a router's own hosts to other routers."""

    rules: tuple[Rule, ...]
    groups: tuple[Group, ...] = ()


# (router, its ways around) -> what the routing does there
SourceTableMaker = Callable[[RouterView, FastReroute], SourceTable]


def compile_plan(
    topology: Topology,
    concentration: int,
    name: str,
    hop_bound: HopBound,
    source_table: SourceTableMaker,
) -> RoutePlan:
    """Returns the plan of a routing.

    Args:
        topology: the fabric's graph.
        concentration: p, 1 to 254.
        name: the routing's name.
        hop_bound: see RoutePlan.
        source_table: what the routing does at the source.

    Raises:
        ParameterError: the addresses cannot tell that many hosts or routers apart, there are more routers
            than tags, or routes are longer than packets live.
    """
    hosts = hosts_of(topology, concentration)
    if topology.routers > MAX_TAGS:
        raise ParameterError(
            f"{topology.routers} routers are more than the {MAX_TAGS} that tags can name, which repairs and "
            "detours need"
        )
    check_ttl(topology, hop_bound)
    matches = tuple(to_router(topology, router) for router in range(topology.routers))
    make_reroute = _reroute_maker(topology)
    parts = []
    for router, own_hosts in groupby(hosts, key=lambda host: host.router):
        view = RouterView(topology, router, tuple(topology.minimal_ports(router)), matches)
        reroute = make_reroute(view)
        source = source_table(view, reroute)
        parts.append((view, reroute, source, tuple(own_hosts)))
    tags = _Tags.of(parts)
    marks = any(reroute.untagged.groups for _, reroute, _, _ in parts)
    repair_hops = max(reroute.untagged.max_extra_hops for _, reroute, _, _ in parts)
    if tags.protected:
        repair_hops += max(reroute.tagged.max_extra_hops for _, reroute, _, _ in parts)
    switches = []
    made = _Made()
    for view, reroute, source, own in parts:
        rules = [
            *shared_rules(topology, view.router, own, tag=view.router in tags.used, marks=marks),
            *source.rules,
        ]
        rules += _onward(view, reroute, made, marks=marks)
        tagged = tags.toward(view, reroute)
        rules += [made.tag_rule(other, tagged[other]) for other in tags.used if other != view.router]
        groups = [*_port_groups(view), *reroute.untagged.groups]
        if tags.protected:
            groups += reroute.tagged.groups
        groups += source.groups
        switches.append(SwitchPlan(view.router, tuple(rules), tuple(groups), reroute.untagged.toward, tagged))
    unprotected = tuple((view.router, *what) for view, reroute, _, _ in parts for what in reroute.unprotected)
    return RoutePlan(topology, concentration, name, tuple(switches), hop_bound, repair_hops, unprotected)


def _reroute_maker(topology: Topology) -> RerouteMaker:
    """Returns what makes the repairs of a topology's routers."""
    if isinstance(topology, PolarFly):
        return polarfly_reroute.fast_reroute
    return AlternateSearch(topology).fast_reroute


def check_ttl(topology: Topology, hop_bound: HopBound, repair_hops: int = 0) -> None:
    """Raises ParameterError where packets would die of old age on a plan's routes."""
    most = int(hop_bound(np.array([topology.diameter], np.int16))[0])
    if most >= INITIAL_TTL:
        raise ParameterError(
            f"routes of up to {most} hops are longer than packets live ({INITIAL_TTL - 1} hops); "
            f"the diameter is {topology.diameter}"
        )
    if most + repair_hops >= INITIAL_TTL:
        raise ParameterError(
            f"{most} hops and ways around what is dead of {repair_hops} more are longer than packets live "
            f"({INITIAL_TTL - 1} hops); try --no-local-repair"
        )


@dataclass(frozen=True)
class _Tags:
    """Which routers tags name.

    Attributes:
        used: these routers.
        protected: whether packets with a tag are sent around dead ports. Those that were tagged to be sent
            around one are not: they are marked, and no packet is sent around anything twice.
    """

    used: Sequence[int]
    protected: bool

    @classmethod
    def of(cls, parts: Iterable[tuple[RouterView, FastReroute, SourceTable, object]]) -> _Tags:
        """Returns what the parts of a plan need."""
        by_repairs: set[int] = set()
        for view, reroute, source, _ in parts:
            if any(_tags_in(source.groups)):
                return cls(range(view.topology.routers), protected=True)
            by_repairs.update(_tags_in(reroute.untagged.groups))
        return cls(sorted(by_repairs), protected=False)

    def toward(self, view: RouterView, reroute: FastReroute) -> tuple[int, ...]:
        """Returns the group for packets with each tag; 0 where none is so, and nothing without tags."""
        if not self.used:
            return ()
        if self.protected:
            return reroute.tagged.toward
        numbers = [0] * len(view.first_ports)
        for router in self.used:
            numbers[router] = (
                group_number(GroupRole.PORT, view.first_ports[router]) if router != view.router else 0
            )
        return tuple(numbers)


def _tags_in(groups: Iterable[Group]) -> Iterator[int]:
    """Yields the routers that tags name which groups push."""
    for group in groups:
        for bucket in (*group.buckets, *group.candidates):
            if PushVlan() in bucket.actions:
                yield from (
                    router_of_tag(action.value)
                    for action in bucket.actions
                    if isinstance(action, SetField) and action.field == "vlan_vid"
                )


class _Made:
    """Rules that were made before: most of a fabric's are the same on many switches."""

    def __init__(self) -> None:
        self._rules: list[dict[tuple[int, int, int], Rule]] = [{} for _ in Table]

    def rule(self, table: Table, view: RouterView, block: DestinationBlock, group: int) -> Rule:
        """Returns the rule by which a table sends packets for a block to a group."""
        first = block.routers[0]
        key = (first, len(block.routers), group)
        known = self._rules[table]
        if key not in known:
            if len(block.routers) == 1:
                what, priority = view.matches[first], PRIORITY_ROUTER
            else:
                what, priority = to_router(view.topology, first, block.low_bits), PRIORITY_BLOCK
            known[key] = forwarding_rule(table, what, group, priority)
        return known[key]

    def tag_rule(self, router: int, tagged: int) -> Rule:
        """Returns the rule for packets whose tag names a router."""
        key = (router, 1, tagged)
        known = self._rules[Table.TRANSIT]
        if key not in known:
            known[key] = tag_rule(router, tagged)
        return known[key]


def _onward(view: RouterView, reroute: FastReroute, made: _Made, *, marks: bool) -> Iterator[Rule]:
    for block in view.topology.destination_blocks(view.router):
        first = block.routers[0]
        yield made.rule(Table.MINIMAL, view, block, reroute.untagged.toward[first])
        if marks:
            yield made.rule(Table.MARKED, view, block, group_number(GroupRole.PORT, view.first_ports[first]))


def _port_groups(view: RouterView) -> Iterator[Group]:
    for port in range(1, int(view.topology.degrees[view.router]) + 1):
        bucket = Bucket((DecrementTtl(), Output(port)))
        yield Group(group_number(GroupRole.PORT, port), GroupKind.INDIRECT, (bucket,))


def detour_bucket(reroute: FastReroute, intermediate: int) -> Bucket:
    """Returns the bucket that sends an untagged packet to a router first, with a tag that says so."""
    return Bucket((*push_tag(intermediate), ToGroup(reroute.tagged.toward[intermediate])))
