"""Puts a plan together: what all routings share, around what a routing does with its own hosts' packets.

Every routing forwards minimally once a packet has no tag (table 3) and sends a tagged packet minimally to
the router that its tag names (table 2), both by groups that know ways around a dead port
(`controller.local_repair`). Routings differ in what the source's switch does (table 1): send packets on to
table 3, or to a group that may choose a detour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby

import numpy as np
import numpy.typing as npt

from controller.local_repair import Repair, repair_maker
from controller.pipeline import (
    MOST_TAGS,
    PRIORITY_BLOCK,
    PRIORITY_ROUTER,
    shared_rules,
    tag_of,
    to_router,
)
from controller.plan import (
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
from controller.router_view import Block, RouterView, group_number, tagged_for
from topology.addressing import hosts_of
from topology.errors import ParameterError
from topology.graph import DestinationBlock, Topology

# Open vSwitch drops output to the port that a packet came in by, and after a detour a packet may have to
# go back there. Port 0 is none.
CLEAR_INGRESS = SetField("in_port", 0)

HopBound = Callable[[npt.NDArray[np.int8]], npt.NDArray[np.int8]]


@dataclass(frozen=True)
class SourcePart:
    """What a routing does with the packets of a router's own hosts to other routers."""

    rules: tuple[Rule, ...]
    groups: tuple[Group, ...] = ()


# (router, its ways around) -> what the routing does there
SourcePartMaker = Callable[[RouterView, Repair], SourcePart]


def assemble(
    topology: Topology,
    hosts_per_router: int,
    name: str,
    hop_bound: HopBound,
    source_part: SourcePartMaker,
) -> RoutePlan:
    """Returns the plan of a routing.

    Args:
        topology: the fabric's graph.
        hosts_per_router: p, 1 to 254.
        name: the routing's name.
        hop_bound: see RoutePlan.
        source_part: what the routing does at the source.

    Raises:
        ParameterError: the addresses cannot tell that many hosts or routers apart, or there are more
            routers than tags.
    """
    hosts = hosts_of(topology, hosts_per_router)
    next_hops = topology.all_next_hops()
    matches = tuple(to_router(topology, router) for router in range(topology.routers))
    make_repair = repair_maker(topology)
    parts = []
    for router, own_hosts in groupby(hosts, key=lambda host: host.router):
        ports = tuple(topology.ports_toward(router, next_hops[router]).tolist())
        view = RouterView(topology, router, ports, matches)
        repair = make_repair(view)
        source = source_part(view, repair)
        parts.append((view, repair, source, tuple(own_hosts)))
    tags = any(_uses_tags((*repair.groups, *source.groups)) for _, repair, source, _ in parts)
    marks = any(repair.groups for _, repair, _, _ in parts)
    if tags and topology.routers > MOST_TAGS:
        raise ParameterError(
            f"{topology.routers} routers are more than the {MOST_TAGS} that tags can name; try --routing min"
        )
    switches = []
    made = _Made()
    for view, repair, source, own in parts:
        rules = [*shared_rules(topology, view.router, own, tags=tags, marks=marks), *source.rules]
        rules += _onward(view, repair, made, marks=marks)
        if tags:
            rules += [made.tag_rule(other, repair.tagged[other]) for other in view.others()]
        groups = (*_port_groups(view), *repair.groups, *source.groups)
        switches.append(SwitchPlan(view.router, tuple(rules), groups))
    return RoutePlan(topology, hosts_per_router, name, tuple(switches), hop_bound)


def _uses_tags(groups: Iterable[Group]) -> bool:
    return any(
        PushVlan() in bucket.actions for group in groups for bucket in (*group.buckets, *group.alternatives)
    )


class _Made:
    """Rules that were made before: most of a fabric's are the same on many switches."""

    def __init__(self) -> None:
        self._onward: dict[tuple[int, int, int, int | None], tuple[Rule, ...]] = {}
        self._tagged: dict[tuple[int, int], Rule] = {}

    def onward_rules(
        self, view: RouterView, block: DestinationBlock, onward: int, unrepaired: int | None
    ) -> tuple[Rule, ...]:
        first = block.routers[0]
        key = (first, len(block.routers), onward, unrepaired)
        if key not in self._onward:
            if len(block.routers) == 1:
                what, priority = view.matches[first], PRIORITY_ROUTER
            else:
                what, priority = to_router(view.topology, first, block.low_bits), PRIORITY_BLOCK
            self._onward[key] = tuple(onward_rules(what, onward, unrepaired, priority))
        return self._onward[key]

    def tag_rule(self, router: int, tagged: int) -> Rule:
        key = (router, tagged)
        if key not in self._tagged:
            self._tagged[key] = tag_rule(router, tagged)
        return self._tagged[key]


def _onward(view: RouterView, repair: Repair, made: _Made, *, marks: bool) -> Iterator[Rule]:
    for block in view.topology.destination_blocks(view.router):
        first = block.routers[0]
        by_port = group_number(Block.PORT, view.ports[first]) if marks else None
        yield from made.onward_rules(view, block, repair.onward[first], by_port)


def _port_groups(view: RouterView) -> Iterator[Group]:
    for port in range(1, int(view.topology.degrees[view.router]) + 1):
        bucket = Bucket((DecrementTtl(), Output(port)))
        yield Group(group_number(Block.PORT, port), GroupKind.INDIRECT, (bucket,))


def onward_rules(
    destination: Match, onward: int, unrepaired: int | None, priority: int = PRIORITY_ROUTER
) -> Iterator[Rule]:
    """Yields the rules by which a switch sends untagged packets on toward other routers.

    Args:
        destination: the match of packets for their hosts.
        onward: the group for packets without a mark.
        unrepaired: the group for packets that were repaired before, and are not again; None where no switch
            repairs.
        priority: of the rules.
    """
    yield Rule(Table.MINIMAL, priority, destination, _to_group(onward))
    if unrepaired is not None:
        yield Rule(Table.MARKED, priority, destination, _to_group(unrepaired))


def tag_rule(router: int, tagged: int) -> Rule:
    """Returns the rule by which a switch sends packets with another router's tag on toward it."""
    return Rule(Table.TRANSIT, PRIORITY_ROUTER, match(vlan_vid=tag_of(router)), _to_group(tagged))


@cache
def _to_group(number: int) -> Actions:
    """Returns the same object for the same group: a proof works out what equals what by it."""
    return (CLEAR_INGRESS, ToGroup(number))


def by_way_of(repair: Repair, intermediate: int) -> Bucket:
    """Returns the bucket that sends an untagged packet to a router first, with a tag that says so."""
    return Bucket((*tagged_for(intermediate), ToGroup(repair.tagged[intermediate])))
