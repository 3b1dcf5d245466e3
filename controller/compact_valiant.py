"""Compact Valiant routing (`compact-valiant`): every packet takes a detour by way of a random neighbour.

Source: PolarFly (SC22), section V-B.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from controller.assembly import RouterView, SourcePart, assemble, by_way_of, toward_port
from controller.pipeline import PRIORITY_ROUTER
from controller.plan import Bucket, Group, GroupKind, RoutePlan, Rule, Table, ToGroup
from controller.polarfly_detours import NearDetour, far_detours, near_detours
from topology.errors import UsageError
from topology.graph import Topology
from topology.polarfly import PolarFly

NAME = "compact-valiant"
# Groups by the port of the minimal next hop: for the destinations behind it, and for itself.
FAR_GROUPS = 1 << 12
NEAR_GROUPS = 1 << 13


def compact_valiant_plan(topology: Topology, hosts_per_router: int) -> RoutePlan:
    """Returns the plan in which packets take three hops, or two or four to adjacent routers.

    Arguments and errors as `assemble`.

    Raises:
        UsageError: the topology is no PolarFly, on whose geometry the detours rest.
    """
    if not isinstance(topology, PolarFly):
        raise UsageError(f"{NAME} is a routing for polarfly, not for {topology.name}; try valiant")
    return assemble(topology, hosts_per_router, NAME, hop_bound, _detours, tagged=True)


def hop_bound(distances: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Returns the most hops of a detour by the pair's distance: three at two, four at one."""
    return np.array([0, 4, 3], np.int8)[distances]


def _detours(view: RouterView) -> SourcePart:
    graph = view.topology
    assert isinstance(graph, PolarFly)
    groups = []
    for neighbour in graph.neighbours(view.router).tolist():
        port = view.port_to_neighbour(neighbour)
        far = [toward_port(view.ports[m]) for m in far_detours(graph, view.router, neighbour)]
        near = _spread(view, near_detours(graph, view.router, neighbour))
        groups.append(Group(FAR_GROUPS + port, GroupKind.SELECT, tuple(far)))
        groups.append(Group(NEAR_GROUPS + port, GroupKind.SELECT, near))
    return SourcePart(tuple(group_rules(view)), tuple(groups))


def group_rules(view: RouterView) -> list[Rule]:
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


def _spread(view: RouterView, detours: list[NearDetour]) -> tuple[Bucket, ...]:
    """Returns one bucket per first hop, each with another of its intermediates where it has several."""
    by_first: dict[int, list[NearDetour]] = {}
    for detour in detours:
        by_first.setdefault(detour.first, []).append(detour)
    return tuple(
        near_bucket(view, choices[index % len(choices)]) for index, choices in enumerate(by_first.values())
    )


def near_bucket(view: RouterView, detour: NearDetour) -> Bucket:
    """Returns the bucket that takes a detour to an adjacent router."""
    if detour.tagged is None:
        return toward_port(view.ports[detour.first])
    return by_way_of(view, detour.tagged)
