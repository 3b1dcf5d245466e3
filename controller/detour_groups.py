"""What compact Valiant and UGAL_PF share: two groups per port, made of the detours around it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from controller.assembly import RouterView, SourcePart, assemble, by_way_of, toward_port
from controller.pipeline import PRIORITY_ROUTER
from controller.plan import Bucket, Group, RoutePlan, Rule, Table, ToGroup
from controller.polarfly_detours import NearDetour, far_detours, near_detours
from topology.errors import UsageError
from topology.graph import Topology
from topology.polarfly import PolarFly

# Groups by the port of the minimal next hop: for the destinations behind it, and for itself.
FAR_GROUPS = 1 << 12
NEAR_GROUPS = 1 << 13

# (group number, port of the minimal next hop, buckets of the detours around it) -> the group
GroupMaker = Callable[[int, int, tuple[Bucket, ...]], Group]
NearChoice = Callable[[list[NearDetour]], list[NearDetour]]


def detour_plan(
    topology: Topology,
    hosts_per_router: int,
    name: str,
    make_group: GroupMaker,
    near_choice: NearChoice,
) -> RoutePlan:
    """Returns the plan of a routing that takes detours through groups per port.

    Args:
        topology: the fabric's graph.
        hosts_per_router: p, 1 to 254.
        name: the routing's name.
        make_group: makes each group from its detours.
        near_choice: which of the detours to an adjacent router are used.

    Raises:
        UsageError: the topology is no PolarFly, on whose geometry the detours rest.
        ParameterError: as `assemble`.
    """
    if not isinstance(topology, PolarFly):
        raise UsageError(f"{name} is a routing for polarfly, not for {topology.name}; try valiant")

    def source_part(view: RouterView) -> SourcePart:
        groups = []
        for neighbour in topology.neighbours(view.router).tolist():
            port = view.ports[neighbour]
            far = tuple(toward_port(view.ports[m]) for m in far_detours(topology, view.router, neighbour))
            chosen = near_choice(near_detours(topology, view.router, neighbour))
            near = tuple(_near_bucket(view, detour) for detour in chosen)
            groups.append(make_group(FAR_GROUPS + port, port, far))
            groups.append(make_group(NEAR_GROUPS + port, port, near))
        return SourcePart(tuple(_group_rules(view)), tuple(groups))

    return assemble(topology, hosts_per_router, name, _hop_bound, source_part, tagged=True)


def _hop_bound(distances: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Returns the most hops of a detour by the pair's distance: three at two, four at one."""
    return np.array([0, 4, 3], np.int8)[distances]


def _group_rules(view: RouterView) -> list[Rule]:
    """Returns table 1's rules: destinations behind a port go to its far group, the neighbour to its near."""
    adjacent = set(view.topology.neighbours(view.router).tolist())
    return [
        Rule(
            Table.SOURCE,
            PRIORITY_ROUTER,
            view.matches[other],
            (ToGroup((NEAR_GROUPS if other in adjacent else FAR_GROUPS) + view.ports[other]),),
        )
        for other in view.others()
    ]


def _near_bucket(view: RouterView, detour: NearDetour) -> Bucket:
    """Returns the bucket that takes a detour to an adjacent router."""
    if detour.tagged is None:
        return toward_port(view.ports[detour.first])
    return by_way_of(view, detour.tagged)
