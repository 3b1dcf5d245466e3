"""Choice groups of detours: the source table of compact Valiant and UGAL_PF.

On a family with closed-form detours (`routing.families.DETOURS`) there are two groups per port: one for the
destinations behind the port's neighbour, and one for the neighbour itself. On graphs whose detours are
searched (`routing.families.SEARCHED_DETOURS`), destinations with the same shortest first hops and the same
detours share a group, and tags name the routers that detours visit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from routing.compiler import SourceTable, compile_plan, detour_bucket, evenly_spaced
from routing.families import SEARCHED_DETOURS, FamilyDetours, detours_of
from routing.plan.groups import GroupRole, RouterView, group_number, push_tag
from routing.plan.model import Bucket, Group, GroupKind, RoutePlan, ToGroup
from routing.reroute.base import FastReroute
from topology.base import Topology
from topology.families.low_diameter.expanded_detours import ExpandedDetours
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
TRIANGLE = Parameter(
    name="triangle",
    type=bool,
    help="adjacent routers also have the detour of two hops over a common neighbour, besides those of four",
    default=True,
)


@dataclass(frozen=True, slots=True)
class CandidatePath:
    """A path that a choice group may take.

    Attributes:
        bucket: the bucket that sends packets on this path.
        ports: the ports on which these packets leave while all ports are up.
    """

    bucket: Bucket
    ports: tuple[int, ...]


# (group number, minimal path, detours) -> the choice group
GroupMaker = Callable[[int, CandidatePath, Sequence[CandidatePath]], Group]
# The detours to an adjacent router, one tuple for each first hop.
NearDetours = Iterable[tuple[Any, ...]]
# Selects some of these detours.
NearSelection = Callable[[NearDetours], NearDetours]


def detour_plan(
    topology: Topology,
    hosts_per_router: int,
    name: str,
    make_group: GroupMaker,
    select_near: NearSelection,
    max_detours: int | None,
    triangle: bool,
) -> RoutePlan:
    """Returns the plan of a routing with select groups over the minimal path and detours.

    Args:
        topology: the fabric's graph; it must have detours (`routing.families`), like polarfly.
        hosts_per_router: p, the number of hosts at each router that has any, 1 to 254.
        name: the routing's name, as on the command line.
        make_group: builds a select group from a minimal path and its detours.
        select_near: selects the detours to an adjacent router that the routing uses.
        max_detours: the maximum number of detours of a group, at least 1; None for all.
        triangle: whether adjacent routers have the detour of two hops.

    Raises:
        UsageError: the topology's family has no detours.
        ParameterError: there are more hosts or routers than addresses and tags.
    """
    design = _Design(make_group, select_near, max_detours, triangle)
    if topology.geometry in SEARCHED_DETOURS:
        hops, source_table = SEARCHED_DETOURS[topology.geometry], partial(_searched_source_table, design)
    else:
        detours = detours_of(topology, name)
        hops, source_table = detours.max_hops, partial(_source_table, design, detours)
    max_hops = np.array(hops, np.int16)

    def bound(distances: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
        return max_hops[distances]

    return compile_plan(topology, hosts_per_router, name, bound, source_table)


@dataclass(frozen=True)
class _Design:
    """The arguments of `detour_plan` with the same names."""

    make_group: GroupMaker
    select_near: NearSelection
    max_detours: int | None
    triangle: bool

    def group(
        self, number: int, router: int, minimal: CandidatePath, detours: Sequence[CandidatePath]
    ) -> Group:
        """Returns the group over a minimal path of a router and as many of its detours as allowed."""
        if self.max_detours is not None:
            detours = evenly_spaced(detours, self.max_detours, router)
        if not detours:
            return Group(number, GroupKind.INDIRECT, (minimal.bucket,))
        return self.make_group(number, minimal, detours)


def _source_table(
    design: _Design, detours: FamilyDetours, view: RouterView, _reroute: FastReroute
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
        bundles = (b for b in own.near(neighbour) if design.triangle or b[0].intermediate is not None)
        for bundle in design.select_near(bundles):
            if id(bundle) not in paths:
                paths[id(bundle)] = bundle, tuple(_near_path(one, port_to[one.first_hop]) for one in bundle)
            near += paths[id(bundle)][1]
        direct = CandidatePath(Bucket((ToGroup(group_number(GroupRole.ONWARD_NEAR, port)),)), (port,))
        groups.append(design.group(group_number(GroupRole.CHOICE_FAR, port), router, _far_path(port), far))
        groups.append(design.group(group_number(GroupRole.CHOICE_NEAR, port), router, direct, near))
    return SourceTable(groups=tuple(groups), choices=_choices(view))


def _searched_source_table(design: _Design, view: RouterView, reroute: FastReroute) -> SourceTable:
    own = ExpandedDetours(view.topology, view.router)
    ports = view.minimal_ports
    path = cache(lambda router: CandidatePath(detour_bucket(reroute, router), ports[router]))
    adjacent = set(view.topology.neighbours(view.router).tolist())
    groups: list[Group] = []
    numbers: dict[tuple[int, ...], int] = {}
    choices = [0] * view.topology.routers
    for other in view.others():
        toward, first_hops = reroute.untagged.group_toward[other], own.first_hops(other)
        key = (toward, *first_hops, other) if other in adjacent else (toward, *first_hops)
        if key not in numbers:
            numbers[key] = group_number(GroupRole.CHOICE_BY_DISTANCE, len(numbers))
            minimal = CandidatePath(Bucket((ToGroup(toward),)), ports[other])
            detours = [path(one) for one in first_hops if design.triangle or other not in adjacent]
            if other in adjacent:
                beyond: dict[tuple[int, ...], tuple[CandidatePath, ...]] = {}
                for one in own.intermediates(other):
                    beyond[ports[one]] = (*beyond.get(ports[one], ()), path(one))
                bundles = ((one,) for one in detours)
                detours = [
                    one for bundle in design.select_near((*bundles, *beyond.values())) for one in bundle
                ]
            groups.append(design.group(numbers[key], view.router, minimal, detours))
        choices[other] = numbers[key]
    return SourceTable(groups=tuple(groups), choices=tuple(choices))


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
