"""Compact Valiant routing (`compact-valiant`): every packet takes a detour through a random neighbour.

Source: PolarFly (SC22), section V-B.
"""

from __future__ import annotations

from collections.abc import Sequence

from routing.algorithms.detour_groups import DETOURS, CandidatePath, NearDetours, detour_plan
from routing.plan.model import Group, GroupKind, RoutePlan
from topology.base import Topology

NAME = "compact-valiant"


PLAN_PARAMETERS = (DETOURS,)


def compact_valiant_plan(topology: Topology, concentration: int, *, detours: int | None) -> RoutePlan:
    """Returns the plan in which every packet takes a detour by way of a neighbour.

    Detours to a router two hops away take three hops; to an adjacent router two, or four with a tag.

    Args:
        topology: the fabric's graph; its family must have detours, as polarfly has (`routing.families`).
        concentration: p, the number of hosts at each router that has any, 1 to 254.
        detours: the most detours that a group chooses among, at least 1; None for all.

    Raises:
        UsageError: the topology's family has no detours.
        ParameterError: more hosts or routers than addresses and tags can tell apart.
    """
    return detour_plan(topology, concentration, NAME, _group, _one_per_first_hop, detours)


def _group(number: int, _minimal: CandidatePath, detours: Sequence[CandidatePath]) -> Group:
    return Group(number, GroupKind.SELECT, tuple(path.bucket for path in detours))


def _one_per_first_hop(bundles: NearDetours) -> NearDetours:
    """Returns one detour per first hop; those with several intermediates take different ones in turn."""
    return [(bundle[index % len(bundle)],) for index, bundle in enumerate(bundles)]
