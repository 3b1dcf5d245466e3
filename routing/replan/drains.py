"""Plans while components are drained: no detour leads over them, and no transit packets cross them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from routing.plan.groups import tags_pushed_by
from routing.plan.model import (
    Actions,
    Bucket,
    Group,
    GroupKind,
    Match,
    Output,
    RoutePlan,
    Rule,
    SwitchPlan,
    Table,
    ToGroup,
)
from routing.plan.tables import to_router
from topology.drains import Drain

Pairs = set[tuple[int, int]]  # source and destination routers


def without_drained_detours(plan: RoutePlan, drain: Drain) -> tuple[RoutePlan, Pairs]:
    """Returns a plan without detours that start on a drained link or lead to a drained switch.

    Groups keep their minimal paths; where such a path is drained, the rules for its destinations change.

    Args:
        plan: the plan, with the groups of the whole fabric.
        drain: the drained links and switches.

    Returns:
        The plan, with the same group numbers, and the pairs whose groups have no path left.
    """
    switches = list(plan.switches)
    pairs: Pairs = set()
    for switch in plan.switches:
        ports = drain.ports(plan.topology, switch.router)
        groups, exhausted = _Filter(switch, ports, drain.routers - {switch.router}).groups()
        if groups:
            kept = tuple(groups.get(group.number, group) for group in switch.groups)
            switches[switch.router] = replace(switch, groups=kept)
        if exhausted:
            pairs |= _served(plan, switch, exhausted)
    return replace(plan, switches=tuple(switches)), pairs


@dataclass(frozen=True)
class _Filter:
    """Removes drained detours from one switch's choice groups (groups that rules of table SOURCE name).

    Attributes:
        switch: the plan of the switch.
        ports: its drained ports.
        routers: the drained routers other than its own.
    """

    switch: SwitchPlan
    ports: Collection[int]
    routers: Collection[int]

    def groups(self) -> tuple[dict[int, Group], set[int]]:
        """Returns the changed groups by number, and the numbers of groups without any path left."""
        by_number = {group.number: group for group in self.switch.groups}
        changed: dict[int, Group] = {}
        exhausted: set[int] = set()
        for number in sorted(_choice_groups(self.switch)):
            group = by_number[number]
            different = {id(b): b for b in group.candidates or group.buckets}  # most buckets are one object
            bad = {key for key, bucket in different.items() if self._drained(bucket, by_number)}
            if group.candidates:
                reduced = _without_candidates(group, bad)
            else:
                reduced = replace(group, buckets=tuple(b for b in group.buckets if id(b) not in bad))
            if not reduced.buckets:
                exhausted.add(number)
            elif reduced != group:
                changed[number] = reduced
        return changed, exhausted

    def _drained(self, bucket: Bucket, by_number: dict[int, Group]) -> bool:
        """Returns whether a bucket's path starts on a drained link or leads to a drained router."""
        if any(router in self.routers for router in tags_pushed_by(bucket.actions)):
            return True
        return not self._first_ports(bucket, by_number).isdisjoint(self.ports)

    def _first_ports(self, bucket: Bucket, by_number: dict[int, Group]) -> set[int]:
        """Returns the ports on which a bucket's packets leave while all ports are up."""
        ports: set[int] = set()
        for action in bucket.actions:
            if isinstance(action, Output):
                ports.add(action.port)
            elif isinstance(action, ToGroup):
                group = by_number[action.group]
                preferred = group.buckets if group.kind is GroupKind.SELECT else group.buckets[:1]
                for inner in preferred:
                    ports |= self._first_ports(inner, by_number)
        return ports


def _without_candidates(group: Group, bad: Collection[int]) -> Group:
    """Returns an adaptive group without the candidates whose object ids are in `bad`.

    The minimal candidate always stays; if it is the only one left, the group is no longer adaptive.
    """
    kept = [index for index, one in enumerate(group.candidates) if not index or id(one) not in bad]
    if len(kept) == len(group.candidates):
        return group
    if len(kept) == 1:
        return replace(group, candidates=(), hops=(), ports=(), far_ports=())
    return replace(
        group,
        candidates=tuple(group.candidates[index] for index in kept),
        hops=tuple(group.hops[index] for index in kept) if group.hops else (),
        ports=tuple(group.ports[index] for index in kept),
        far_ports=tuple(group.far_ports[index] for index in kept) if group.far_ports else (),
    )


def _choice_groups(switch: SwitchPlan) -> dict[int, set[Match]]:
    """Returns, by group number, the matches of the rules of table SOURCE that pass packets to the group."""
    matches: dict[int, set[Match]] = {}
    for rule in switch.rules:
        for action in rule.actions if rule.table is Table.SOURCE else ():
            if isinstance(action, ToGroup):
                matches.setdefault(action.group, set()).add(rule.match)
    return matches


def _served(plan: RoutePlan, switch: SwitchPlan, groups: Collection[int]) -> Pairs:
    """Returns the (source, destination) routers whose packets use the given groups of the source's switch."""
    by_group = _choice_groups(switch)
    matches = set[Match]().union(*(by_group[number] for number in groups))
    others = (other for other in range(plan.topology.routers) if other != switch.router)
    return {(switch.router, other) for other in others if to_router(plan.topology, other) in matches}


def without_transit(plan: RoutePlan, drain: Drain) -> RoutePlan:
    """Returns a plan that drops packets in transit over drained components.

    It serves to prove that another plan sends no packets in transit over these components.

    A packet of the plan crosses a drained component if and only if the returned plan does not deliver it. So
    a proof of the returned plan proves both: the plan delivers, and drained components carry no transit
    traffic.

    Args:
        plan: a plan that delivers.
        drain: the drained links and switches.

    Returns:
        The plan without output to drained links, in which drained switches accept from other switches only
        packets to their own hosts.
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
