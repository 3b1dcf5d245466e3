"""Scattered routing (`scatter`): a share of the flows goes to a random neighbour first."""

from __future__ import annotations

import itertools
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from polarlab.extend import (
    Bucket,
    FastReroute,
    Group,
    GroupKind,
    GroupRole,
    Parameter,
    RoutePlan,
    RouterView,
    Routing,
    SourceTable,
    ToGroup,
    Topology,
    compile_plan,
    detour_bucket,
    evenly_spaced,
    group_number,
)

_BUCKETS = 32  # of a group, among which a switch divides flows evenly
SHARE = Parameter(
    name="share", type=float, help="share of the flows that take a detour", least=0, most=1, default=0.25
)


class Role(IntEnum):
    """The groups of this routing."""

    TO_ROUTER = GroupRole.OWN  # one for each destination


def scatter_plan(topology: Topology, hosts_per_router: int, *, share: float) -> RoutePlan:
    """Returns the plan in which a packet takes at most two hops more than its pair's distance.

    Args:
        topology: the fabric's graph, connected.
        hosts_per_router: the number of hosts at each router that has any, 1 to 254.
        share: share of the flows that take a detour, 0 to 1.

    Raises:
        ParameterError: more hosts or routers than addresses and tags can tell apart.
    """
    detours = round(share * _BUCKETS)

    def bound(distances: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
        return np.where(distances == 0, 0, distances + 2).astype(np.int16)

    def source_table(view: RouterView, reroute: FastReroute) -> SourceTable:
        different = [*dict.fromkeys(topology.neighbours(view.router).tolist())]  # parallel links once
        neighbours = evenly_spaced(different, _BUCKETS, view.router)
        scattered = tuple(
            detour_bucket(reroute, one) for one in itertools.islice(itertools.cycle(neighbours), detours)
        )
        groups = [
            Group(
                group_number(Role.TO_ROUTER, other),
                GroupKind.SELECT,
                (Bucket((ToGroup(reroute.untagged.group_toward[other]),)),) * (_BUCKETS - detours)
                + scattered,
            )
            for other in view.others()
        ]
        choices = [
            0 if other == view.router else group_number(Role.TO_ROUTER, other)
            for other in range(topology.routers)
        ]
        return SourceTable(groups=tuple(groups), choices=tuple(choices))

    return compile_plan(topology, hosts_per_router, "scatter", bound, source_table)


ROUTING = Routing(
    scatter_plan, "a share by way of a random neighbour, any fabric", "-", plan_parameters=(SHARE,)
)
