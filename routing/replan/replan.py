"""Plans for the surviving graph: a few rules of the whole fabric's plan are changed.

Groups stay unchanged while components have failed, because switches detect dead ports. They do not detect
drained components, which still work. Therefore the plan for a drain removes drained detours from choice
groups and adds groups for the remaining minimal ports.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from routing.plan.forwarding import forwarding_rule, tag_rule
from routing.plan.groups import GroupRole, group_number, shared_group_number
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
from routing.replan.drains import without_drained_detours, without_transit
from routing.replan.surviving_graph import SurvivingGraph, surviving_graph
from routing.reroute.base import alternate_bucket
from routing.verification.proof import Proof
from routing.verification.verifier import Prover
from topology.addressing import INITIAL_TTL, switch_name
from topology.drains import NO_DRAIN, Drain
from topology.errors import NegativeResult
from topology.failures import Failure

Mask = npt.NDArray[np.bool_]
_MIXING = 2654435761  # for multiplicative hashing: 2^32 over the golden ratio (Knuth, TAOCP 3, section 6.4)


def surviving_plan(
    whole: RoutePlan,
    failure: Failure,
    drain: Drain = NO_DRAIN,
    *,
    new_groups: bool = True,
    toward: Collection[int] | None = None,
    provers: Provers | None = None,
) -> RoutePlan:
    """Returns a plan for the surviving graph, proven to deliver all pairs that the graph connects.

    Pairs whose minimal path has changed, or whose detours lead into the failure, use minimal paths only.
    Drained components carry transit traffic only for pairs that have no other path
    (`SurvivingGraph.crossing`); this is also proven.

    Args:
        whole: the plan without failures.
        failure: all failed links and routers.
        drain: the links and routers to avoid.
        new_groups: whether a drain may add groups, which stay in switches even if no later plan uses them.
        toward: the routers for which delivery is required and proven; None for all.
        provers: the provers to use; provers that have proven other plans of the fabric are faster.

    Returns:
        A plan with the groups of `whole`; for a drain, some have fewer choices and some are new. It is
        `whole` itself if nothing has failed or is drained.

    Raises:
        NegativeResult: the plan fails its proof, or a path is longer than the TTL allows.
    """
    if not failure.any_failed and not drain.any_drained:
        return whole
    graph = surviving_graph(whole.topology, failure, drain)
    plan, displaced = _with_minimal_paths(whole, graph, new_groups)
    pairs = {(source, destination) for source, destination in np.argwhere(displaced).tolist()}
    if drain.any_drained:
        plan, exhausted = without_drained_detours(plan, drain)
        pairs |= exhausted
    plan = _without_detours(plan, sorted(pairs))
    check = _Check(graph, provers or Provers(), toward)
    proof, transit = check.proof(plan), check.transit(plan)
    if proof.undelivered or transit:
        plan = _without_detours(plan, sorted(proof.undelivered | transit))
        proof, transit = check.proof(plan), check.transit(plan)
    if proof.undelivered:
        raise NegativeResult(f"the plan without {_outage(graph)} fails its proof: {proof.faults[0]}")
    if transit:
        pair = " to ".join(map(switch_name, min(transit)))
        raise NegativeResult(f"the plan sends packets from {pair} over {drain.name}, which is drained")
    if proof.max_hops >= INITIAL_TTL:
        raise NegativeResult(
            f"paths without {_outage(graph)} must have at most {INITIAL_TTL - 1} hops (the packets' TTL), "
            f"got {proof.max_hops}"
        )
    return plan


class Provers:
    """The provers of a fabric's plans.

    One proves delivery; the other one proves that no transit traffic crosses drained components.
    """

    def __init__(self, delivery: Prover | None = None) -> None:
        """Stores the prover that has proven the whole fabric's plan, if there is one."""
        self.delivery = delivery or Prover()
        self.transit = Prover()  # separate, because it proves modified switches


@dataclass(frozen=True)
class _Check:
    """Proves plans for one surviving graph."""

    graph: SurvivingGraph
    provers: Provers
    toward: Collection[int] | None

    def proof(self, plan: RoutePlan) -> Proof:
        """Returns the proof that a plan delivers."""
        return self.provers.delivery.prove(plan, [self.graph.failure], every_host=False, toward=self.toward)

    def transit(self, plan: RoutePlan) -> set[tuple[int, int]]:
        """Returns the pairs whose packets cross drained components although another path exists."""
        graph = self.graph
        if not graph.drain.any_drained:
            return set()
        narrowed = without_transit(plan, graph.drain)
        proof = self.provers.transit.prove(narrowed, [graph.failure], every_host=False, toward=self.toward)
        crossing = graph.crossing
        return {pair for pair in proof.undelivered if not crossing[pair]}


