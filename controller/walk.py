"""The proof of a route plan: every pair of hosts, every choice of a group, every asked-for failure.

The walk runs the plan itself, rule by rule (`controller.states`); it knows nothing of how the plan was
made. For one destination it judges every state that packets can be in, once each, so that all sources share
the work: a packet arrives from a state if every step from there leads on to a state from which it
arrives. A state that leads back to itself is a loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from controller.failures import NO_FAILURE, Failure
from controller.plan import RoutePlan
from controller.states import State, StateKey, StateSpace
from topology.addressing import Host, switch_name

FAULTS_KEPT = 20


@dataclass
class Proof:
    """What a walk found.

    Attributes:
        pairs: ordered pairs of different hosts (that live, where switches fail: the most of any scenario).
        scenarios: the failures tried, no failure being one.
        delivered: pairs, summed over scenarios, whose packets arrive whatever the groups choose.
        max_hops: the longest path found, in links between routers.
        loops, blackholes, misdelivered, over_bound, miscounted: pairs with a choice that circles, is
            dropped, reaches another host, takes more hops than promised, or whose TTL tells other
            than the hops.
        faults: the first of them in words.
    """

    pairs: int = 0
    scenarios: int = 0
    delivered: int = 0
    max_hops: int = 0
    loops: int = 0
    blackholes: int = 0
    misdelivered: int = 0
    over_bound: int = 0
    miscounted: int = 0
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


def prove(plan: RoutePlan, failures: Iterable[Failure] = (NO_FAILURE,)) -> Proof:
    """Walks a plan for every ordered pair of hosts under each of `failures`.

    Hop bounds hold for the fabric without failures; under a failure only arrival is asked for.

    Raises:
        PlanError: the plan is no valid content for its switches.
    """
    space = StateSpace(plan)
    proof = Proof()
    for failure in failures:
        _prove_scenario(plan, space, failure, proof)
    return proof


def _prove_scenario(plan: RoutePlan, space: StateSpace, failure: Failure, proof: Proof) -> None:
    alive = [host for host in space.hosts if host.router not in failure.dead_routers]
    proof.scenarios += 1
    proof.pairs = max(proof.pairs, len(alive) * (len(alive) - 1))
    everyone = np.arange(plan.topology.routers)
    for destination in alive:
        distances = plan.topology.distances(everyone, destination.router)
        bounds = None if failure.breaks_something else plan.hop_bound(distances).tolist()
        walk = _DestinationWalk(space, destination, failure)
        for source in alive:
            if source != destination:
                bound = None if bounds is None else bounds[source.router]
                verdict = walk.judge(space.start(source, destination))
                _count(proof, failure, source, destination, verdict, bound)


class _DestinationWalk:
    """All states of packets to one host under one failure, each judged once."""

    def __init__(self, space: StateSpace, destination: Host, failure: Failure) -> None:
        self._space = space
        self._destination = destination
        self._failure = failure
        self._verdicts: dict[StateKey, _Verdict | None] = {}

    def judge(self, state: State) -> _Verdict:
        if state.key in self._verdicts:
            known = self._verdicts[state.key]
            # None marks a state that is being judged: the packet came back to it.
            return known or _Verdict(0, frozenset({("loop", f"at {switch_name(state.router)}")}))
        self._verdicts[state.key] = None
        hops = 0
        faults: set[tuple[str, str]] = set()
        for step in self._space.steps(state, self._destination, self._failure):
            if step.fault:
                faults.add(step.fault)
            if step.target:
                beyond = self.judge(step.target)
                hops = max(hops, beyond.hops + 1)
                faults |= beyond.faults
        verdict = _Verdict(hops, frozenset(faults))
        self._verdicts[state.key] = verdict
        return verdict


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
    proof.delivered += not kinds & {"loop", "blackhole", "misdelivered"}
    proof.max_hops = max(proof.max_hops, verdict.hops)
    for kind, where in sorted(found):
        if len(proof.faults) < FAULTS_KEPT:
            broken = f" with {failure.name} down" if failure.breaks_something else ""
            proof.faults.append(f"{source.name} to {destination.name}{broken}: {kind} {where}")
