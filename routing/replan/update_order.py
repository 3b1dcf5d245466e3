"""From one plan to another while packets pass: which rules change, and in what order.

For one destination, the new routes form a tree toward it. Rules are changed nearest to the destination first,
round by round: a packet that meets a changed switch goes on over changed switches only, each nearer to
the destination than the last; one that has not met any follows the old tree. So no packet goes in a circle
in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from routing.plan.model import Group, Match, RoutePlan, Rule, match
from routing.plan.tables import tag_of, to_router
from routing.replan.surviving_graph import surviving_graph
from topology.failures import Failure


@dataclass(frozen=True, slots=True)
class Removal:
    """A rule that is to be no more."""

    rule: Rule


# Router -> what is to be changed there.
UpdateRound = dict[int, list[Rule | Group | Removal]]


def update_rounds(before: RoutePlan, after: RoutePlan, failure: Failure) -> list[UpdateRound]:
    """Returns what leads from one plan to another, round by round; groups come first.

    Args:
        before: what the switches hold.
        after: what they are to hold; it has rules for the same packets.
        failure: for which `after` was made.
    """
    distances = surviving_graph(after.topology, failure).distances
    destinations = _destinations(after)
    rounds: dict[int, UpdateRound] = {}
    for old, new in zip(before.switches, after.switches, strict=True):
        if old is new:
            continue
        held_groups = {group.number: group for group in old.groups}
        for group in new.groups:
            if held_groups.get(group.number) != group:
                rounds.setdefault(-1, {}).setdefault(new.router, []).append(group)
        held = {(rule.table, rule.priority, rule.match): rule for rule in old.rules}
        for rule in new.rules:
            if held.get((rule.table, rule.priority, rule.match)) != rule:
                number = _round(distances, destinations, new.router, rule.match)
                rounds.setdefault(number, {}).setdefault(new.router, []).append(rule)
        kept = {(rule.table, rule.priority, rule.match) for rule in new.rules}
        for key, rule in held.items():
            if key not in kept:
                number = _round(distances, destinations, new.router, rule.match)
                rounds.setdefault(number, {}).setdefault(new.router, []).append(Removal(rule))
    return [rounds[number] for number in sorted(rounds)]


def _destinations(plan: RoutePlan) -> Mapping[Match, int]:
    """Returns which router each match of a destination or a tag is about."""
    topology = plan.topology
    found: dict[Match, int] = {}
    for router in range(topology.routers):
        found[to_router(topology, router)] = router
        found[match(vlan_vid=tag_of(router))] = router
    return found


def _round(
    distances: npt.NDArray[np.float32], destinations: Mapping[Match, int], router: int, what: Match
) -> int:
    destination = destinations.get(what)
    if destination is None or not np.isfinite(distances[router, destination]):
        return len(distances)  # last: nobody's way depends on it
    return int(distances[router, destination])
