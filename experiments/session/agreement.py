"""Checks before a measurement that the controller's plan avoids exactly the failed and drained components."""

from __future__ import annotations

import contextlib
import time

from experiments.events.base import OnEvent
from experiments.events.notices import Notice
from experiments.session.fabric_session import FabricSession
from experiments.session.turns import Measuring
from experiments.validity.unasked import Asked, Plan, listed
from topology.errors import PolarLabError, UsageError
from topology.faults import Component

# How long to wait for the plan: the controller keeps a flapping link out of use for up to 16 s, and a switch
# that returns gets its rules within seconds.
_AGREED_S = 30.0
_REPORTED_S = 0.5  # time from a change of the fabric to the controller's report of it
_POLL_INTERVAL_S = 0.02


def wait_until_planned(
    session: FabricSession, failed: tuple[Component, ...], measuring: Measuring, on_event: OnEvent
) -> None:
    """Waits until the controller's plan avoids exactly the failed and drained components.

    A controller that does not run makes no new plan, so its last plan must not avoid other components.

    Args:
        session: the session.
        failed: the components that have failed.
        measuring: the measurement that is to start; it can be stopped during the wait.
        on_event: called with an event if the plan takes longer than usual.

    Raises:
        UsageError: the plan avoids other components, or does not avoid one that has failed.
        KeyboardInterrupt: the measurement was stopped.
    """
    controller = session.fabric.controller
    asked = Asked(session.fabric.options.topology, failed, session.drained())
    reported_s = session.turns.changed_s + _REPORTED_S
    deadline_s, notified = time.monotonic() + _AGREED_S, False
    while True:
        measuring.check()
        running = controller.running
        with contextlib.suppress(PolarLabError):  # raised if the controller's last report is of a fatal error
            controller.catch_up()
        plan = Plan(controller.planned_failure, controller.planned_drain)
        unusable = Plan(controller.failed_now, controller.planned_drain)  # with failures not yet planned for
        beyond = asked.beyond([plan, unusable], controller.ports_down)
        lacking = asked.lacking(plan) if running else []
        now_s = time.monotonic()
        if not (beyond or lacking) and (now_s >= reported_s or not running):
            return
        if now_s >= deadline_s or not running:
            break
        if now_s >= reported_s and not notified:
            on_event(Notice("plan-awaited", elements=listed([*beyond, *lacking])))
            notified = True
        time.sleep(_POLL_INTERVAL_S)
    if beyond:
        remedy = "bring it up" if running else "start the controller"
        raise UsageError(f"{listed(beyond)} is out of use but has not failed; {remedy}, then measure")
    raise UsageError(f"the controller's plan still uses {listed(lacking)}; bring it up, then measure")