def _outage(graph: SurvivingGraph) -> str:
    """Returns the names of the failed and the drained components, for error messages."""
    names = [graph.failure.name] if graph.failure.any_failed else []
    return ", ".join([*names, *([graph.drain.name] if graph.drain.any_drained else [])])


def _with_minimal_paths(whole: RoutePlan, graph: SurvivingGraph, new_groups: bool) -> tuple[RoutePlan, Mask]:
    """Returns a plan whose untagged and tagged packets follow minimal paths of a surviving graph.

    A rule is kept if its group still sends on minimal paths only. Otherwise the rule uses another group of
    the switch that does so, preferably one with alternates. If the switch has no such group, the rule uses
    the group of a single port.

    Returns:
        The plan, and a bool array, routers x routers: whether the path of [source, destination] has changed.
    """
    topology = whole.topology
    everyone = np.arange(topology.routers)
    before = topology.distances(everyone[:, None], everyone)
    displaced = np.isfinite(graph.distances) & (graph.hops != before)
    marks = any(rule.table is Table.MARKED for rule in whole.switches[0].rules)
    switches = list(whole.switches)
    for switch in whole.switches:
        groups = _GroupChoice(switch, graph, new_groups)
        untagged, tagged = groups.best(switch.untagged_groups), groups.best(switch.tagged_groups)
        first_ports, port_changed = _first_ports(switch.router, graph)
        changed = (untagged != switch.untagged_groups) | port_changed
        rules: list[Rule] = []
        for other in np.flatnonzero(changed).tolist():
            destination = to_router(topology, other)
            rules.append(forwarding_rule(Table.MINIMAL, destination, int(untagged[other])))
            if marks:
                port_group = group_number(GroupRole.PORT, int(first_ports[other]))
                rules.append(forwarding_rule(Table.MARKED, destination, port_group))
        for other in np.flatnonzero(tagged != switch.tagged_groups).tolist():
            rules.append(tag_rule(other, int(tagged[other])))
        displaced[switch.router] |= changed
        if rules:
            switches[switch.router] = replace(
                _with_rules(switch, rules),
                groups=(*switch.groups, *groups.new.values()),
                untagged_groups=tuple(untagged.tolist()),
                tagged_groups=tuple(tagged.tolist()),
            )
    return replace(whole, switches=tuple(switches)), displaced


def _first_ports(router: int, graph: SurvivingGraph) -> tuple[npt.NDArray[np.int64], Mask]:
    """Returns, for each router, a port on which a minimal path to it starts, and whether the port changed."""
    topology = graph.topology
    everyone = np.arange(topology.routers)
    minimal = graph.minimal_port_mask(router)
    places = topology.places_toward(router, topology.next_hops(router, everyone))
    places[router] = 0
    changed = graph.reachable(router) & ~minimal[places, everyone]
    choices = minimal.sum(axis=0)
    rank = _spread(router, everyone, np.maximum(choices, 1))
    chosen = (minimal.cumsum(axis=0) > rank).argmax(axis=0)  # the minimal link of that rank
    return topology.link_ports(router)[np.where(changed, chosen, places)], changed


