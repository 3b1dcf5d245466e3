"""What compact Valiant and UGAL_PF share: two groups per port, made of the detours around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from routing.compiler import SourcePart, assemble
from routing.plan.groups import Block, RouterView, group_number, tagged_for
from routing.plan.model import Bucket, Group, RoutePlan, Rule, Table, ToGroup
from routing.plan.tables import PRIORITY_ROUTER
from routing.reroute.base import Repair
from topology.base import Topology
from topology.errors import UsageError
from topology.families.polarfly import PolarFly
from topology.families.polarfly_detours import NearDetour, far_detours, near_detours


@dataclass(frozen=True)
class Way:
    """A way that a group may send packets: a bucket, and the port by which it leaves while that is up."""

    bucket: Bucket
    port: int


# (group number, the minimal way, the detours around it) -> the group
GroupMaker = Callable[[int, Way, list[Way]], Group]
NearChoice = Callable[[list[NearDetour]], list[NearDetour]]


def detour_plan(
    topology: Topology,
    concentration: int,
    name: str,
    make_group: GroupMaker,
    near_choice: NearChoice,
) -> RoutePlan:
    """Returns the plan of a routing that takes detours through groups per port.

    Args:
        topology: the fabric's graph.
        concentration: p, 1 to 254.
        name: the routing's name.
        make_group: makes each group from its detours.
        near_choice: which of the detours to an adjacent router are used.

    Raises:
        UsageError: the topology is no PolarFly, on whose geometry the detours rest.
        ParameterError: as `assemble`.
    """
    if not isinstance(topology, PolarFly):
        raise UsageError(f"{name} is a routing for polarfly, not for {topology.name}; try valiant")

    def source_part(view: RouterView, _repair: Repair) -> SourcePart:
        groups = []
        port_to = dict(view.neighbour_ports())
        for neighbour, port in view.neighbour_ports():
            far = [_far_way(port_to[m]) for m in far_detours(topology, view.router, neighbour)]
            chosen = near_choice(near_detours(topology, view.router, neighbour))
            near = [_near_way(detour, port_to[detour.first]) for detour in chosen]
            straight = Way(Bucket((ToGroup(group_number(Block.ONWARD_NEAR, port)),)), port)
            groups.append(make_group(group_number(Block.CHOICE_FAR, port), _far_way(port), far))
            groups.append(make_group(group_number(Block.CHOICE_NEAR, port), straight, near))
        return SourcePart(tuple(_group_rules(view)), tuple(groups))

    return assemble(topology, concentration, name, _hop_bound, source_part)


def _hop_bound(distances: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
    """Returns the most hops of a detour by the pair's distance: three at two, four at one."""
    return np.array([0, 4, 3], np.int16)[distances]


def _group_rules(view: RouterView) -> list[Rule]:
    """Returns table 1's rules: destinations behind a port go to its far group, the neighbour to its near."""
    adjacent = {neighbour for neighbour, _ in view.neighbour_ports()}

    def choice(other: int) -> tuple[ToGroup, ...]:
        block = Block.CHOICE_NEAR if other in adjacent else Block.CHOICE_FAR
        return (ToGroup(group_number(block, view.ports[other])),)

    return [
        Rule(Table.SOURCE, PRIORITY_ROUTER, view.matches[other], choice(other)) for other in view.others()
    ]


def _far_way(port: int) -> Way:
    """Returns the way by a port to destinations that are not adjacent."""
    return Way(Bucket((ToGroup(group_number(Block.ONWARD_FAR, port)),)), port)


def _near_way(detour: NearDetour, port: int) -> Way:
    """Returns the way that takes a detour to an adjacent router by the port of its first hop."""
    if detour.tagged is None:
        return _far_way(port)
    return Way(Bucket((*tagged_for(detour.tagged), ToGroup(group_number(Block.TAGGED, port)))), port)
