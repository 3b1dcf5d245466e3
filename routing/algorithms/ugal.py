"""UGAL (`ugal`): the minimal path against a random general Valiant path, by occupancy times hops.

The source compares the minimal path with a path by way of a random router, each by the occupancy of its
first port times its hops, and takes the lesser. As a share of buckets: samples that win against the minimal
path take buckets from it, and detours that have come to lose give theirs back. A threshold in favour of the
minimal path keeps the noise of almost empty queues from choosing; it is also the hysteresis.

The groups are one per distance and way onward, because all destinations behind the same ports share their
occupancy and those at one distance the hops.

Source: A. Singh, "Load-Balanced Routing in Interconnection Networks" (PhD thesis, Stanford, 2005), chapter
on UGAL; compared with in PolarFly (SC22), section VIII.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from routing.algorithms.bucket_control import (
    BUCKETS,
    AdaptiveGroup,
    Change,
    Law,
    PortOccupancies,
    returned_at_once,
)
from routing.compiler import SourceTable, compile_plan, detour_bucket
from routing.plan.groups import GroupRole, RouterView, group_number
from routing.plan.model import Bucket, Group, GroupKind, RoutePlan, Rule, Table, ToGroup
from routing.plan.tables import PRIORITY_ROUTER
from routing.reroute.base import FastReroute
from topology.base import Topology

NAME = "ugal"
MAX_INTERMEDIATES = 64

# How much more occupancy times hops the minimal path may have and still be taken.
THRESHOLD = 1 / 2
# Of its minimal buckets, how many a group tries to replace in a step.
SHARE_SAMPLED = 1 / 4


def ugal_plan(topology: Topology, concentration: int) -> RoutePlan:
    """Returns the plan whose groups begin minimal and may be pointed at detours by way of any router.

    A group has at most 64 intermediates, evenly chosen of those whose way neither begins by the minimal port
    nor comes back through the source. Arguments and errors as `compile_plan`.
    """
    diameter = topology.diameter
    everyone = np.arange(topology.routers)
    distances = topology.distances(everyone[:, None], everyone[None, :])

    def bound(pair_distances: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
        return np.where(pair_distances == 0, 0, 2 * diameter).astype(np.int16)

    def source_part(view: RouterView, reroute: FastReroute) -> SourceTable:
        members: dict[tuple[int, int], list[int]] = {}
        for other in view.others():
            key = (int(distances[view.router, other]), reroute.untagged.toward[other])
            members.setdefault(key, []).append(other)
        rules, groups = [], []
        for index, destinations in enumerate(members.values()):
            number = group_number(GroupRole.CHOICE_BY_DISTANCE, index)
            groups.append(_group(view, reroute, distances, number, destinations))
            rules += [
                Rule(Table.SOURCE, PRIORITY_ROUTER, view.matches[other], (ToGroup(number),))
                for other in destinations
            ]
        return SourceTable(tuple(rules), tuple(groups))

    return compile_plan(topology, concentration, NAME, bound, source_part)


def _group(
    view: RouterView,
    reroute: FastReroute,
    distances: npt.NDArray[np.int16],
    number: int,
    destinations: list[int],
) -> Group:
    ports = view.minimal_ports[destinations[0]]
    away, onward = distances[view.router], distances[:, destinations]
    # The source lies on a shortest path from there: the way would come back.
    back = (away[:, None] + away[destinations][None, :] == onward).any(axis=1)
    candidates = [
        other
        for other in view.others()
        if not back[other] and set(ports).isdisjoint(view.minimal_ports[other])
    ]
    places = np.linspace(0, len(candidates) - 1, min(len(candidates), MAX_INTERMEDIATES)).round()
    chosen = [candidates[int(place)] for place in places]
    minimal = Bucket((ToGroup(reroute.untagged.toward[destinations[0]]),))
    if not chosen:
        return Group(number, GroupKind.INDIRECT, (minimal,))
    return Group(
        number,
        GroupKind.SELECT,
        (minimal,) * BUCKETS,
        candidates=(minimal, *(detour_bucket(reroute, intermediate) for intermediate in chosen)),
        hops=(float(away[destinations[0]]), *(float(away[r] + onward[r].mean()) for r in chosen)),
        ports=(ports, *(view.minimal_ports[intermediate] for intermediate in chosen)),
    )


def ugal_law(datapath_id: int) -> Law:
    """Returns a switch's law; its samples are the same in every run, and others than other switches'."""
    generator = np.random.default_rng(datapath_id)

    def law(group: AdaptiveGroup, ports: PortOccupancies) -> Change:
        costs = [ports.mean(p) * hops for p, hops in zip(group.ports, group.group.hops, strict=True)]
        worst = max(set(group.pointing) - {0}, key=lambda index: costs[index], default=0)
        if worst and costs[worst] >= costs[0]:
            for _ in range(returned_at_once(group)):
                group.move(max(set(group.pointing) - {0}, key=lambda index: costs[index]), 0)
            return Change.RETURNED
        samples = max(1, int(group.minimal_buckets * SHARE_SAMPLED))
        moved = 0
        for sample in generator.integers(1, len(costs), samples).tolist():
            if costs[sample] + THRESHOLD < costs[0]:
                moved += group.move(0, sample)
        return Change.DETOURED if moved else Change.NONE

    return law
