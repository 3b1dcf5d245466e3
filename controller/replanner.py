"""Replanning: from the fabric's state and drain to a plan for both, and the update that leads to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from controller.fabric_state import FabricState
from controller.reports import Replanned
from routing.plan.model import RoutePlan
from routing.replan.replan import Provers, surviving_plan
from routing.replan.surviving_graph import cut_off_pairs, surviving_graph
from routing.replan.update_order import UpdateRound, update_rounds
from routing.verification.verifier import Prover
from topology.addressing import switch_name
from topology.drains import NO_DRAIN, Drain
from topology.errors import NegativeResult
from topology.failures import Failure
from topology.shortest_paths import load_search_library

_MOST_NAMED = 10


@dataclass(frozen=True)
class Replan:
    """A plan for the surviving graph, and the update that leads to it.

    Attributes:
        failure: the links and switches that have failed.
        drain: the links and switches that are drained.
        plan: the plan, which avoids both.
        rounds: the changes that lead to it, in order.
        rules: number of rules and groups that they change.
        cut_off: the first few pairs of live routers without a path between them, in words.
        cut_off_pairs: number of those ordered pairs.
        crossing_pairs: number of ordered pairs of live routers that nothing but drained elements connects.
        seconds: time to compile and prove the plan.
        unhurried: whether all elements work that the plan before uses, so that the update need not hurry.
        problem: reason for which the plan before stays in place; None if it does not.
        refusal: reason for which the drain is not the one that was asked for; None if it is.
    """

    failure: Failure
    drain: Drain
    plan: RoutePlan
    rounds: list[UpdateRound]
    rules: int
    cut_off: tuple[str, ...]
    cut_off_pairs: int
    crossing_pairs: int
    seconds: float
    unhurried: bool = False
    problem: str | None = None
    refusal: str | None = None

    def report(self, seconds: float) -> Replanned:
        """Returns the report of the plan once all switches have it, some time after planning began."""
        return Replanned(
            failed=self.failure.name,
            rules=self.rules,
            rounds=len(self.rounds),
            cut_off_pairs=self.cut_off_pairs,
            cut_off=self.cut_off,
            planning_s=self.seconds,
            seconds=seconds,
            drained=self.drain.name,
            crossing_pairs=self.crossing_pairs,
        )


class Replanner:
    """The fabric's state, and the plan that the switches hold or are being brought to."""

    def __init__(self, plan: RoutePlan, prover: Prover | None = None) -> None:
        """Begins with the plan of a fabric without failures, and the prover that has proven it."""
        self.state = FabricState(plan.topology)
        self._original = plan
        self._provers = Provers(prover)
        self._failure = self.state.failure()
        self._held = _Held(plan, NO_DRAIN)
        self._drain = NO_DRAIN  # as asked for
        load_search_library(plan.topology.routers)  # now, not when the first link fails

    @property
    def drain(self) -> Drain:
        """The drain that was asked for last; the one before if that was refused."""
        return self._drain

    def ask_for(self, drain: Drain) -> None:
        """Asks for a drain in place of the one before; `plan_due` until `replan`."""
        self._drain = drain

    def plan_due(self, now_s: float) -> bool:
        """Returns whether the plan is not one for the present state, which has settled, and drain."""
        return self._drain != self._held.drain or self.state.plan_due(now_s)

    def replan(
        self, call: Callable[..., Replan] = lambda function, *arguments: function(*arguments)
    ) -> Replan:
        """Returns a proven plan for the present failures and drain; the plan before if that fails its proof.

        A drain whose plan fails its proof is refused, and the one before stays.

        Args:
            call: calls its first argument, a function that takes long, with the others. The fabric's state
                may change meanwhile; such a change makes the next plan due.
        """
        failure, drain = self.state.failure(), self._drain
        self.state.mark_planned()
        replan = call(_replan, self._original, self._held, failure, drain, self._provers)
        if replan.refusal and self._drain == drain:
            self._drain = replan.drain
        same_failure = (failure.failed_ends, failure.failed_routers) == (
            self._failure.failed_ends,
            self._failure.failed_routers,
        )
        self._failure, self._held = failure, _Held(replan.plan, replan.drain)
        return replace(replan, unhurried=same_failure)


@dataclass(frozen=True)
class _Held:
    """The plan that the switches hold or are being brought to, and the drain that it is for."""

    plan: RoutePlan
    drain: Drain


def _replan(original: RoutePlan, held: _Held, failure: Failure, drain: Drain, provers: Provers) -> Replan:
    started = time.monotonic()
    plan, problem, refusal = held.plan, None, None
    for wanted in dict.fromkeys((drain, held.drain)):
        try:
            plan = surviving_plan(original, failure, wanted, provers=provers)
            drain, problem = wanted, None
            break
        except NegativeResult as error:  # to stay with the plan before is better than to stop
            problem, drain = str(error), held.drain
            if wanted != held.drain:
                refusal = problem
    rounds = update_rounds(held.plan, plan, failure, drain)
    cut_off = [f"{switch_name(a)} to {switch_name(b)}" for a, b in cut_off_pairs(plan.topology, failure)]
    crossing = drain.any_drained and surviving_graph(plan.topology, failure, drain).crossing.sum()
    return Replan(
        failure,
        drain,
        plan,
        rounds,
        sum(len(changes) for changed in rounds for changes in changed.values()),
        tuple(cut_off[:_MOST_NAMED]),
        len(cut_off),
        int(crossing),
        time.monotonic() - started,
        problem=problem,
        refusal=refusal,
    )
