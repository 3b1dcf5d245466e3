"""UGAL (`ugal`): the minimal path or a random general Valiant path, by occupancy times hops.

The source compares the minimal path with a path through a random intermediate router, each by the occupancy
of its first port times its hops, and takes the lesser. In terms of buckets: sampled detours that win
against the minimal path take buckets from it, and detours that have come to lose give theirs back. A
threshold in favour of the minimal path keeps the noise of almost empty queues from choosing; it is also the
hysteresis.

A group serves the destinations at one distance behind the same ports: they share the ports' occupancy and the
hops of the minimal path.

Source: A. Singh, "Load-Balanced Routing in Interconnection Networks" (PhD thesis, Stanford, 2005), chapter on
UGAL; compared with in PolarFly (SC22), section VIII.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from routing.algorithms.bucket_control import (
    BUCKETS,
    AdaptiveGroup,
    Change,
    Law,
    PortOccupancies,
    max_returned,
)
from routing.compiler import SourceTable, compile_plan, detour_bucket
from routing.plan.groups import GroupRole, RouterView, group_number
from routing.plan.model import Bucket, Group, GroupKind, RoutePlan, Rule, Table, ToGroup
from routing.plan.tables import PRIORITY_ROUTER
from routing.reroute.base import FastReroute
from topology.base import Topology

NAME = "ugal"
MAX_INTERMEDIATES = 64

# The minimal path is taken while its occupancy times hops exceeds the detour's by less than this.
THRESHOLD = 1 / 2
# The share of its minimal buckets that a group tries to replace in a step.
SHARE_SAMPLED = 1 / 4

Distances = npt.NDArray[np.int16]


def ugal_plan(topology: Topology, concentration: int) -> RoutePlan:
    """Returns the plan whose groups begin minimal and have Valiant detours as candidates.

    A group has at most 64 intermediates, evenly spaced among those toward which no minimal path begins with
    the minimal port or leads back through the source.

    Args:
        topology: the fabric's graph, connected.
        concentration: p, the number of hosts at each router that has any, 1 to 254.

    Raises:
        ParameterError: more hosts or routers than addresses and tags can tell apart, or longer paths than the
            packets' TTL allows.
    """
    diameter = topology.diameter
    everyone = np.arange(topology.routers)
    distances = topology.distances(everyone[:, None], everyone[None, :])

    def bound(pair_distances: Distances) -> Distances:
        return np.where(pair_distances == 0, 0, 2 * diameter).astype(np.int16)

    return compile_plan(topology, concentration, NAME, bound, partial(_source_table, distances))


def _source_table(distances: Distances, view: RouterView, reroute: FastReroute) -> SourceTable:
    members: dict[tuple[int, int], list[int]] = {}
    for other in view.others():
        key = (int(distances[view.router, other]), reroute.untagged.group_toward[other])
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


def _group(
    view: RouterView,
    reroute: FastReroute,
    distances: Distances,
    number: int,
    destinations: list[int],
) -> Group:
    """Returns the group for destinations at one distance behind the same ports."""
    ports = view.minimal_ports[destinations[0]]
    minimal = Bucket((ToGroup(reroute.untagged.group_toward[destinations[0]]),))
    intermediates = _intermediates(view, distances, destinations)
    if not intermediates:
        return Group(number, GroupKind.INDIRECT, (minimal,))
    away, onward = distances[view.router], distances[:, destinations]
    return Group(
        number,
        GroupKind.SELECT,
        (minimal,) * BUCKETS,
        candidates=(minimal, *(detour_bucket(reroute, r) for r in intermediates)),
        hops=(float(away[destinations[0]]), *(float(away[r] + onward[r].mean()) for r in intermediates)),
        ports=(ports, *(view.minimal_ports[r] for r in intermediates)),
    )


def _intermediates(view: RouterView, distances: Distances, destinations: list[int]) -> list[int]:
    """Returns the intermediate routers of a group's detours."""
    ports = view.minimal_ports[destinations[0]]
    away, onward = distances[view.router], distances[:, destinations]
    # The source lies on a shortest path from such a router to a destination: the detour could come back.
    back = (away[:, None] + away[destinations][None, :] == onward).any(axis=1)
    suitable = [
        other
        for other in view.others()
        if not back[other] and set(ports).isdisjoint(view.minimal_ports[other])
    ]
    places = np.linspace(0, len(suitable) - 1, min(len(suitable), MAX_INTERMEDIATES)).round()
    return [suitable[int(place)] for place in places]


def make_ugal_law(datapath_id: int) -> Law:
    """Returns the control law of a switch.

    Args:
        datapath_id: the switch; it seeds the law's samples, which are the same in every run and differ
            between switches.
    """
    generator = np.random.default_rng(datapath_id)

    def law(group: AdaptiveGroup, ports: PortOccupancies) -> Change:
        costs = [ports.mean(p) * hops for p, hops in zip(group.ports, group.group.hops, strict=True)]
        worst = max(set(group.pointing) - {0}, key=lambda index: costs[index], default=0)
        if worst and costs[worst] >= costs[0]:
            for _ in range(max_returned(group)):
                group.move(max(set(group.pointing) - {0}, key=lambda index: costs[index]), 0)
            return Change.RETURNED
        samples = max(1, int(group.minimal_buckets * SHARE_SAMPLED))
        moved = 0
        for sample in generator.integers(1, len(costs), samples).tolist():
            if costs[sample] + THRESHOLD < costs[0]:
                moved += group.move(0, sample)
        return Change.DETOURED if moved else Change.NONE

    return law
