"""Reads the reports of the controller process and keeps its state: plans, adaptation, ports, warnings."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Generic, TypeVar, overload

from controller.reports import (
    Adapted,
    Connected,
    Fatal,
    Incomplete,
    Installed,
    Listening,
    PortSet,
    Refused,
    Replanned,
    Report,
    RoutingSet,
    Unusable,
    Warned,
    parse_report,
)
from topology.errors import MachineError, NegativeResult, PolarLabError, Status, UsageError

SILENCE_TIMEOUT_S = 30.0

# Limits, because switches can cause any number of reports. Most reports wait at a fabric's start, when each
# switch causes some.
_MAX_KEPT, _MAX_WAITING = 10_000, 20_000

_AnyReport = TypeVar("_AnyReport", bound=Report)
_Entry = TypeVar("_Entry")


class Recent(Generic[_Entry]):
    """The latest 10,000 entries of a sequence of any length; indices count all entries.

    `len` counts forgotten entries, too; iterations and slices leave them out.
    """

    def __init__(self) -> None:
        self._kept: deque[_Entry] = deque(maxlen=_MAX_KEPT)
        self._count = 0

    def append(self, entry: _Entry) -> None:
        """Adds an entry."""
        self._kept.append(entry)
        self._count += 1

    def clear(self) -> None:
        """Forgets all entries; numbering continues."""
        self._kept.clear()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[_Entry]:
        return iter(tuple(self._kept))  # a copy, as other threads may add entries meanwhile

    @overload
    def __getitem__(self, place: int) -> _Entry: ...
    @overload
    def __getitem__(self, place: slice) -> list[_Entry]: ...
    def __getitem__(self, place: int | slice) -> _Entry | list[_Entry]:
        forgotten = self._count - len(self._kept)
        if isinstance(place, slice):
            begin, end, _ = place.indices(self._count)
            return list(islice(tuple(self._kept), max(0, begin - forgotten), max(0, end - forgotten)))
        if 0 <= place < forgotten:
            raise IndexError(f"entry {place} is no longer kept")
        return self._kept[place if place < 0 else place - forgotten]


class ControllerError(PolarLabError):
    """The controller ended unexpectedly, stopped reporting, or could not install its plan."""


# Exit status of the controller -> error of its parent. Wrong usage is an internal error: it has no entry.
_ERRORS: dict[int, type[PolarLabError]] = {
    **{Status.NEGATIVE: NegativeResult, Status.USAGE: UsageError, Status.MACHINE: MachineError}
}


class ControllerReports:
    """Keeps the reports of a fabric's controller, and of controllers that replace it after a restart.

    `warnings`, `replans`, `ports_set` and `refusals` keep only the latest 10,000 entries. All times are on
    time.monotonic's clock.

    Attributes:
        routing: name of the routing with its current parameters.
        routing_since_s: time of the last change of these parameters; None if they never changed.
        groups_modified: number of changes of adaptive groups.
        detoured: fraction of adaptive buckets that point at detours.
        warnings: problems that controllers worked around.
        replans: plans for failures and drains.
        ports_set: reports of ports that the controller set `down`, or `up` again.
        ports_down: (switch, port) of the ports that are set down.
        planned_failure, planned_drain: names of the failure and of the drain that the current plan is for.
        failed_now: names of the links and switches that the controller considers unusable now, whether it has
            planned for them or not; "none" if there are none.
        held_until_s: link -> end of its hold-down, for unusable links that flapped; their ports may be up.
        settled: whether all switches have the plan for `failed_now` and the drain, and no other plan is due.
        listening_s, connected_s, in_charge_s: times of the current controller: when it listened, when the
            last switch connected (before it was in charge), and when all connected switches had its plan.
        refusals: rules and groups of the current controller that switches refused.
    """

    def __init__(self, routing: str, log: Path) -> None:
        """Prepares to read the reports of the first controller.

        Args:
            routing: name of its routing.
            log: file of its standard error.
        """
        self.routing = routing
        self.routing_since_s: float | None = None
        self._log = log
        self.groups_modified = 0
        self.detoured = 0.0
        self.warnings: Recent[str] = Recent()
        self.replans: Recent[Replanned] = Recent()
        self.ports_set: Recent[PortSet] = Recent()
        self.ports_down: set[tuple[str, int]] = set()
        self._processing, self._awaited = threading.RLock(), False

    def _begin(self, process: subprocess.Popen[str]) -> None:
        """Starts to read the reports of a new controller."""
        self._process = process
        self.planned_failure = self.planned_drain = "none"
        self.failed_now = "none"
        self.held_until_s: dict[str, float] = {}
        self.settled = True
        self._in_charge = False
        self.listening_s: float | None = None
        self.connected_s: float | None = None
        self.in_charge_s: float | None = None
        self._modified_before = self.groups_modified
        self.refusals: Recent[str] = Recent()
        self._latest: dict[type[Report], Report] = {}
        self._reports: queue.Queue[Report | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def catch_up(self) -> None:
        """Processes the reports that have arrived; does nothing while a thread waits for a report.

        Raises:
            PolarLabError: the controller reported a fatal error.
        """
        if self._awaited:
            return
        with self._processing, contextlib.suppress(queue.Empty):
            while report := self._reports.get_nowait():
                self._keep(report)

    def latest(self, kind: type[_AnyReport]) -> _AnyReport:
        """Returns the latest report of a kind since the controller's start.

        Raises:
            ControllerError: the controller has not sent one.
        """
        report = self._latest.get(kind)
        if not isinstance(report, kind):
            raise ControllerError(f"the controller has not reported `{kind.event}`")
        return report

    def wait_for(
        self,
        *kinds: type[Report],
        timeout_s: float,
        note: Callable[[Report], None] = lambda _report: None,
    ) -> Report:
        """Waits for the next report of one of the given kinds, and returns it.

        Args:
            kinds: the kinds of report.
            timeout_s: longest time between two reports of any kind.
            note: called with every report, including the returned one.
        """
        with self._processing:
            self._awaited = True
            try:
                return self._next_of(kinds, timeout_s, note)
            finally:
                self._awaited = False

    def _next_of(
        self, kinds: tuple[type[Report], ...], timeout_s: float, note: Callable[[Report], None]
    ) -> Report:
        while True:
            try:
                report = self._reports.get(timeout=timeout_s)
            except queue.Empty:
                raise ControllerError(
                    f"no report of the controller for {timeout_s:g} s, expected `{kinds[0].event}`"
                ) from None
            if report is None:
                status = self._process.wait()
                raise ControllerError(f"the controller ended with status {status}: {self._last_log_line()}")
            self._keep(report)
            note(report)
            if isinstance(report, kinds):
                return report

    def _keep(self, report: Report) -> None:
        self._latest[type(report)] = report
        match report:
            case Listening() | Connected() | Installed() | Incomplete():
                self._keep_start(report)
            case Adapted(groups_modified, detoured):
                self.groups_modified, self.detoured = self._modified_before + groups_modified, detoured
            case Replanned(failed):
                self.replans.append(report)
                self.planned_failure, self.planned_drain = failed, report.drained
            case Unusable(failed, held_until_s, settled):
                self.failed_now, self.held_until_s, self.settled = failed, held_until_s, settled
            case PortSet():
                self._keep_port(report)
            case RoutingSet(name):
                self.routing, self.routing_since_s = name, report.monotonic_s
            case Warned(text) | Refused(text):
                (self.refusals if isinstance(report, Refused) else self.warnings).append(text)
            case Fatal(text):
                raise _ERRORS.get(self._process.wait(), ControllerError)(text)

    def _keep_start(self, report: Listening | Connected | Installed | Incomplete) -> None:
        match report:
            case Listening():
                self.listening_s = report.monotonic_s
            case Connected() if not self._in_charge:
                self.connected_s = report.monotonic_s
            case Installed() | Incomplete():
                self._in_charge = True
                self.in_charge_s = self.in_charge_s or report.monotonic_s

    def _keep_port(self, report: PortSet) -> None:
        self.ports_set.append(report)
        keep = self.ports_down.add if report.set == "down" else self.ports_down.discard
        keep((report.switch, report.port))

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                try:
                    self._reports.put(parse_report(line))
                except ValueError as error:  # for example, a line that a library wrote
                    self._reports.put(Warned(str(error)))
                self._keep_oldest()
        self._reports.put(None)

    def _keep_oldest(self) -> None:
        """Processes the oldest queued reports if too many are queued, because no caller has done so."""
        if self._reports.qsize() <= _MAX_WAITING or not self._processing.acquire(blocking=False):
            return
        try:
            while self._reports.qsize() > _MAX_WAITING // 2:
                if report := self._reports.get_nowait():
                    self._keep(report)
        finally:
            self._processing.release()

    def _last_log_line(self) -> str:
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line]
        return lines[-1] if lines else "its log is empty"
