"""Replanning: from the fabric's state to a plan for the surviving graph, and the update that leads to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from controller.fabric_state import FabricState
from routing.plan.model import RoutePlan
from routing.replan.replan import surviving_plan
from routing.replan.update_order import UpdateRound, update_rounds
from routing.verification.verifier import Prover
from topology.addressing import switch_name
from topology.errors import NegativeResult
from topology.failures import Failure
from topology.shortest_paths import connected_components, load_search_library

_MOST_NAMED = 10


@dataclass(frozen=True)
class Replan:
    """A plan for the surviving graph, and the update that leads to it.

    Attributes:
        failure: the links and switches that the plan avoids.
        plan: the plan.
        rounds: the changes that lead to it, in order.
        rules: number of rules and groups that they change.
        cut_off: the first few pairs of live routers without a path between them, in words.
        cut_off_pairs: number of those ordered pairs.
        seconds: time to compile and prove the plan.
        problem: reason for which the plan before stays in place; None if it does not.
    """

    failure: Failure
    plan: RoutePlan
    rounds: list[UpdateRound]
    rules: int
    cut_off: tuple[str, ...]
    cut_off_pairs: int
    seconds: float
    problem: str | None = None


class Replanner:
    """The fabric's state, and the plan that the switches hold or are being brought to."""

    def __init__(self, plan: RoutePlan, prover: Prover | None = None) -> None:
        """Begins with the plan of a fabric without failures, and the prover that has proven it."""
        self.state = FabricState(plan.topology)
        self._original = plan
        self._plan = plan
        self._prover = prover or Prover()
        load_search_library(plan.topology.routers)  # now, not when the first link fails

    def replan(
        self, call: Callable[..., Replan] = lambda function, *arguments: function(*arguments)
    ) -> Replan:
        """Returns a proven plan for the present failures; the plan before if that fails its proof.

        Args:
            call: calls its first argument, a function that takes long, with the others. The fabric's state
                may change meanwhile; such a change makes the next plan due.
        """
        failure = self.state.failure()
        self.state.mark_planned()
        replan = call(_replan, self._original, self._plan, failure, self._prover)
        self._plan = replan.plan
        return replan


def _replan(original: RoutePlan, before: RoutePlan, failure: Failure, prover: Prover) -> Replan:
    started = time.monotonic()
    problem = None
    try:
        plan = surviving_plan(original, failure, prover=prover)
    except NegativeResult as error:  # to stay with the plan before is better than to stop
        plan, problem = before, str(error)
    rounds = update_rounds(before, plan, failure)
    cut_off = _cut_off(plan, failure)
    return Replan(
        failure,
        plan,
        rounds,
        sum(len(changes) for changed in rounds for changes in changed.values()),
        tuple(cut_off[:_MOST_NAMED]),
        len(cut_off),
        time.monotonic() - started,
        problem,
    )


def _cut_off(plan: RoutePlan, failure: Failure) -> list[str]:
    if not failure.any_failed:
        return []
    component = connected_components(plan.topology, failure)
    alive = [r for r in range(plan.topology.routers) if r not in failure.failed_routers]
    return [
        f"{switch_name(a)} to {switch_name(b)}" for a in alive for b in alive if component[a] != component[b]
    ]
