"""Puts a plan together: what all routings share, around what a routing does with its own hosts' packets.

Every routing forwards minimally once a packet has no tag (table 3) and sends a tagged packet minimally to
the router that its tag names (table 2), both by groups that know ways around a dead port
(`controller.local_repair`). Routings differ in what the source's switch does (table 1): send packets on to
table 3, or to a group that may choose a detour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from controller.local_repair import Repair, repair_maker
from controller.pipeline import PRIORITY_ROUTER, shared_rules, tag_of, to_router
from controller.plan import (
    Bucket,
    DecrementTtl,
    Group,
    GroupKind,
    Match,
    Output,
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
from topology.graph import Topology

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
    switches = []
    for router, own_hosts in groupby(hosts, key=lambda host: host.router):
        ports = tuple(topology.ports_toward(router, next_hops[router]).tolist())
        view = RouterView(topology, router, ports, matches)
        repair = make_repair(view)
        source = source_part(view, repair)
        rules = [*shared_rules(topology, router, tuple(own_hosts)), *source.rules]
        switches.append(_switch(view, repair, rules, source.groups))
    return RoutePlan(topology, hosts_per_router, name, tuple(switches), hop_bound)


def _switch(view: RouterView, repair: Repair, rules: list[Rule], groups: tuple[Group, ...]) -> SwitchPlan:
    for other in view.others():
        by_port = group_number(Block.PORT, view.ports[other])
        onward, tagged = repair.onward[other], repair.tagged[other]
        rules += onward_rules(view.matches[other], other, onward, by_port, tagged)
    degree = int(view.topology.degrees[view.router])
    port_groups = [
        Group(group_number(Block.PORT, port), GroupKind.INDIRECT, (Bucket((DecrementTtl(), Output(port))),))
        for port in range(1, degree + 1)
    ]
    return SwitchPlan(view.router, tuple(rules), (*port_groups, *repair.groups, *groups))


def onward_rules(destination: Match, router: int, onward: int, unrepaired: int, tagged: int) -> list[Rule]:
    """Returns the rules by which a switch sends packets on toward another router.

    Args:
        destination: the match of packets for the router's hosts.
        router: which router.
        onward: the group for packets without a mark.
        unrepaired: the group for packets that were repaired before, and are not again.
        tagged: the group for packets with the router's tag.
    """
    return [
        Rule(table, PRIORITY_ROUTER, what, (CLEAR_INGRESS, ToGroup(group)))
        for table, what, group in (
            (Table.MINIMAL, destination, onward),
            (Table.MARKED, destination, unrepaired),
            (Table.TRANSIT, match(vlan_vid=tag_of(router)), tagged),
        )
    ]


def by_way_of(repair: Repair, intermediate: int) -> Bucket:
    """Returns the bucket that sends an untagged packet to a router first, with a tag that says so."""
    return Bucket((*tagged_for(intermediate), ToGroup(repair.tagged[intermediate])))
