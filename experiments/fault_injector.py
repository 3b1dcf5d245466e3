"""Faults at their times, while traffic runs: done in a thread of their own, and mended at the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from controller.reports import Replanned
from emulation.fault_injection import FaultInjector
from experiments.events.base import Notify
from experiments.live_fabric import LiveFabric
from topology.errors import NegativeResult, PolarLabError
from topology.faults import CONTROLLER, Fault
from traffic.engine.jobs import Clock

# A link that flapped may be held for 16 s; a switch that returns is filled within some.
_WHOLE_AGAIN_S = 30.0


@dataclass(frozen=True)
class DoneFault:
    """A fault that was done, and when it began, in seconds since traffic started."""

    fault: Fault
    began_s: float


class FaultPlayer:
    """Plays a schedule of faults on a fabric. Use as a context manager: at its end the fabric is whole."""

    def __init__(
        self,
        fabric: LiveFabric,
        schedule: Sequence[Fault],
        notify: Notify,
        broken: FaultInjector | None = None,
    ) -> None:
        """Begins with what is broken already, if anything is."""
        self._fabric = fabric
        self._schedule = sorted(schedule, key=lambda fault: fault.time_s)
        self._notify = notify
        self._faults = broken or FaultInjector(fabric.network)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._mended = False
        self._replans_known = len(fabric.controller.replans)
        self._ports_set_known = len(fabric.controller.ports_set_s)
        self.done: list[DoneFault] = []

    def __enter__(self) -> FaultPlayer:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self.end()
        if error is None:
            self.mend()

    def end(self) -> None:
        """Plays no more; what is broken stays so until `mend`."""
        self._stop.set()
        if self._thread:
            self._thread.join()

    def start(self, clock: Clock) -> None:
        """Starts to play; `clock` tells when traffic starts."""
        self._thread = threading.Thread(target=self._play, args=(clock.monotonic_ns / 1e9,), daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raises what a fault that could not be done raised."""
        if self._error:
            error, self._error = self._error, None
            raise error

    def mend(self) -> None:
        """Mends all that is still broken and returns when the fabric is as it was.

        Raises:
            NegativeResult: the controller does not get back to its first plan.
            PolarLabError: a fault could not be done.
        """
        self.end()
        self.check()
        if not self.done or self._mended:
            return
        self._mended = True
        self._faults.restore_all()
        if self._fabric.controller.stopped:
            self._fabric.start_controller_again(self._notify)
        self._fabric.controller.wait_until_in_charge()
        time.sleep(0.5)  # what was restored just now is known to the controller by then
        if not self._fabric.controller.wait_until_whole(_WHOLE_AGAIN_S):
            failed = self._fabric.controller.planned_failure
            raise NegativeResult(
                f"everything was restored {_WHOLE_AGAIN_S:g} s ago, and still the plan is for {failed}"
            )

    def mended(self) -> list[str]:
        """Mends everything and returns what went wrong, in words, if anything did."""
        try:
            self.mend()
        except PolarLabError as error:
            return [str(error)]
        return []

    def replans(self, clock: Clock) -> list[tuple[float, Replanned]]:
        """Returns when the controller's plans were in place, in seconds since the start, and its reports."""
        self._fabric.controller.catch_up()
        reports = self._fabric.controller.replans[self._replans_known :]
        return [(report.monotonic_s - clock.monotonic_ns / 1e9, report) for report in reports]

    def ports_set(self, clock: Clock) -> list[float]:
        """Returns when the controller had ports set down or up, in seconds since traffic started."""
        self._fabric.controller.catch_up()
        times_s = self._fabric.controller.ports_set_s[self._ports_set_known :]
        return [time_s - clock.monotonic_ns / 1e9 for time_s in times_s]

    def told(self, clock: Clock) -> dict[str, Any]:
        """Returns the faults that were done and the controller's plans for them, as plain data."""
        return {
            "done": [{"time_s": round(d.began_s, 4), "fault": str(d.fault)} for d in self.done],
            "replanned": [
                {
                    "time_s": round(time_s, 4),
                    "failed": report.failed,
                    "rules": report.rules,
                    "cut_off_pairs": report.cut_off_pairs,
                    "planning_s": round(report.planning_s, 4),
                    "seconds": round(report.seconds, 4),
                }
                for time_s, report in self.replans(clock)
            ],
        }

    def _play(self, start_s: float) -> None:
        try:
            for fault in self._schedule:
                if self._stop.wait(max(0.0, start_s + fault.time_s - time.monotonic())):
                    return
                began_s = time.monotonic() - start_s
                self._do(fault)
                self.done.append(DoneFault(fault, began_s))
        except Exception as error:  # of a thread, whose errors nobody else would see
            self._error = error

    def _do(self, fault: Fault) -> None:
        if fault.element != CONTROLLER:
            (self._faults.restore if fault.restores else self._faults.fail)(fault.element)
        elif not fault.restores:
            self._fabric.controller.stop()
        elif self._fabric.controller.stopped:
            self._fabric.start_controller_again(self._notify)
