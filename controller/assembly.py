"""Puts a plan together: what all routings share, around what a routing does with its own hosts' packets.

Every routing forwards minimally once a packet has no tag (table 3) and sends a tagged packet minimally to
the router that its tag names (table 2). Routings differ in what the source's switch does (table 1): send
packets on to table 3, or to a group that may choose a detour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from controller.pipeline import PRIORITY_ROUTER, shared_rules, tag_of, to_router
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
from topology.addressing import Host, hosts_of
from topology.graph import Topology

# Open vSwitch drops output to the port that a packet came in by, and after a detour a packet may have to
# go back there. Port 0 is none.
CLEAR_INGRESS = SetField("in_port", 0)

HopBound = Callable[[npt.NDArray[np.int8]], npt.NDArray[np.int8]]


@dataclass(frozen=True)
class RouterView:
    """A router as a routing sees it.

    Attributes:
        topology: the fabric's graph.
        router: which router.
        ports: the port toward each router's minimal next hop, in router order.
        matches: the match of packets for each router's hosts, in router order.
    """

    topology: Topology
    router: int
    ports: tuple[int, ...]
    matches: tuple[Match, ...]

    def others(self) -> list[int]:
        """Returns all routers but this one."""
        return [other for other in range(self.topology.routers) if other != self.router]


@dataclass(frozen=True)
class SourcePart:
    """What a routing does with the packets of a router's own hosts to other routers."""

    rules: tuple[Rule, ...]
    groups: tuple[Group, ...] = ()


def assemble(  # one argument per thing in which routings differ
    topology: Topology,
    hosts_per_router: int,
    name: str,
    hop_bound: HopBound,
    source_part: Callable[[RouterView], SourcePart],
    *,
    tagged: bool,
) -> RoutePlan:
    """Returns the plan of a routing.

    Args:
        topology: the fabric's graph.
        hosts_per_router: p, 1 to 254.
        name: the routing's name.
        hop_bound: see RoutePlan.
        source_part: what the routing does at the source.
        tagged: whether it uses tags.

    Raises:
        ParameterError: the addresses cannot tell that many hosts or routers apart, or there are more
            routers than tags.
    """
    hosts = hosts_of(topology, hosts_per_router)
    next_hops = topology.all_next_hops()
    matches = tuple(to_router(topology, router) for router in range(topology.routers))
    switches = []
    for router, own_hosts in groupby(hosts, key=lambda host: host.router):
        ports = tuple(topology.ports_toward(router, next_hops[router]).tolist())
        view = RouterView(topology, router, ports, matches)
        switches.append(_switch(view, tuple(own_hosts), source_part(view), tagged=tagged))
    return RoutePlan(topology, hosts_per_router, name, tuple(switches), hop_bound)


def _switch(view: RouterView, hosts: tuple[Host, ...], source: SourcePart, *, tagged: bool) -> SwitchPlan:
    rules = [*shared_rules(view.topology, view.router, hosts), *source.rules]
    before: Actions = (CLEAR_INGRESS,) if tagged else ()
    for other in view.others():
        onward = (*before, ToGroup(view.ports[other]))
        rules.append(Rule(Table.MINIMAL, PRIORITY_ROUTER, view.matches[other], onward))
        if tagged:
            rules.append(Rule(Table.TRANSIT, PRIORITY_ROUTER, match(vlan_vid=tag_of(other)), onward))
    degree = int(view.topology.degrees[view.router])
    port_groups = [Group(port, GroupKind.INDIRECT, (toward_port(port),)) for port in range(1, degree + 1)]
    return SwitchPlan(view.router, tuple(rules), (*port_groups, *source.groups))


def toward_port(port: int) -> Bucket:
    """Returns the bucket that sends a packet one hop on by way of a port."""
    return Bucket((DecrementTtl(), Output(port)))


def by_way_of(view: RouterView, intermediate: int) -> Bucket:
    """Returns the bucket that sends a packet to a router first, with a tag that says so."""
    tag = (PushVlan(), SetField("vlan_vid", tag_of(intermediate)))
    return Bucket((DecrementTtl(), *tag, Output(view.ports[intermediate])))
