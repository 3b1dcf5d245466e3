"""The order of updates from one plan to another while traffic flows, such that no packet loops in between.

For one destination, the new paths form a tree toward it. Rules are changed nearest to the destination first,
round by round. A packet that meets a changed switch continues over changed switches only, each nearer to the
destination than the last; a packet that has met none follows the old tree. So no packet loops.

Groups come first. New groups are not in use yet; existing groups that change are choices of paths at packets'
sources, and each choice delivers under both trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from routing.plan.model import Group, Match, RoutePlan, Rule, SwitchPlan, match
from routing.plan.tables import tag_of, to_router
from routing.replan.surviving_graph import surviving_graph
from topology.drains import NO_DRAIN, Drain
from topology.failures import Failure


@dataclass(frozen=True, slots=True)
class Removal:
    """The removal of a rule, as one change of a switch."""

    rule: Rule


Change = Rule | Group | Removal

# Router -> the changes of its switch. A rule replaces the one with equal table, priority and match; a group
# replaces the one with the same number.
UpdateRound = dict[int, list[Change]]

_GROUPS_FIRST, _LAST = -1, 1 << 30


def update_rounds(
    before: RoutePlan, after: RoutePlan, failure: Failure, drain: Drain = NO_DRAIN
) -> list[UpdateRound]:
    """Returns the changes that lead from one plan to another, in rounds.

    Args:
        before: the plan that the switches have installed.
        after: the plan to install.
        failure: the failure that `after` is for; its surviving graph defines the distances.
        drain: the drain that `after` is for.

    Returns:
        Rounds in order: groups; rules for destinations at distance 1, 2, ...; rules that do not have exactly
        one destination router, or whose destination is unreachable. A round may start once all switches have
        installed the one before. Groups that are not in `after` stay in their switches, unused.
    """
    distances = surviving_graph(after.topology, failure, drain).distances
    destinations = _destinations(after)
    rounds: dict[int, UpdateRound] = {}
    for old, new in zip(before.switches, after.switches, strict=True):
        if old is new:
            continue
        old_groups = {group.number: group for group in old.groups}
        for group in new.groups:
            if old_groups.get(group.number) != group:
                rounds.setdefault(_GROUPS_FIRST, {}).setdefault(new.router, []).append(group)
        for rule_match, change in _rule_changes(old, new):
            number = _round(distances, destinations, new.router, rule_match)
            rounds.setdefault(number, {}).setdefault(new.router, []).append(change)
    return [rounds[number] for number in sorted(rounds)]


def _rule_changes(old: SwitchPlan, new: SwitchPlan) -> Iterator[tuple[Match, Rule | Removal]]:
    """Yields the changed and new rules of a switch, then the removals, each with the match of its rule."""
    old_rules = {(rule.table, rule.priority, rule.match): rule for rule in old.rules}
    new_rules = {(rule.table, rule.priority, rule.match): rule for rule in new.rules}
    for key, rule in new_rules.items():
        if old_rules.get(key) != rule:
            yield rule.match, rule
    for key, rule in old_rules.items():
        if key not in new_rules:
            yield rule.match, Removal(rule)


def _destinations(plan: RoutePlan) -> Mapping[Match, int]:
    """Returns match -> router, for the matches of destination addresses and of tags."""
    topology = plan.topology
    routers: dict[Match, int] = {}
    for router in range(topology.routers):
        routers[to_router(topology, router)] = router
        routers[match(vlan_vid=tag_of(router))] = router
    return routers


def _round(
    distances: npt.NDArray[np.float32], destinations: Mapping[Match, int], router: int, rule_match: Match
) -> int:
    """Returns the number of the round in which a router's rule with the given match is changed."""
    destination = destinations.get(rule_match)
    if destination is None or not np.isfinite(distances[router, destination]):
        return _LAST  # no path depends on this rule
    return int(distances[router, destination])
