"""Puts a plan together: what all routings share, around what a routing does with its own hosts' packets.

Every routing forwards minimally once a packet has no tag (table 3) and sends a tagged packet minimally to
the router that its tag names (table 2), both by groups that know ways around a dead port
(`routing.reroute.base`). Routings differ in what the source's switch does (table 1): send packets on to
table 3, or to a group that may choose a detour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

import numpy as np
import numpy.typing as npt

from routing.plan.groups import Block, RouterView, group_number, tagged_for
from routing.plan.model import (
    Actions,
    Bucket,
    DecrementTtl,
    Group,
    GroupKind,
    Match,
    Output,
    PushVlan,
    RoutePlan,
    Rule,
    SetField,
    SwitchPlan,
    Table,
    ToGroup,
    match,
)
from routing.plan.tables import (
    MOST_TAGS,
    PRIORITY_BLOCK,
    PRIORITY_ROUTER,
    router_of_tag,
    shared_rules,
    tag_of,
    to_router,
)
from routing.reroute import polarfly as polarfly_repair
from routing.reroute.base import Repair, RepairMaker
from routing.reroute.loop_free_alternates import RepairSearch
from topology.addressing import INITIAL_TTL, hosts_of
from topology.base import DestinationBlock, Topology
from topology.errors import ParameterError
from topology.families.polarfly import PolarFly

# Open vSwitch drops output to the port that a packet came in by, and after a detour a packet may have to
# go back there. Port 0 is none.
CLEAR_INGRESS = SetField("in_port", 0)

HopBound = Callable[[npt.NDArray[np.int16]], npt.NDArray[np.int16]]


@dataclass(frozen=True)
class SourcePart:
    """What a routing does with the packets of a router's own hosts to other routers."""

    rules: tuple[Rule, ...]
    groups: tuple[Group, ...] = ()


# (router, its ways around) -> what the routing does there
SourcePartMaker = Callable[[RouterView, Repair], SourcePart]


def assemble(
    topology: Topology,
    concentration: int,
    name: str,
    hop_bound: HopBound,
    source_part: SourcePartMaker,
) -> RoutePlan:
    """Returns the plan of a routing.

    Args:
        topology: the fabric's graph.
        concentration: p, 1 to 254.
        name: the routing's name.
        hop_bound: see RoutePlan.
        source_part: what the routing does at the source.

    Raises:
        ParameterError: the addresses cannot tell that many hosts or routers apart, there are more routers
            than tags, or routes are longer than packets live.
    """
    hosts = hosts_of(topology, concentration)
    if topology.routers > MOST_TAGS:
        raise ParameterError(
            f"{topology.routers} routers are more than the {MOST_TAGS} that tags can name, which repairs and "
            "detours need"
        )
    check_lifetime(topology, hop_bound)
    matches = tuple(to_router(topology, router) for router in range(topology.routers))
    make_repair = _repair_maker(topology)
    parts = []
    for router, own_hosts in groupby(hosts, key=lambda host: host.router):
        view = RouterView(topology, router, tuple(topology.minimal_ports(router)), matches)
        repair = make_repair(view)
        source = source_part(view, repair)
        parts.append((view, repair, source, tuple(own_hosts)))
    tags = _Tags.of(parts)
    marks = any(repair.onward.groups for _, repair, _, _ in parts)
    repair_hops = max(repair.onward.most_hops for _, repair, _, _ in parts)
    if tags.protected:
        repair_hops += max(repair.tagged.most_hops for _, repair, _, _ in parts)
    switches = []
    made = _Made()
    for view, repair, source, own in parts:
        rules = [
            *shared_rules(topology, view.router, own, tag=view.router in tags.used, marks=marks),
            *source.rules,
        ]
        rules += _onward(view, repair, made, marks=marks)
        tagged = tags.toward(view, repair)
        rules += [made.tag_rule(other, tagged[other]) for other in tags.used if other != view.router]
        groups = [*_port_groups(view), *repair.onward.groups]
        if tags.protected:
            groups += repair.tagged.groups
        groups += source.groups
        switches.append(SwitchPlan(view.router, tuple(rules), tuple(groups), repair.onward.toward, tagged))
    unprotected = tuple((view.router, *what) for view, repair, _, _ in parts for what in repair.unprotected)
    return RoutePlan(topology, concentration, name, tuple(switches), hop_bound, repair_hops, unprotected)


