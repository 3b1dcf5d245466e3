"""What compact Valiant and UGAL_PF share: two groups per port, made of the detours around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from routing.compiler import SourceTable, compile_plan
from routing.plan.groups import GroupRole, RouterView, group_number, push_tag
from routing.plan.model import Bucket, Group, RoutePlan, Rule, Table, ToGroup
from routing.plan.tables import PRIORITY_ROUTER
from routing.reroute.base import FastReroute
from topology.base import Topology
from topology.errors import UsageError
from topology.families.polarfly import PolarFly
from topology.families.polarfly_detours import NearDetour, far_detours, near_detours


@dataclass(frozen=True)
class CandidatePath:
    """A way that a group may send packets: a bucket, and the port by which it leaves while that is up."""

    bucket: Bucket
    port: int


# (group number, the minimal way, the detours around it) -> the group
GroupMaker = Callable[[int, CandidatePath, list[CandidatePath]], Group]
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
        ParameterError: as `compile_plan`.
    """
    if not isinstance(topology, PolarFly):
        raise UsageError(f"{name} is a routing for polarfly, not for {topology.name}; try valiant")

    def source_part(view: RouterView, _reroute: FastReroute) -> SourceTable:
        groups = []
        port_to = dict(view.neighbour_ports())
        for neighbour, port in view.neighbour_ports():
            far = [_far_path(port_to[m]) for m in far_detours(topology, view.router, neighbour)]
            chosen = near_choice(list(near_detours(topology, view.router, neighbour)))
            near = [_near_path(detour, port_to[detour.first_hop]) for detour in chosen]
            straight = CandidatePath(Bucket((ToGroup(group_number(GroupRole.ONWARD_NEAR, port)),)), port)
            groups.append(make_group(group_number(GroupRole.CHOICE_FAR, port), _far_path(port), far))
            groups.append(make_group(group_number(GroupRole.CHOICE_NEAR, port), straight, near))
        return SourceTable(tuple(_group_rules(view)), tuple(groups))

    return compile_plan(topology, concentration, name, _hop_bound, source_part)


def _hop_bound(distances: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
    """Returns the most hops of a detour by the pair's distance: three at two, four at one."""
    return np.array([0, 4, 3], np.int16)[distances]


def _group_rules(view: RouterView) -> list[Rule]:
    """Returns table 1's rules: destinations behind a port go to its far group, the neighbour to its near."""
    adjacent = {neighbour for neighbour, _ in view.neighbour_ports()}

    def choice(other: int) -> tuple[ToGroup, ...]:
        block = GroupRole.CHOICE_NEAR if other in adjacent else GroupRole.CHOICE_FAR
        return (ToGroup(group_number(block, view.first_ports[other])),)

    return [
        Rule(Table.SOURCE, PRIORITY_ROUTER, view.matches[other], choice(other)) for other in view.others()
    ]


def _far_path(port: int) -> CandidatePath:
    """Returns the way by a port to destinations that are not adjacent."""
    return CandidatePath(Bucket((ToGroup(group_number(GroupRole.ONWARD_FAR, port)),)), port)


def _near_path(detour: NearDetour, port: int) -> CandidatePath:
    """Returns the way that takes a detour to an adjacent router by the port of its first hop."""
    if detour.intermediate is None:
        return _far_path(port)
    return CandidatePath(
        Bucket((*push_tag(detour.intermediate), ToGroup(group_number(GroupRole.TAGGED, port)))), port
    )
