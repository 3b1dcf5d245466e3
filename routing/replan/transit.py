"""Transit traffic: packets over a drained link, or over a drained switch from and to others' hosts."""

from __future__ import annotations

from dataclasses import replace

from routing.plan.model import Actions, Bucket, Output, RoutePlan, Rule, SwitchPlan, Table
from routing.plan.tables import to_router
from topology.drains import Drain


def without_transit(plan: RoutePlan, drain: Drain) -> RoutePlan:
    """Returns a plan that loses the packets in transit, for a proof that there are none.

    A packet of the plan is in transit if, and only if, the returned plan does not deliver it. So a proof of
    the returned plan proves both: the plan delivers, and drained elements carry no transit traffic.

    Args:
        plan: a plan that delivers.
        drain: the drained links and switches.

    Returns:
        The plan without output to drained links, and with drained switches that take from other switches
        nothing but packets to their own hosts.
    """
    switches = list(plan.switches)
    for router, ports in drain.link_ports.items():
        switches[router] = _without_output(switches[router], ports)
    for router in drain.routers:
        switches[router] = _with_own_packets_only(plan, switches[router])
    return replace(plan, switches=tuple(switches))


def _without_output(switch: SwitchPlan, ports: set[int]) -> SwitchPlan:
    def silent(actions: Actions) -> Actions:
        return tuple(a for a in actions if not isinstance(a, Output) or a.port not in ports)

    def all_silent(buckets: tuple[Bucket, ...]) -> tuple[Bucket, ...]:
        return tuple(replace(bucket, actions=silent(bucket.actions)) for bucket in buckets)

    groups = (
        replace(g, buckets=all_silent(g.buckets), candidates=all_silent(g.candidates)) for g in switch.groups
    )
    rules = (replace(rule, actions=silent(rule.actions)) for rule in switch.rules)
    return replace(switch, groups=tuple(groups), rules=tuple(rules))


def _with_own_packets_only(plan: RoutePlan, switch: SwitchPlan) -> SwitchPlan:
    own = to_router(plan.topology, switch.router)

    def narrowed(rule: Rule) -> Rule:
        from_fabric = rule.table is Table.INGRESS and rule.goto is Table.TRANSIT
        return replace(rule, match=rule.match + own) if from_fabric else rule

    return replace(switch, rules=tuple(map(narrowed, switch.rules)))