def _repair_maker(topology: Topology) -> RepairMaker:
    """Returns what makes the repairs of a topology's routers."""
    if isinstance(topology, PolarFly):
        return polarfly_repair.repair
    return RepairSearch(topology).repair


def check_lifetime(topology: Topology, hop_bound: HopBound, repair_hops: int = 0) -> None:
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
    def of(cls, parts: Iterable[tuple[RouterView, Repair, SourcePart, object]]) -> _Tags:
        """Returns what the parts of a plan need."""
        by_repairs: set[int] = set()
        for view, repair, source, _ in parts:
            if any(_tags_in(source.groups)):
                return cls(range(view.topology.routers), protected=True)
            by_repairs.update(_tags_in(repair.onward.groups))
        return cls(sorted(by_repairs), protected=False)

    def toward(self, view: RouterView, repair: Repair) -> tuple[int, ...]:
        """Returns the group for packets with each tag; 0 where none is so, and nothing without tags."""
        if not self.used:
            return ()
        if self.protected:
            return repair.tagged.toward
        numbers = [0] * len(view.ports)
        for router in self.used:
            numbers[router] = group_number(Block.PORT, view.ports[router]) if router != view.router else 0
        return tuple(numbers)


def _tags_in(groups: Iterable[Group]) -> Iterator[int]:
    """Yields the routers that tags name which groups push."""
    for group in groups:
        for bucket in (*group.buckets, *group.alternatives):
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
            known[key] = onward_rule(table, what, group, priority)
        return known[key]

    def tag_rule(self, router: int, tagged: int) -> Rule:
        """Returns the rule for packets whose tag names a router."""
        key = (router, 1, tagged)
        known = self._rules[Table.TRANSIT]
        if key not in known:
            known[key] = tag_rule(router, tagged)
        return known[key]


def _onward(view: RouterView, repair: Repair, made: _Made, *, marks: bool) -> Iterator[Rule]:
    for block in view.topology.destination_blocks(view.router):
        first = block.routers[0]
        yield made.rule(Table.MINIMAL, view, block, repair.onward.toward[first])
        if marks:
            yield made.rule(Table.MARKED, view, block, group_number(Block.PORT, view.ports[first]))


def _port_groups(view: RouterView) -> Iterator[Group]:
    for port in range(1, int(view.topology.degrees[view.router]) + 1):
        bucket = Bucket((DecrementTtl(), Output(port)))
        yield Group(group_number(Block.PORT, port), GroupKind.INDIRECT, (bucket,))


def onward_rule(table: Table, destination: Match, group: int, priority: int = PRIORITY_ROUTER) -> Rule:
    """Returns the rule by which a switch sends untagged packets for other routers' hosts to a group.

    In table MINIMAL it is for packets without a mark, in table MARKED for those that were repaired before.
    """
    return Rule(table, priority, destination, _to_group(group))


def tag_rule(router: int, tagged: int) -> Rule:
    """Returns the rule by which a switch sends packets with another router's tag on toward it."""
    return Rule(Table.TRANSIT, PRIORITY_ROUTER, match(vlan_vid=tag_of(router)), _to_group(tagged))


@cache
def _to_group(number: int) -> Actions:
    """Returns the same object for the same group: a proof works out what equals what by it."""
    return (CLEAR_INGRESS, ToGroup(number))


def by_way_of(repair: Repair, intermediate: int) -> Bucket:
    """Returns the bucket that sends an untagged packet to a router first, with a tag that says so."""
    return Bucket((*tagged_for(intermediate), ToGroup(repair.tagged.toward[intermediate])))
