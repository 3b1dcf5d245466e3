"""The proof of a route plan: every pair of hosts, every choice of a group, every asked-for failure.

The walk runs the plan itself, rule by rule (`forwarding_states`); it knows nothing of how the plan was
made. For one destination it judges every state that packets can be in, once each, so that all sources share
the work: a packet arrives from a state if every step from there leads on to a state from which it
arrives. A state that leads back to itself is a loop.

A failure changes what happens in those states only whose switches looked at a dead port. So the fabric
without failures is walked once, and for every failure only these states and those before them are judged
again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from routing.garbage_collection import without_garbage_collection
from routing.plan.model import RoutePlan
from routing.verification.forwarding_states import State, StateSpace
from topology.addressing import Host, interface_name, switch_name
from topology.failures import NO_FAILURE, Failure
from topology.shortest_paths import connected_components

MAX_LISTED_FAULTS = 20


@dataclass
class Proof:
    """What a walk found.

    Attributes:
        pairs: ordered pairs of different hosts (that live, where switches fail: the most of any scenario).
        scenarios: the failures tried, no failure being one.
        delivered: pairs, summed over scenarios, whose packets arrive whatever the groups choose.
        cut_off: pairs, summed over scenarios, that the failure leaves no path between: no fault of the plan.
        max_hops: the longest path found, in links between routers.
        loops, blackholes, misdelivered, over_bound, miscounted: pairs with a choice that circles, is
            dropped, reaches another host, takes more hops than promised, or whose TTL tells other
            than the hops.
        undelivered: (source, destination) routers of pairs whose packets may not arrive.
        faults: the first of them in words.
    """

    pairs: int = 0
    scenarios: int = 0
    delivered: int = 0
    cut_off: int = 0
    max_hops: int = 0
    loops: int = 0
    blackholes: int = 0
    misdelivered: int = 0
    over_bound: int = 0
    miscounted: int = 0
    undelivered: set[tuple[int, int]] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether everything arrives as promised."""
        found = (self.loops, self.blackholes, self.misdelivered, self.over_bound, self.miscounted)
        return not any(found)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What becomes of packets in one state: the most hops to come, and what may go wrong, where."""

    hops: int
    faults: frozenset[tuple[str, str]] = frozenset()


@without_garbage_collection()
def prove(
    plan: RoutePlan,
    failures: Iterable[Failure] = (NO_FAILURE,),
    *,
    every_host: bool = True,
    toward: Collection[int] | None = None,
) -> Proof:
    """Walks a plan for every ordered pair of hosts under each of `failures`.

    Under a failure, packets may take so many hops more as the plan's repairs need.

    Args:
        plan: the plan.
        failures: the scenarios.
        every_host: else packets between the first hosts of all routers only, which share all rules but
            those of their own ports with the others.
        toward: only packets to hosts of these routers.

    Raises:
        PlanError: the plan is no valid content for its switches.
    """
    space = StateSpace(plan)
    hosts = [host for host in space.hosts if every_host or host.index == 0]
    destinations = [host for host in hosts if toward is None or host.router in toward]
    scenarios = [(failure, connected_components(plan.topology, failure)) for failure in failures]
    proof = Proof(scenarios=len(scenarios))
    for failure, _ in scenarios:
        sources, reached = (
            sum(host.router not in failure.failed_routers for host in some) for some in (hosts, destinations)
        )
        proof.pairs = max(proof.pairs, reached * (sources - 1))
    everyone = np.arange(plan.topology.routers)
    starts = [(source, space.start(source)) for source in hosts]
    only_unbroken = not any(failure.any_failed for failure, _ in scenarios)
    for destination in destinations:
        bounds = plan.hop_bound(plan.topology.distances(everyone, destination.router)).tolist()
        walk = _DestinationWalk(space, starts, destination, bounds, plan.repair_hops)
        if not only_unbroken:
            walk.note_what_failures_touch()
        for failure, part in scenarios:
            if destination.router not in failure.failed_routers:
                walk.count(proof, failure, part)
    return proof


class _DestinationWalk:
    """All states of packets to one host; states go by their numbers."""

    def __init__(
        self,
        space: StateSpace,
        starts: list[tuple[Host, State]],
        destination: Host,
        bounds: list[int],
        repair_hops: int,
    ) -> None:
        self._repair_hops = repair_hops
        self._space = space
        self._destination = destination
        self.delivery = space.delivery(destination)
        self.steps = space.toward(destination)
        self._bounds = bounds
        self._sources = [(source, state) for source, state in starts if source != destination]
        # While nothing is broken: what becomes of packets in a state, from which states they come to it,
        # and, by (router, port), the states that a dead port would matter to.
        judge = _Judge(self, NO_FAILURE, frozenset(), {})
        self._source_verdicts = [judge.judge(state) for _, state in self._sources]
        self.unbroken = judge.verdicts
        self._before: dict[int, list[int]] = {}
        self._looking_at: dict[tuple[int, int], list[int]] = {}
        self._sources_of: dict[int, list[int]] = {}
        self._all_sound = all(
            not verdict.faults and verdict.hops <= bounds[source.router]
            for (source, _), verdict in zip(self._sources, self._source_verdicts, strict=True)
        )
        self._most_hops = max((verdict.hops for verdict in self._source_verdicts), default=0)

    def note_what_failures_touch(self) -> None:
        """Notes from where every state is come to, and the states that look at each port."""
        for number in self.unbroken:
            state = self._space.states[number]
            steps, ports = self.steps(state, NO_FAILURE)
            for port in ports:
                self._looking_at.setdefault((state.router, port), []).append(number)
            for step in steps:
                if step.target:
                    self._before.setdefault(step.target.number, []).append(number)
        for index, (_, state) in enumerate(self._sources):
            self._sources_of.setdefault(state.number, []).append(index)

    def count(self, proof: Proof, failure: Failure, part: list[int]) -> None:
        """Adds what becomes of packets from all sources under a failure."""
        touched = self._states_before(
            number for end in failure.failed_ends for number in self._looking_at.get(end, ())
        )
        again = {index for number in touched for index in self._sources_of.get(number, ())}
        if not again and self._all_sound and not failure.failed_routers:
            proof.delivered += len(self._sources)
            proof.max_hops = max(proof.max_hops, self._most_hops)
            return
        judge = _Judge(self, failure, touched, self.unbroken)
        slack = self._repair_hops if failure.any_failed else 0
        for index, (source, state) in enumerate(self._sources):
            if source.router in failure.failed_routers:
                continue
            verdict = judge.judge(state) if index in again else self._source_verdicts[index]
            if part[source.router] != part[self._destination.router]:
                proof.cut_off += 1
                continue
            bound = self._bounds[source.router] + slack
            _count(proof, failure, source, self._destination, verdict, bound)

    def _states_before(self, numbers: Iterable[int]) -> frozenset[int]:
        """Returns states and all from which packets come to them."""
        found = set(numbers)
        waiting = list(found)
        while waiting:
            for number in self._before.get(waiting.pop(), ()):
                if number not in found:
                    found.add(number)
                    waiting.append(number)
        return frozenset(found)


class _Judge:
    """Judges states under one failure, each once; those that it does not touch keep their verdicts."""

    def __init__(
        self,
        walk: _DestinationWalk,
        failure: Failure,
        touched: frozenset[int],
        unbroken: Mapping[int, _Verdict],
    ) -> None:
        self._steps = walk.steps
        self._delivery = walk.delivery
        self._failure = failure
        self._touched = touched
        self._unbroken = unbroken
        self.verdicts: dict[int, _Verdict] = {}

    def judge(self, state: State) -> _Verdict:
        number = state.number
        known = self.verdicts.get(number)
        if known is None and number not in self._touched:
            known = self._unbroken.get(number)
        if known is not None:
            if known is _BEING_JUDGED:  # the packet came back to where it was
                return _Verdict(0, frozenset({("loop", f"at {switch_name(state.router)}")}))
            return known
        self.verdicts[number] = _BEING_JUDGED
        hops = 0
        faults: frozenset[tuple[str, str]] = frozenset()
        for step in self._steps(state, self._failure).steps:
            if step.fault:
                faults |= {step.fault}
            if step.target:
                beyond = self.judge(step.target)
                hops = max(hops, beyond.hops + 1)
                if beyond.faults:
                    faults |= beyond.faults
            elif step.hop and step.hop != self._delivery:
                faults |= {("misdelivered", f"out of {interface_name(*step.hop)}")}
        verdict = _Verdict(hops, faults) if faults else _sound(hops)
        self.verdicts[number] = verdict
        return verdict


@cache
def _sound(hops: int) -> _Verdict:
    return _Verdict(hops)


_BEING_JUDGED = _Verdict(-1)


def _count(
    proof: Proof, failure: Failure, source: Host, destination: Host, verdict: _Verdict, bound: int | None
) -> None:
    found = verdict.faults
    if bound is not None and verdict.hops > bound:
        found |= {("over bound", f"{verdict.hops} hops, promised {bound}")}
    kinds = {kind for kind, _ in found}
    proof.loops += "loop" in kinds
    proof.blackholes += "blackhole" in kinds
    proof.misdelivered += "misdelivered" in kinds
    proof.miscounted += "miscounted" in kinds
    proof.over_bound += "over bound" in kinds
    if kinds & {"loop", "blackhole", "misdelivered"}:
        proof.undelivered.add((source.router, destination.router))
    else:
        proof.delivered += 1
    proof.max_hops = max(proof.max_hops, verdict.hops)
    for kind, where in sorted(found):
        if len(proof.faults) < MAX_LISTED_FAULTS:
            broken = f" with {failure.name} down" if failure.any_failed else ""
            proof.faults.append(f"{source.name} to {destination.name}{broken}: {kind} {where}")
