"""Choice groups of detours, two per port: the source table of compact Valiant and UGAL_PF.

One group serves the destinations behind the port's neighbour, the other one the neighbour itself. The detours
are those of the topology's family (`routing.families.DETOURS`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from routing.compiler import SourceTable, compile_plan, evenly_spaced
from routing.families import FamilyDetours, detours_of
from routing.plan.groups import GroupRole, RouterView, group_number, push_tag
from routing.plan.model import Bucket, Group, RoutePlan, ToGroup
from routing.reroute.base import FastReroute
from topology.base import Topology
from topology.families.low_diameter.polarfly_detours import NearDetour
from topology.parameters import Parameter

DETOURS = Parameter(
    name="detours",
    type=int,
    help="maximum number of detours of a group; of more candidates, it uses evenly spaced ones",
    least=1,
    most=256,
    default_text="all",
)


@dataclass(frozen=True, slots=True)
class CandidatePath:
    """A path that a choice group may take.

    Attributes:
        bucket: the bucket that sends packets on this path.
        ports: the port on which these packets leave while it is up, as a tuple of one.
    """

    bucket: Bucket
    ports: tuple[int]


# (group number, minimal path, detours) -> the choice group
GroupMaker = Callable[[int, CandidatePath, Sequence[CandidatePath]], Group]
# The detours to an adjacent router, one tuple for each first hop.
NearDetours = Iterable[tuple[NearDetour, ...]]
# Selects some of these detours.
NearSelection = Callable[[NearDetours], NearDetours]


def detour_plan(
    topology: Topology,
    hosts_per_router: int,
    name: str,
    make_group: GroupMaker,
    select_near: NearSelection,
    max_detours: int | None,
) -> RoutePlan:
    """Returns the plan of a routing whose select groups use the minimal path through a port, or detours.

    Args:
        topology: the fabric's graph; its family must have detours (`routing.families`), like polarfly.
        hosts_per_router: p, the number of hosts at each router that has any, 1 to 254.
        name: the routing's name, as on the command line.
        make_group: builds a port's select group from the minimal path through that port and its detours.
        select_near: selects the detours to an adjacent router that the routing uses.
        max_detours: the maximum number of detours of a group, at least 1; None for all.

    Raises:
        UsageError: the topology's family has no detours.
        ParameterError: there are more hosts or routers than addresses and tags.
    """
    detours = detours_of(topology, name)
    max_hops = np.array(detours.max_hops, np.int16)

    def bound(distances: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
        return max_hops[distances]

    source_table = partial(_source_table, detours, make_group, select_near, max_detours)
    return compile_plan(topology, hosts_per_router, name, bound, source_table)


def _source_table(
    detours: FamilyDetours,
    make_group: GroupMaker,
    select_near: NearSelection,
    max_detours: int | None,
    view: RouterView,
    _reroute: FastReroute,
) -> SourceTable:
    topology, router = view.topology, view.router
    groups = []
    port_to = dict(view.neighbour_ports())
    own = detours.of_router(topology, router)
    # Detours over one first hop serve many groups, so their paths are built once. A family may return the
    # same bundle for all neighbours or a new one each time; bundles are identified by identity and kept
    # alive.
    paths: dict[int, tuple[tuple[NearDetour, ...], tuple[CandidatePath, ...]]] = {}
    for neighbour, port in view.neighbour_ports():
        far = [_far_path(port_to[m]) for m in own.far(neighbour)]
        near: list[CandidatePath] = []
        for bundle in select_near(own.near(neighbour)):
            if id(bundle) not in paths:
                paths[id(bundle)] = bundle, tuple(_near_path(one, port_to[one.first_hop]) for one in bundle)
            near += paths[id(bundle)][1]
        if max_detours is not None:
            far, near = (evenly_spaced(ones, max_detours, router) for ones in (far, near))
        direct = CandidatePath(Bucket((ToGroup(group_number(GroupRole.ONWARD_NEAR, port)),)), (port,))
        groups.append(make_group(group_number(GroupRole.CHOICE_FAR, port), _far_path(port), far))
        groups.append(make_group(group_number(GroupRole.CHOICE_NEAR, port), direct, near))
    return SourceTable(groups=tuple(groups), choices=_choices(view))


def _choices(view: RouterView) -> tuple[int, ...]:
    """Returns, for each router, the number that names the choice group toward it; 0 for this router."""
    adjacent = {neighbour for neighbour, _ in view.neighbour_ports()}
    return tuple(
        group_number(GroupRole.CHOICE_NEAR if other in adjacent else GroupRole.CHOICE_FAR, port)
        if port
        else 0
        for other, port in enumerate(view.first_ports)
    )


@cache
def _far_path(port: int) -> CandidatePath:
    """Returns the path through a port to destinations that are not adjacent."""
    return CandidatePath(Bucket((ToGroup(group_number(GroupRole.ONWARD_FAR, port)),)), (port,))


@cache
def _tagged_path(intermediate: int, port: int) -> CandidatePath:
    group = group_number(GroupRole.TAGGED, port)
    return CandidatePath(Bucket((*push_tag(intermediate), ToGroup(group))), (port,))


def _near_path(detour: NearDetour, port: int) -> CandidatePath:
    """Returns the path of a detour to an adjacent router, through the port of its first hop."""
    return _far_path(port) if detour.intermediate is None else _tagged_path(detour.intermediate, port)
