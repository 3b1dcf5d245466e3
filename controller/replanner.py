"""Replanning: makes a plan for the fabric's state and drain, and the update that installs it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from controller.fabric_state import FabricState
from controller.reports import Replanned
from routing.plan.model import RoutePlan
from routing.replan.replan import Provers, surviving_plan
from routing.replan.surviving_graph import cut_off_pairs, surviving_graph
from routing.replan.update_order import UpdateRound, update_rounds
from routing.verification.verifier import Prover
from topology.addressing import switch_name
from topology.drains import NO_DRAIN, Drain, drain_of
from topology.errors import NegativeResult
from topology.failures import Failure
from topology.faults import Component, ComponentKind
from topology.shortest_paths import load_search_library

_MAX_NAMED = 10


@dataclass(frozen=True)
class Replan:
    """A plan for the surviving graph, and the update from the previous plan.

    Attributes:
        failure: the links and switches that have failed.
        drain: the links and switches that are drained.
        plan: the plan, which avoids all of these.
        rounds: the changes from the previous plan, in order.
        rules: number of changed rules and groups.
        cut_off: the first few pairs of live routers without a path between them, as text.
        cut_off_pairs: number of all such pairs, ordered.
        crossing_pairs: number of ordered pairs of live routers that only drained links or switches connect.
        seconds: time to compile and prove the plan.
        unhurried: whether the update is not urgent: everything that the previous plan uses still works.
        problem: why the previous plan stays; None if it is replaced.
        refusal: why the requested drain is refused; None if it is not.
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
        """Returns the report that all switches got the plan, `seconds` after the start of planning."""
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
    """The fabric's state, and the plan that the switches have or are being updated to."""

    def __init__(self, plan: RoutePlan, prover: Prover | None = None) -> None:
        """Starts from the plan of a fabric without failures, and the prover that proved it."""
        self.state = FabricState(plan.topology)
        self._original = plan
        self._provers = Provers(prover)
        self._failure = self.state.failure()
        self._current = _Current(plan, NO_DRAIN)
        self._drain = self._asked = NO_DRAIN  # the last one requested, and the one of the last plan begun
        load_search_library(plan.topology.routers)  # takes long: now rather than at the first failure

    @property
    def drain(self) -> Drain:
        """The last requested drain; the previous one if it was refused."""
        return self._drain

    def ask_for(self, drain: Drain) -> None:
        """Requests a drain, which replaces the previous one and makes a new plan due."""
        self._drain = drain

    def plan_due(self, now_s: float) -> bool:
        """Returns whether a new plan is due: another drain is requested, or a changed state has settled."""
        return self._drain != self._current.drain or self.state.plan_due(now_s)

    def begin(self) -> Callable[[], Replan]:
        """Returns a function that computes a plan for the current failures and drain, for `finish`.

        The computation takes long, and may run in another thread. The fabric's state may change meanwhile;
        such a change makes the next plan due.
        """
        failure, self._asked = self.state.failure(), self._drain
        returning = self.state.returning
        self.state.mark_planned()
        return partial(_replan, self._original, self._current, failure, self._asked, returning, self._provers)

    def finish(self, replan: Replan) -> Replan:
        """Makes a computed plan the current one, and returns `replan` with `unhurried` set.

        If the proof failed, `replan` has the previous plan. A drain whose plan fails its proof is refused,
        and the previous drain stays.
        """
        if replan.refusal and self._drain == self._asked:
            self._drain = replan.drain
        failure = replan.failure
        same_failure = (failure.failed_ends, failure.failed_routers) == (
            self._failure.failed_ends,
            self._failure.failed_routers,
        )
        self._failure, self._current = failure, _Current(replan.plan, replan.drain)
        return replace(replan, unhurried=same_failure)


@dataclass(frozen=True)
class _Current:
    """The plan that the switches have or are being updated to, and its drain."""

    plan: RoutePlan
    drain: Drain


def _replan(
    original: RoutePlan,
    current: _Current,
    failure: Failure,
    drain: Drain,
    returning: frozenset[int],
    provers: Provers,
) -> Replan:
    started = time.monotonic()
    topology, plan, asked, problem, refusal = original.topology, current.plan, drain, None, None
    # Groups may keep ports to failed switches, but not to returning ones, whose links come up one by one.
    switches = [Component(ComponentKind.SWITCH, (router,)) for router in sorted(returning)]
    attempts = [
        (wanted, avoided)
        for wanted in dict.fromkeys((drain, current.drain))
        for avoided in dict.fromkeys((drain_of(topology, [*wanted.components, *switches]), wanted))
    ]
    for wanted, avoided in attempts:
        try:
            new_groups = wanted.any_drained  # none for a return, which is over soon
            plan = surviving_plan(original, failure, avoided, new_groups=new_groups, provers=provers)
            drain, problem = wanted, None
            break
        except NegativeResult as error:  # keeping the previous plan is better than ending
            problem, drain = str(error), current.drain
            if wanted != current.drain:
                refusal = problem
    if drain == asked:
        refusal = None
    rounds = update_rounds(current.plan, plan, failure, avoided)
    cut_off = [f"{switch_name(a)} to {switch_name(b)}" for a, b in cut_off_pairs(topology, failure)]
    crossing = drain.any_drained and surviving_graph(topology, failure, drain).crossing.sum()
    return Replan(
        failure,
        drain,
        plan,
        rounds,
        sum(len(changes) for changed in rounds for changes in changed.values()),
        tuple(cut_off[:_MAX_NAMED]),
        len(cut_off),
        int(crossing),
        time.monotonic() - started,
        problem=problem,
        refusal=refusal,
    )
