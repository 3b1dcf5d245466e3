"""Record of a prompt session: link loads, drops, faults and command lines, written as results of a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from threading import Lock

from emulation.cleanup import signals_deferred
from experiments.events.base import OnEvent
from experiments.events.marks import ResultsWritten
from experiments.events.notices import Notice
from experiments.fault_injector import replan_record
from experiments.live_fabric import LiveFabric
from experiments.maintenance import Maintenance
from experiments.programs.bounded import Bounded
from experiments.results.manifest import run_manifest, write_manifest
from experiments.results.model import Adaptation, PairCheck
from experiments.results.parts.faults import FaultRecord, InjectedFault, ReplanRecord
from experiments.results.parts.programs import PromptLine, TrafficOutcome
from experiments.results.record import RunRecord
from experiments.results.run_directory import MANIFEST, SUMMARY, RunDirectory
from experiments.results.series import write_series
from experiments.results.summary import summarise
from experiments.spec.programs import SESSION, ProgramTraffic
from experiments.traffic_jobs import result_without_packets
from experiments.validity.clock_monitor import ClockMonitor
from experiments.validity.monitors import Monitors
from topology.errors import PolarLabError, Terminated, UsageError
from topology.faults import Component, Fault
from traffic.engine.wall_clock import clock_in
from traffic.wire.layout import ETHERNET_BYTES

_NOT_CHECKED = PairCheck(0, 0, 0, 0, 0)


class SessionRecorder:
    """Recorder of a session; a context manager that writes the results at its end, even after Ctrl-C."""

    def __init__(self, fabric: LiveFabric, directory: RunDirectory, on_event: OnEvent) -> None:
        """Writes the manifest and starts recording.

        Args:
            fabric: the fabric.
            directory: folder of the results.
            on_event: called with the events at the end.

        Raises:
            OSError: the folder cannot be written.
        """
        self._fabric, self._directory, self._on_event = fabric, directory, on_event
        self._traffic = ProgramTraffic(fabric.options.links.mtu + ETHERNET_BYTES, 1, pattern=SESSION)
        self._opened = ExitStack()
        self._clock = clock_in()
        fabric.controller.catch_up()
        self._replans_known = len(fabric.controller.replans)
        self._modified = fabric.controller.groups_modified
        self._lines: Bounded[PromptLine] = Bounded()
        self._faults: Bounded[InjectedFault] = Bounded()
        self._active_failures: set[Component] = set()
        self._maintenance = Maintenance(fabric)
        self._drained: set[Component] = set()
        self._recording_changes = Lock()
        self._background: Bounded[TrafficOutcome] = Bounded()
        # Faults of a session are not scheduled: they are known, and written, at its end.
        settings = replace(self._traffic.settings(), faults=None)
        self._manifest = run_manifest(fabric, settings, self._traffic.seed)
        write_manifest(directory, self._manifest, fabric)

    def __enter__(self) -> SessionRecorder:
        self._monitors = self._opened.enter_context(
            Monitors(self._fabric, self._traffic.frame_bytes, self._directory.path)
        )
        self._clock_samples = self._opened.enter_context(ClockMonitor()).samples
        self._clock = clock_in()  # starts once all monitors run
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt | Terminated)
        seconds = self._now_s
        with signals_deferred():
            self._opened.close()
            self._write(seconds, interrupted=interrupted)

    @contextmanager
    def line(self, text: str, active_failures: Callable[[], Iterable[Component]]) -> Iterator[list[int]]:
        """Records a command line that the block runs; the block appends the exit status to the yielded list.

        A line that a UsageError in the block refuses is not recorded. Python and the page raise one. The
        prompt catches it and appends a status, so its refused lines are recorded.

        Args:
            text: the line.
            active_failures: returns the components that have failed and were not restored.
        """
        began_s = round(self._now_s, 4)
        self.record_changes(active_failures(), began_s)
        statuses: list[int] = []
        refused = False
        try:
            yield statuses
        except UsageError:
            refused = True
            raise
        finally:
            status = statuses[-1] if statuses else None
            if not refused:
                self._lines.add(PromptLine(text, status, began_s, round(self._now_s, 4)), text)
            self.record_changes(active_failures(), began_s)

    def record_changes(self, active_failures: Iterable[Component], time_s: float | None = None) -> None:
        """Records the components that failed or were restored, drained or undrained since the last call.

        Args:
            active_failures: the components that have failed and were not restored.
            time_s: time of the changes in s since the start; now if None.
        """
        with self._recording_changes:
            before, after = self._active_failures, set(active_failures)
            time_s = round(self._now_s, 4) if time_s is None else time_s
            changes = [Fault(time_s, component, restores=True) for component in before - after]
            changes += [Fault(time_s, component) for component in after - before]
            drained_before, self._drained = self._drained, set(self._maintenance.drained)
            ended, begun = drained_before - self._drained, self._drained - drained_before
            changes += [Fault(time_s, component, restores=True, maintenance=True) for component in ended]
            changes += [Fault(time_s, component, maintenance=True) for component in begun]
            for text in sorted(map(str, changes)):
                self._faults.add(InjectedFault(time_s, text), text)
            self._active_failures = after

    def keep_traffic(self, outcome: TrafficOutcome) -> None:
        """Records background traffic that has ended."""
        self._background.add(outcome, outcome.pattern)

    @property
    def _now_s(self) -> float:
        return (time.monotonic_ns() - self._clock.monotonic_ns) / 1e9

    def _write(self, seconds: float, *, interrupted: bool) -> None:
        modified = self._fabric.controller.groups_modified - self._modified
        faults, replanned = self._faults.records, self._replanned()
        left_out = {
            "lines": self._lines.more,
            "faults": self._faults.more,
            "plans of the controller": replanned.more,
            "background traffics": self._background.more,
        }
        record = RunRecord(
            fabric=self._fabric,
            traffic=self._traffic,
            check=_NOT_CHECKED,
            result=result_without_packets(
                len(self._fabric.hosts), self._clock, seconds, interrupted=interrupted
            ),
            **self._monitors.observed(),
            clock=self._clock_samples,
            adaptation=Adaptation(self._fabric.occupancy, modified),
            faults=FaultRecord(faults, replanned.records) if faults or replanned.records else None,
            troubles=(
                *(f"{one} ended during the session" for one in self._fabric.ended_processes()),
                *(f"{more} further {what} are not recorded" for what, more in left_out.items() if more),
            ),
            lines=self._lines.records,
            background=self._background.records,
        )
        happened = tuple(f"{fault.time_s:g} {fault.fault}" for fault in faults)
        traffic = replace(self._manifest.traffic, faults=happened)
        summary = summarise(record)
        with self._directory.storing(summary, self._on_event):
            self._directory.write_record(MANIFEST, replace(self._manifest, traffic=traffic))
            self._directory.write_record(SUMMARY, summary)
            write_series(self._directory, record)
        self._on_event(ResultsWritten(self._directory.path, interrupted=interrupted))
        for reason in summary.fidelity.reasons:
            self._on_event(Notice("result-invalid", reason=reason, remedy=summary.remedy))

    def _replanned(self) -> Bounded[ReplanRecord]:
        """Returns the controller's plans for failures and drains of the session."""
        with suppress(PolarLabError):  # the controller has ended
            self._fabric.controller.catch_up()
        start_s = self._clock.monotonic_ns / 1e9
        replanned: Bounded[ReplanRecord] = Bounded()
        for report in self._fabric.controller.replans[self._replans_known :]:
            record = replan_record(report.monotonic_s - start_s, report)
            replanned.add(record, record.failed, record.drained)
        return replanned
