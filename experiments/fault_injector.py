"""Injects scheduled faults in a separate thread while traffic runs, and repairs them all at the end."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

from controller.reports import Replanned
from emulation.fault_injection import FaultInjector
from experiments.events.base import OnEvent
from experiments.events.notices import Notice
from experiments.live_fabric import LiveFabric
from experiments.maintenance import Maintenance
from experiments.results.parts.faults import FaultRecord, InjectedFault, ReplanRecord, schedule_text
from experiments.results.run_directory import FAULTS, RunDirectory
from experiments.spec.flows import FlowOptions
from experiments.spec.resolve import RunTraffic
from experiments.spec.traffic import TrafficOptions
from experiments.validity.unasked import Asked, Plan
from topology.errors import NegativeResult, PolarLabError
from topology.faults import CONTROLLER, Fault
from traffic.metrics.measurements import Clock

# A flapping link may be held down for 16 s, and a switch that returns gets its rules within seconds.
_RECOVERY_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class StartedFault:
    """A fault that was injected.

    Attributes:
        fault: the fault.
        began_s: start of its injection, in s since the start of the traffic.
        seconds: time that the injection took.
    """

    fault: Fault
    began_s: float
    seconds: float = 0.0


def write_schedule(
    directory: RunDirectory, traffic: RunTraffic, on_event: OnEvent, name: str = FAULTS
) -> None:
    """Writes the fault schedule of a run into its folder, so that the run can be repeated.

    Writes nothing if there are no faults.

    Args:
        directory: the folder.
        traffic: specification of the traffic.
        on_event: called with an event if the schedule was drawn at random.
        name: name of the file.
    """
    asked = traffic.faults_asked if isinstance(traffic, TrafficOptions | FlowOptions) else None
    if asked is None and not traffic.faults:
        return
    seed = 1
    if asked is not None:
        seed, failures = traffic.seed, sum(not fault.restores for fault in traffic.faults)
        on_event(
            Notice(
                "faults-drawn",
                asked=asked,
                seed=seed,
                failures=failures,
                repairs=len(traffic.faults) - failures,
            )
        )
    directory.write_text(name, schedule_text(traffic.faults, asked, seed))


class FaultSchedule:
    """Schedule of faults on a fabric; a context manager that repairs the fabric at its end.

    Attributes:
        planned_before: components that the controller's plan avoided before the schedule started.
        done: the faults that were injected.
    """

    def __init__(
        self,
        fabric: LiveFabric,
        schedule: Sequence[Fault],
        on_event: OnEvent,
        broken: FaultInjector | None = None,
    ) -> None:
        """Prepares the schedule.

        Args:
            fabric: the fabric.
            schedule: the faults, times in seconds since the start of the traffic.
            on_event: called with each event.
            broken: injector of the faults that are already active; None if there are none.
        """
        self._fabric = fabric
        self._schedule = sorted(schedule, key=lambda fault: fault.time_s)
        self._on_event = on_event
        self._faults = broken or FaultInjector(fabric.network)
        self._maintenance = Maintenance(fabric)
        self._drained_before = self._maintenance.drained
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._mended = False
        self._replans_known = len(fabric.controller.replans)
        self._ports_set_known = len(fabric.controller.ports_set)
        self.planned_before = Plan(fabric.controller.planned_failure, fabric.controller.planned_drain)
        self.done: list[StartedFault] = []

    def __enter__(self) -> FaultSchedule:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self.end()
        if error is None:
            self.mend()

    def end(self) -> None:
        """Stops injecting faults; injected ones remain until `mend`."""
        self._stop.set()
        if self._thread:
            self._thread.join()

    def start(self, clock: Clock) -> None:
        """Starts the schedule; `clock` has the start of the traffic."""
        self._thread = threading.Thread(target=self._play, args=(clock.monotonic_ns / 1e9,), daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raises the error of a fault that could not be injected."""
        if self._error:
            error, self._error = self._error, None
            raise error

    def mend(self) -> None:
        """Repairs all remaining faults, ends the drains, and returns when the fabric has recovered.

        Raises:
            NegativeResult: the controller does not return to its initial plan.
            PolarLabError: a fault could not be injected.
        """
        self.end()
        self.check()
        if not self.done or self._mended:
            return
        self._mended = True
        self._faults.restore_all()
        if self._fabric.controller.stopped:
            self._fabric.restart_controller(self._on_event)
        self._fabric.controller.wait_until_in_charge()
        drained = [one.name for one in self._maintenance.drained if one not in self._drained_before]
        if drained:
            self._maintenance.undrain(",".join(drained))
        time.sleep(0.5)  # by then the controller knows that the components are restored
        if not self._fabric.controller.wait_until_recovered(_RECOVERY_TIMEOUT_S):
            failed = self._fabric.controller.planned_failure
            raise NegativeResult(
                f"the plan still avoids {failed}, {_RECOVERY_TIMEOUT_S:g} s after everything was restored"
            )

    def mended(self) -> list[str]:
        """Repairs all faults like `mend`, but returns error messages instead of raising errors."""
        try:
            self.mend()
        except PolarLabError as error:
            return [str(error)]
        return []

    def replans(self, clock: Clock) -> list[tuple[float, Replanned]]:
        """Returns the plans made since this object was created, as (s since the traffic's start, report)."""
        self._fabric.controller.catch_up()
        reports = self._fabric.controller.replans[self._replans_known :]
        return [(report.monotonic_s - clock.monotonic_ns / 1e9, report) for report in reports]

    def ports_set(self, clock: Clock) -> list[float]:
        """Returns the times, in s since the traffic's start, at which the controller set ports down or up."""
        self._fabric.controller.catch_up()
        reports = self._fabric.controller.ports_set[self._ports_set_known :]
        return [report.monotonic_s - clock.monotonic_ns / 1e9 for report in reports]

    def unasked(self, clock: Clock) -> tuple[str, ...]:
        """Returns the links and switches that the controller avoided before anything failed or drained them.

        Their names have no kind, like `s1-s7` or `s4` (see `Asked.beyond`).

        Args:
            clock: start of the traffic.
        """
        controller = self._fabric.controller
        with contextlib.suppress(PolarLabError):  # other code reports the end of the controller
            controller.catch_up()
        before = Asked(self._fabric.options.topology, self._fabric.active_failures, self._drained_before)
        begun = [(clock.monotonic_ns / 1e9 + one.began_s, one.fault) for one in self.done]
        ports = controller.ports_set[self._ports_set_known :]
        names = before.unexplained(begun, ports, controller.replans[self._replans_known :])
        return tuple(dict.fromkeys([*before.beyond([self.planned_before]), *names]))

    def restart(self, clock: Clock) -> tuple[float | None, float | None, float | None]:
        """Returns the times of the controller's last start, in seconds since the start of the traffic.

        Args:
            clock: start of the traffic.

        Returns:
            When it listened, when the last switch had connected, and when it had taken control; None for each
            that has not happened.
        """
        self._fabric.controller.catch_up()
        controller, start_s = self._fabric.controller, clock.monotonic_ns / 1e9
        listening_s, connected_s, in_charge_s = (
            None if time_s is None else time_s - start_s
            for time_s in (controller.listening_s, controller.connected_s, controller.in_charge_s)
        )
        return listening_s, connected_s, in_charge_s

    def record(self, clock: Clock) -> FaultRecord:
        """Returns the injected faults and the controller's plans for them.

        Args:
            clock: start of the traffic.
        """
        return FaultRecord(
            done=tuple(InjectedFault(round(entry.began_s, 4), str(entry.fault)) for entry in self.done),
            replanned=tuple(replan_record(time_s, report) for time_s, report in self.replans(clock)),
        )

    def _play(self, start_s: float) -> None:
        try:
            for fault in self._schedule:
                if self._stop.wait(max(0.0, start_s + fault.time_s - time.monotonic())):
                    return
                began_s = time.monotonic() - start_s
                self._do(fault)
                ended_s = time.monotonic() - start_s
                self.done.append(StartedFault(fault, began_s, ended_s - began_s))
                self._on_event(
                    Notice(
                        "fault-injected",
                        component=fault.component.name,
                        restores=fault.restores,
                        maintenance=fault.maintenance,
                    )
                )
        except Exception as error:  # `check` raises it in the caller's thread
            self._error = error

    def _do(self, fault: Fault) -> None:
        if fault.maintenance and fault.restores:
            self._maintenance.undrain(fault.component.name)
        elif fault.maintenance:
            self._maintenance.drain(fault.component.name, self._faults.active_failures, force=fault.forced)
        elif fault.component != CONTROLLER:
            (self._faults.restore if fault.restores else self._faults.fail)(fault.component)
        elif not fault.restores:
            self._fabric.controller.stop()
        elif self._fabric.controller.stopped:
            self._fabric.restart_controller(self._on_event)


def replan_record(time_s: float, report: Replanned) -> ReplanRecord:
    """Converts the controller's report of a plan to the record in results.

    Args:
        time_s: seconds from the start of the traffic until the plan was installed.
        report: the report.
    """
    return ReplanRecord(
        time_s=round(time_s, 4),
        failed=report.failed,
        rules=report.rules,
        cut_off_pairs=report.cut_off_pairs,
        drained=report.drained,
        planning_s=round(report.planning_s, 4),
        seconds=round(report.seconds, 4),
    )
