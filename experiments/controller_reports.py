"""Reports of a controller's process as its parent keeps them: plans, adaptation, ports, warnings."""

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
from topology.errors import MachineError, NegativeResult, PolarLabError, Status

SILENCE_TIMEOUT_S = 30.0

# Switches can cause any number of reports. Those that wait to be processed are far more at a fabric's start
# than later: some of each switch.
_MOST_KEPT, _MOST_WAITING = 10_000, 20_000

_AnyReport = TypeVar("_AnyReport", bound=Report)
_Entry = TypeVar("_Entry")


class Recent(Generic[_Entry]):
    """The latest 10,000 of any number of entries, each under its number among all.

    The length is that of all entries; iterations and slices leave out those that are forgotten.
    """

    def __init__(self) -> None:
        self._kept: deque[_Entry] = deque(maxlen=_MOST_KEPT)
        self._count = 0

    def append(self, entry: _Entry) -> None:
        """Adds an entry."""
        self._kept.append(entry)
        self._count += 1

    def clear(self) -> None:
        """Forgets all entries; the next one has the number behind the last."""
        self._kept.clear()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[_Entry]:
        return iter(tuple(self._kept))  # others may be added meanwhile

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
            raise IndexError(f"entry {place} is forgotten")
        return self._kept[place if place < 0 else place - forgotten]


class ControllerError(PolarLabError):
    """The controller ended unexpectedly, stopped reporting, or could not install its plan."""


# The controller's exit status -> its parent's error. Wrong use of the controller is an internal error here.
_ERRORS: dict[int, type[PolarLabError]] = {Status.NEGATIVE: NegativeResult, Status.MACHINE: MachineError}


class ControllerReports:
    """The reports of one controller after another, each from its start to its end.

    Attributes:
        routing: name of the routing with the parameters that hold now.
        routing_since_s: when they were taken, on the clock of time.monotonic; None from the first start on.
        groups_modified: changes of adaptive groups.
        detoured: share of all adaptive buckets that point at detours.
        warnings: problems that controllers worked around.
        replans: plans for failures and drains. The oldest are forgotten when there are very many, as are the
            oldest `warnings`, `ports_set` and `refusals`.
        ports_set: ports that were set up or down.
        ports_down: switch and port of the ports that are set down.
        planned_failure, planned_drain: names of the failure and of the drain that the present plan is for.
        failed_now: names of the links and switches that the controller takes for unusable now, planned for or
            not; "none" if there are none.
        held_until_s: those links among them that are held down because they flapped, whose ports may be up,
            and until when on the clock of time.monotonic.
        settled: whether all switches have the plan for these and for the drain, and no other is wanted.
        listening_s, connected_s, in_charge_s: of the present controller, on the clock of time.monotonic: when
            it listened, when the last switch had connected before it took charge, and when all switches that
            were there held its plan.
        refusals: rules and groups of the present controller that switches refused.
    """

    def __init__(self, routing: str, log: Path) -> None:
        """Prepares for the first controller.

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
        self._taking, self._awaited = threading.RLock(), False

    def _begin(self, process: subprocess.Popen[str]) -> None:
        """Reads the reports of another controller."""
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
        """Processes the reports that have arrived; if another thread waits for one, that does so.

        Raises:
            PolarLabError: the controller reported a fatal error.
        """
        if self._awaited:
            return
        with self._taking, contextlib.suppress(queue.Empty):
            while report := self._reports.get_nowait():
                self._keep(report)

    def latest(self, kind: type[_AnyReport]) -> _AnyReport:
        """Returns the latest report of a kind since the start.

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
        """Returns the next report of one of some kinds.

        Args:
            kinds: the kinds of report.
            timeout_s: longest time between two reports of any kind.
            note: takes every report, the returned one included.
        """
        with self._taking:
            self._awaited = True
            try:
                return self._next_of(kinds, timeout_s, note)
            finally:
                self._awaited = False

    def _next_of(
        self, kinds: tuple[type[Report], ...], timeout_s: float, note: Callable[[Report], None]
    ) -> Report:
        """Returns the next report of some kinds; see `wait_for`."""
        while True:
            try:
                report = self._reports.get(timeout=timeout_s)
            except queue.Empty:
                raise ControllerError(
                    f"the controller reported nothing for {timeout_s:g} s, expected `{kinds[0].event}`"
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
                except ValueError as error:  # for example output of a library
                    self._reports.put(Warned(str(error)))
                self._keep_oldest()
        self._reports.put(None)

    def _keep_oldest(self) -> None:
        """Processes the oldest reports if very many wait, which happens where nobody asks for any."""
        if self._reports.qsize() <= _MOST_WAITING or not self._taking.acquire(blocking=False):
            return
        try:
            while self._reports.qsize() > _MOST_WAITING // 2:
                if report := self._reports.get_nowait():
                    self._keep(report)
        finally:
            self._taking.release()

    def _last_log_line(self) -> str:
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line]
        return lines[-1] if lines else "its log is empty"
