"""From the plan of a whole fabric to that for what failures leave of it: some rules change, no group does."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from routing.plan.forwarding import forwarding_rule, tag_rule
from routing.plan.groups import GroupRole, group_number
from routing.plan.model import (
    Actions,
    Group,
    GroupKind,
    Match,
    Output,
    RoutePlan,
    Rule,
    SetField,
    SwitchPlan,
    Table,
    ToGroup,
)
from routing.plan.tables import PRIORITY_UNDETOURED, TO_ANY_HOST, to_router
from routing.replan.surviving_graph import SurvivingGraph, surviving_graph
from routing.verification.verifier import prove
from topology.addressing import INITIAL_TTL
from topology.errors import NegativeResult
from topology.failures import Failure

Mask = npt.NDArray[np.bool_]


def surviving_plan(whole: RoutePlan, failure: Failure, *, toward: Collection[int] | None = None) -> RoutePlan:
    """Returns a plan that was proven to deliver whatever can be delivered in what a failure leaves.

    Packets of pairs whose minimal route has changed, or whose detours lead into something broken, go
    minimally for the time being.

    Args:
        whole: the plan while nothing is broken.
        failure: everything that is broken.
        toward: it is only about packets to these routers, and proven for no others.

    Raises:
        NegativeResult: the plan fails its proof, or its routes are longer than packets live.
    """
    if not failure.any_failed:
        return whole
    plan, displaced = _rerouted(whole, surviving_graph(whole.topology, failure))
    plan = _without_detours(plan, np.argwhere(displaced).tolist())
    proof = prove(plan, [failure], every_host=False, toward=toward)
    if proof.undelivered:
        plan = _without_detours(plan, sorted(proof.undelivered))
        proof = prove(plan, [failure], every_host=False, toward=toward)
    if proof.undelivered:
        raise NegativeResult(f"the plan without {failure.name} fails its proof: {proof.faults[0]}")
    if proof.max_hops >= INITIAL_TTL:
        raise NegativeResult(
            f"without {failure.name} some packets have to take {proof.max_hops} hops, and they live for "
            f"{INITIAL_TTL - 1}"
        )
    return plan


def _rerouted(whole: RoutePlan, left: SurvivingGraph) -> tuple[RoutePlan, Mask]:
    """Returns a plan whose minimal routes are those that are left, and which pairs' routes have changed.

    Rules whose group still sends by shortest paths stay. The others get another group of their switch
    that does, best one that knows more than one way, or else the group of a port.

    Returns:
        The plan, and bool, routers x routers: row s, column d.
    """
    topology = whole.topology
    everyone = np.arange(topology.routers)
    before = topology.distances(everyone[:, None], everyone)
    displaced = np.isfinite(left.distances) & (left.distances != before)
    marks = any(rule.table is Table.MARKED for rule in whole.switches[0].rules)
    switches = list(whole.switches)
    for switch in whole.switches:
        router = switch.router
        shortest = left.shortest(router)
        away = np.isfinite(left.distances[router]) & (everyone != router)
        sends = _Sends(switch, left.failure.failed_ports(router), shortest, away)
        first = topology.ports_toward(router, topology.next_hops(router, everyone))
        first[router] = 1
        port_changed = away & ~shortest[first - 1, everyone]
        rules: list[Rule] = []
        onward, tagged = sends.groups(switch.untagged_groups), sends.groups(switch.tagged_groups)
        changed = (onward != switch.untagged_groups) | port_changed
        for other in np.flatnonzero(changed).tolist():
            port = int(shortest[:, other].argmax()) + 1 if port_changed[other] else int(first[other])
            destination = to_router(topology, other)
            rules.append(forwarding_rule(Table.MINIMAL, destination, int(onward[other])))
            if marks:
                rules.append(forwarding_rule(Table.MARKED, destination, group_number(GroupRole.PORT, port)))
        for other in np.flatnonzero(tagged != switch.tagged_groups).tolist():
            rules.append(tag_rule(other, int(tagged[other])))
        displaced[router] |= changed
        if rules:
            with_rules = _with_rules(switch, rules)
            switches[router] = replace(
                with_rules, untagged_groups=tuple(onward.tolist()), tagged_groups=tuple(tagged.tolist())
            )
    return replace(whole, switches=tuple(switches)), displaced


class _Sends:
    """By which ports the groups of a switch send while some are dead, and to whom that is shortest."""

    def __init__(self, switch: SwitchPlan, dead: frozenset[int], shortest: Mask, away: Mask) -> None:
        """Takes which ports begin shortest paths to which routers, and which routers can be reached."""
        self._groups = {group.number: group for group in switch.groups}
        self._dead = dead
        self._shortest = shortest
        self._away = away

    def groups(self, numbers: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """Returns the group to use toward each router, given the one in use; 0 is none and stays."""
        chosen = np.array(numbers, np.int64)
        if not any(numbers):
            return chosen
        known = sorted(set(numbers) - {0})
        ports = {number: self._ports(self._groups[number]) for number in known}
        works = np.array([self._all_shortest(ports[number]) for number in known])
        place = np.minimum(np.searchsorted(known, chosen), len(known) - 1)
        fails = self._away & (chosen > 0) & ~works[place, np.arange(len(chosen))]
        for other in np.flatnonzero(fails).tolist():
            possible = [number for index, number in enumerate(known) if works[index, other]]
            port = int(self._shortest[:, other].argmax()) + 1
            chosen[other] = max(
                possible,
                key=lambda number: (len(ports[number]), -number),
                default=group_number(GroupRole.PORT, port),
            )
        return chosen

    def _all_shortest(self, ports: frozenset[int]) -> Mask:
        if not ports:
            return np.zeros(self._shortest.shape[1], bool)
        return np.asarray(self._shortest[[port - 1 for port in ports]].all(axis=0))

    def _ports(self, group: Group) -> frozenset[int]:
        """Returns by which ports a group sends now; none where it marks or tags what it sends around."""
        alive = [b for b in group.buckets if b.watch_port is None or b.watch_port not in self._dead]
        chosen = alive if group.kind is GroupKind.SELECT else alive[:1]
        found = [self._ports_of(bucket.actions) for bucket in chosen]
        return frozenset().union(*found) if all(found) else frozenset()

    def _ports_of(self, actions: Actions) -> frozenset[int]:
        if any(isinstance(action, SetField) for action in actions):
            return frozenset()
        found: frozenset[int] = frozenset()
        for action in actions:
            if isinstance(action, Output):
                found |= {action.port}
            elif isinstance(action, ToGroup):
                found |= self._ports(self._groups[action.group])
        return found


def _without_detours(plan: RoutePlan, pairs: Iterable[list[int] | tuple[int, int]]) -> RoutePlan:
    """Returns a plan in which the packets of some (source, destination) routers go minimally."""
    destinations: dict[int, set[Match]] = {}
    for source, destination in pairs:
        destinations.setdefault(source, set()).add(to_router(plan.topology, destination))
    switches = list(plan.switches)
    for router, chosen in destinations.items():
        minimally = [
            Rule(rule.table, rule.priority, rule.match, goto=Table.MINIMAL)
            for rule in switches[router].rules
            if rule.table is Table.SOURCE and rule.match in chosen
        ]
        # A routing may have one rule for all destinations: then these get their own, before it.
        own = chosen - {rule.match for rule in minimally}
        if any(rule.table is Table.SOURCE and _detours(rule) for rule in switches[router].rules):
            ordered = sorted(own, key=repr)
            minimally += [Rule(Table.SOURCE, PRIORITY_UNDETOURED, m, goto=Table.MINIMAL) for m in ordered]
        switches[router] = _with_rules(switches[router], minimally)
    return replace(plan, switches=tuple(switches))


def _detours(rule: Rule) -> bool:
    """Returns whether a source's rule is for several routers and sends by a group."""
    return rule.match == TO_ANY_HOST and any(isinstance(action, ToGroup) for action in rule.actions)


def _with_rules(switch: SwitchPlan, rules: Iterable[Rule]) -> SwitchPlan:
    """Returns a switch's plan with some rules, in place of those with the same table, priority and match."""
    new = {(rule.table, rule.priority, rule.match): rule for rule in rules}
    kept = [new.pop((rule.table, rule.priority, rule.match), rule) for rule in switch.rules]
    return replace(switch, rules=(*kept, *new.values()))
