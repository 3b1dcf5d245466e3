"""Plans again when something breaks or comes back: from the fabric's health to an update of its switches."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import scipy.sparse.csgraph  # noqa: F401  now, with the controller, and not when the first link dies

from controller.fabric_state import FabricHealth
from routing.plan.model import RoutePlan
from routing.replan.replan import surviving_plan
from routing.replan.update_order import UpdateRound, update_rounds
from topology.addressing import switch_name
from topology.errors import NegativeResult
from topology.failures import Failure
from topology.shortest_paths import connected_components


@dataclass(frozen=True)
class Replan:
    """A plan for what is left, and how to get there.

    Attributes:
        failure: what does not work.
        plan: the plan for what is left.
        rounds: the changes that lead to it.
        rules: how many rules they change.
        cut_off: pairs of routers that live and cannot reach each other any more, in words; the first few.
        cut_off_pairs: how many ordered pairs those are.
        seconds: how long planning and its proof took.
        problem: why the plan before stays in place, if it does.
    """

    failure: Failure
    plan: RoutePlan
    rounds: list[UpdateRound]
    rules: int
    cut_off: list[str]
    cut_off_pairs: int
    seconds: float
    problem: str | None = None


_NAMED = 10


class Recovery:
    """The plan that holds for the fabric's present health."""

    def __init__(self, plan: RoutePlan) -> None:
        """Begins with the plan of a whole fabric."""
        self.health = FabricHealth(plan.topology)
        self._original = plan
        self._plan = plan

    def plan_again(self, call: Callable[..., Replan] = lambda function, *given: function(*given)) -> Replan:
        """Returns the plan for what is left, proven; the one before where it fails its proof.

        Args:
            call: calls the function that it is given first, which takes long, with the other arguments. The
                health may change meanwhile: what changes is due to be planned for afterwards.
        """
        failure = self.health.failure()
        self.health.planned()
        replan = call(_replan, self._original, self._plan, failure)
        self._plan = replan.plan
        return replan


def _replan(original: RoutePlan, before: RoutePlan, failure: Failure) -> Replan:
    started = time.monotonic()
    problem = None
    try:
        plan = surviving_plan(original, failure)
    except NegativeResult as error:  # to go on with what holds is better than not to go on
        plan, problem = before, str(error)
    rounds = update_rounds(before, plan, failure)
    cut_off = _cut_off(plan, failure)
    return Replan(
        failure,
        plan,
        rounds,
        sum(len(changes) for changed in rounds for changes in changed.values()),
        cut_off[:_NAMED],
        len(cut_off),
        time.monotonic() - started,
        problem,
    )


def _cut_off(plan: RoutePlan, failure: Failure) -> list[str]:
    if not failure.any_failed:
        return []
    part = connected_components(plan.topology, failure)
    alive = [r for r in range(plan.topology.routers) if r not in failure.failed_routers]
    return [f"{switch_name(a)} to {switch_name(b)}" for a in alive for b in alive if part[a] != part[b]]
