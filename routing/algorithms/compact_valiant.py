"""Compact Valiant routing (`compact-valiant`): every packet takes a detour by way of a random neighbour.

Source: PolarFly (SC22), section V-B.
"""

from __future__ import annotations

from routing.algorithms.detour_groups import CandidatePath, detour_plan
from routing.plan.model import Group, GroupKind, RoutePlan
from topology.base import Topology
from topology.families.polarfly_detours import NearDetour

NAME = "compact-valiant"


def compact_valiant_plan(topology: Topology, concentration: int) -> RoutePlan:
    """Returns the plan in which packets take three hops, or two or four to adjacent routers.

    Arguments and errors as `detour_plan`.
    """
    return detour_plan(topology, concentration, NAME, _group, _one_per_first_hop)


def _group(number: int, _minimal: CandidatePath, detours: list[CandidatePath]) -> Group:
    return Group(number, GroupKind.SELECT, tuple(path.bucket for path in detours))


def _one_per_first_hop(detours: list[NearDetour]) -> list[NearDetour]:
    """Returns one detour per first hop, each with another of its intermediates where it has several."""
    by_first: dict[int, list[NearDetour]] = {}
    for detour in detours:
        by_first.setdefault(detour.first_hop, []).append(detour)
    return [choices[index % len(choices)] for index, choices in enumerate(by_first.values())]
