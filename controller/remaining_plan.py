"""From the plan of a whole fabric to that for what failures leave of it: some rules change, no group does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from controller.assembly import onward_rules, tag_rule
from controller.failures import Failure
from controller.pipeline import tag_of, to_router
from controller.plan import Match, RoutePlan, Rule, SwitchPlan, Table, match
from controller.remaining_routes import displaced_routes, remaining_next_hops
from controller.router_view import Block, group_number
from controller.walk import prove


def remaining_plan(whole: RoutePlan, failure: Failure) -> RoutePlan:
    """Returns a plan that was proven to deliver whatever can be delivered in what a failure leaves.

    Packets of pairs whose minimal route has changed, or whose detours lead into something broken, go
    minimally for the time being.

    Args:
        whole: the plan while nothing is broken.
        failure: everything that is broken.

    Raises:
        RuntimeError: the plan fails its proof.
    """
    if not failure.breaks_something:
        return whole
    next_hops = remaining_next_hops(whole.topology, failure)
    plan = _rerouted(whole, next_hops)
    plan = _without_detours(plan, np.argwhere(displaced_routes(whole.topology, failure, next_hops)).tolist())
    proof = prove(plan, [failure], every_host=False)
    if proof.undelivered:
        plan = _without_detours(plan, sorted(proof.undelivered))
        proof = prove(plan, [failure], every_host=False)
    if proof.undelivered:
        raise RuntimeError(f"the plan without {failure.name} fails its proof: {proof.faults[0]}")
    return plan


def _rerouted(whole: RoutePlan, next_hops: npt.NDArray[np.int32]) -> RoutePlan:
    """Returns a plan with other minimal next hops (routers x routers)."""
    topology = whole.topology
    changed = next_hops != topology.all_next_hops()
    own_tag = match(vlan_vid=tag_of(0))
    marks = any(rule.table is Table.MARKED for rule in whole.switches[0].rules)
    tags = any(rule.match == own_tag for rule in whole.switches[0].rules)
    switches = list(whole.switches)
    for router in np.flatnonzero(changed.any(axis=1)).tolist():
        groups = {group.number for group in switches[router].groups}
        rules: list[Rule] = []
        for other in np.flatnonzero(changed[router]).tolist():
            port = int(topology.ports_toward(router, next_hops[router, other]))
            unrepaired = group_number(Block.PORT, port)
            onward, tagged = (
                number if (number := group_number(block, port)) in groups else unrepaired
                for block in (Block.ONWARD_FAR, Block.TAGGED)
            )
            rules += onward_rules(to_router(topology, other), onward, unrepaired if marks else None)
            if tags:
                rules.append(tag_rule(other, tagged))
        switches[router] = _with_rules(switches[router], rules)
    return replace(whole, switches=tuple(switches))


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
        switches[router] = _with_rules(switches[router], minimally)
    return replace(plan, switches=tuple(switches))


def _with_rules(switch: SwitchPlan, rules: Iterable[Rule]) -> SwitchPlan:
    """Returns a switch's plan with some rules, in place of those with the same table, priority and match."""
    new = {(rule.table, rule.priority, rule.match): rule for rule in rules}
    kept = [new.pop((rule.table, rule.priority, rule.match), rule) for rule in switch.rules]
    return replace(switch, rules=(*kept, *new.values()))