def _spread(router: int, destinations: npt.ArrayLike, choices: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Chooses among equally good ports or groups by a hash: one index, 0 .. choices - 1, per destination.

    Displaced traffic is spread over all choices as if at random. The result does not depend on other
    failures, so few rules differ between the plans before and after one more failure.

    Args:
        router: the router.
        destinations: routers, integers of any shape.
        choices: how many choices there are toward each destination, at least 1: an array of the same shape,
            or a single number for all.
    """
    mixed = (np.asarray(destinations, np.int64) * _MIXING + router * (_MIXING >> 16)) % 2**32 >> 8
    return np.asarray(mixed % np.asarray(choices))


class _GroupChoice:
    """Selects groups of one switch such that packets follow minimal paths of a surviving graph."""

    def __init__(self, switch: SwitchPlan, graph: SurvivingGraph, new_groups: bool) -> None:
        self.new: dict[int, Group] = {}  # by number
        self._groups = {group.number: group for group in switch.groups}
        # Packets must avoid a drained port whether or not it has also failed.
        self._shares = new_groups and graph.drain.any_drained
        drained = graph.drain.ports(graph.topology, switch.router)
        self._failed_ports = graph.failure.failed_ports(switch.router) - drained
        self._router = switch.router
        self._link_ports: list[int] = graph.topology.link_ports(switch.router).tolist()
        self._places = {port: place for place, port in enumerate(self._link_ports)}
        self._minimal = graph.minimal_port_mask(switch.router)
        self._reachable = graph.reachable(switch.router)

    def best(self, current: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """Returns the number of the group to use toward each router.

        Args:
            current: the number of the group in use toward each router; 0 if there is none, which stays 0.

        Returns:
            int64, one per router: the current group if every port that it uses starts a minimal path;
            otherwise the group in use with the most ports, among those that use minimal ports only; if there
            is none, the group of a single minimal port. Ties are broken by a hash. While components are
            drained and new groups are allowed, a new group over all minimal ports replaces one with fewer
            ports.
        """
        chosen = np.array(current, np.int64)
        if not any(current):
            return chosen
        known = sorted(set(current) - {0})
        ports = {number: self._ports(self._groups[number]) for number in known}
        is_minimal = np.array([self._begin_minimal_paths(ports[number]) for number in known])
        place = np.minimum(np.searchsorted(known, chosen), len(known) - 1)
        unfit = self._reachable & (chosen > 0) & ~is_minimal[place, np.arange(len(chosen))]
        for other in np.flatnonzero(unfit).tolist():
            minimal = [self._link_ports[place] for place in np.flatnonzero(self._minimal[:, other]).tolist()]
            fit = [number for index, number in enumerate(known) if is_minimal[index, other]]
            most = max((len(ports[number]) for number in fit), default=0)
            equal = [number for number in fit if len(ports[number]) == most]
            equal = equal or [group_number(GroupRole.PORT, port) for port in minimal]
            best = equal[int(_spread(self._router, other, len(equal)))]
            if self._shares and len(minimal) > max(1, len(ports.get(best, ()))):
                best = self._shared(minimal)
            chosen[other] = best
        return chosen

    def _shared(self, ports: list[int]) -> int:
        """Returns the number of a new group that divides packets evenly among ports."""
        number = shared_group_number(ports)
        self.new[number] = Group(number, GroupKind.SELECT, tuple(map(alternate_bucket, ports)))
        return number

    def _begin_minimal_paths(self, ports: frozenset[int]) -> Mask:
        """For each router: whether minimal paths to it start on all the ports; False without ports."""
        if not ports:
            return np.zeros(self._minimal.shape[1], bool)
        return np.asarray(self._minimal[[self._places[port] for port in ports]].all(axis=0))

    def _ports(self, group: Group) -> frozenset[int]:
        """Returns the ports on which a group sends under the failure; none if it marks or tags packets."""
        alive = [b for b in group.buckets if b.watch_port is None or b.watch_port not in self._failed_ports]
        chosen = alive if group.kind is GroupKind.SELECT else alive[:1]
        ports = [self._bucket_ports(bucket.actions) for bucket in chosen]
        return frozenset().union(*ports) if all(ports) else frozenset()

    def _bucket_ports(self, actions: Actions) -> frozenset[int]:
        if any(isinstance(action, SetField) for action in actions):
            return frozenset()
        ports: frozenset[int] = frozenset()
        for action in actions:
            if isinstance(action, Output):
                ports |= {action.port}
            elif isinstance(action, ToGroup):
                ports |= self._ports(self._groups[action.group])
        return ports


def _without_detours(plan: RoutePlan, pairs: Iterable[tuple[int, int]]) -> RoutePlan:
    """Returns a plan in which packets of the given (source, destination) pairs take minimal paths only."""
    destinations: dict[int, set[Match]] = {}
    for source, destination in pairs:
        destinations.setdefault(source, set()).add(to_router(plan.topology, destination))
    switches = list(plan.switches)
    for router, matches in destinations.items():
        minimal = [
            Rule(rule.table, rule.priority, rule.match, goto=Table.MINIMAL)
            for rule in switches[router].rules
            if rule.table is Table.SOURCE and rule.match in matches
        ]
        # If the source has one rule for all destinations, add rules of higher priority.
        if any(map(_detours_to_all, switches[router].rules)):
            others = sorted(matches - {rule.match for rule in minimal}, key=repr)
            minimal += [Rule(Table.SOURCE, PRIORITY_UNDETOURED, m, goto=Table.MINIMAL) for m in others]
        switches[router] = _with_rules(switches[router], minimal)
    return replace(plan, switches=tuple(switches))


def _detours_to_all(rule: Rule) -> bool:
    """Returns whether a rule of table SOURCE passes all packets, whatever their destination, to one group."""
    sends_to_group = any(isinstance(action, ToGroup) for action in rule.actions)
    return rule.table is Table.SOURCE and rule.match == TO_ANY_HOST and sends_to_group


def _with_rules(switch: SwitchPlan, rules: Iterable[Rule]) -> SwitchPlan:
    """Returns a switch's plan with rules added; a rule with equal table, priority and match is replaced."""
    new = {(rule.table, rule.priority, rule.match): rule for rule in rules}
    kept = [new.pop((rule.table, rule.priority, rule.match), rule) for rule in switch.rules]
    return replace(switch, rules=(*kept, *new.values()))
