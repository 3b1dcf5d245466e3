"""Compact Valiant routing (`compact-valiant`): every packet takes a detour through a random neighbour.

Source: PolarFly (SC22), section VII-B.
"""

from __future__ import annotations

from collections.abc import Sequence

from routing import families
from routing.algorithms.detour_groups import DETOURS, TRIANGLE, CandidatePath, NearDetours, detour_plan
from routing.algorithms.routing import Routing
from routing.plan.model import Group, GroupKind, RoutePlan
from topology.base import Topology

NAME = "compact-valiant"


def compact_valiant_plan(
    topology: Topology, hosts_per_router: int, *, detours: int | None, triangle: bool
) -> RoutePlan:
    """Returns the plan in which every packet takes a detour via a neighbour.

    A detour to a router at distance two takes three hops; to an adjacent router, two hops, or four with a
    tag.

    Args:
        topology: the fabric's graph; its family must have detours (`routing.families`), like polarfly.
        hosts_per_router: p, the number of hosts at each router that has any, 1 to 254.
        detours: the maximum number of detours of a group, at least 1; None for all.
        triangle: whether adjacent pairs have the detour of two hops.

    Raises:
        UsageError: the topology's family has no detours.
        ParameterError: there are more hosts or routers than addresses and tags.
    """
    return detour_plan(topology, hosts_per_router, NAME, _group, _one_per_first_hop, detours, triangle)


def _group(number: int, _minimal: CandidatePath, detours: Sequence[CandidatePath]) -> Group:
    return Group(number, GroupKind.SELECT, tuple(path.bucket for path in detours))


def _one_per_first_hop(bundles: NearDetours) -> NearDetours:
    """Selects one detour from each bundle, which contains all detours with the same first hop.

    From bundle i, this is the detour at index i modulo the length of the bundle.
    """
    return [(bundle[index % len(bundle)],) for index, bundle in enumerate(bundles)]


ROUTING = Routing(
    compact_valiant_plan,
    "via a random neighbour (polarfly)",
    "PolarFly, section VII-B",
    plan_parameters=(DETOURS, TRIANGLE),
    families=tuple(families.DETOURS),
)
