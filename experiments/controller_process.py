"""The controller as a child process: its start, its reports, its end."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from controller import requests
from controller.occupancy.queue_handoff import Queues, channel, request_restore, send_queues
from controller.openflow.frameworks import AUTO, QUICK_START, choose
from controller.reports import (
    Adapted,
    Connected,
    Fatal,
    Incomplete,
    Installed,
    Listening,
    NotDrained,
    Planned,
    PortSet,
    Refused,
    Replanned,
    Report,
    Restored,
    Warned,
    parse_report,
)
from emulation.prompt.process_state import is_ending
from emulation.subprocesses import marked_environment
from routing.registry import routing as routing_named
from topology.base import Params
from topology.errors import MachineError, NegativeResult, PolarLabError
from topology.exit_status import Status
from traffic.engine.child_process import prefer, start_python

_START_TIMEOUT_S = 120.0
_SILENCE_TIMEOUT_S = 30.0
_NICENESS = -10  # in a real fabric the controller has a machine of its own
_SERVICE = ("-m", "controller.service")
# One thread starts all controllers: a child that is to end with its parent ends with the very thread that
# started it.
_PARENT = ThreadPoolExecutor(1)


_AnyReport = TypeVar("_AnyReport", bound=Report)


class ControllerError(PolarLabError):
    """The controller ended unexpectedly, stopped reporting, or could not install its plan."""


# The controller's exit status -> its parent's error. Wrong use of the controller is an internal error here.
_ERRORS: dict[int, type[PolarLabError]] = {Status.NEGATIVE: NegativeResult, Status.MACHINE: MachineError}


@dataclass(frozen=True)
class Installation:
    """Times of a plan's installation, on time.monotonic's clock.

    Attributes:
        connected_s: when the last of the switches connected.
        installed_s: when all of them held the plan.
    """

    connected_s: float
    installed_s: float


class ControllerProcess:
    """A running `controller.service`."""

    def __init__(  # noqa: PLR0913  # the words of the controller's command line
        self,
        topology: str,
        params: Params,
        hosts: int,
        routing: str,
        listen: str,
        log: Path,
        *,
        local_repair: bool = True,
        framework: str = AUTO,
    ) -> None:
        """Starts the controller, which ends with the context of this context manager.

        Args:
            topology: name of the topology's family.
            params: parameters of the topology.
            hosts: hosts per router.
            routing: name of the routing; the controller of an adaptive one waits for `hand_over` before it
                listens.
            listen: address for the switches, as `controller.service` takes it.
            log: file to which the controller's standard error is appended.
            local_repair: whether the plan has fast reroute.
            framework: controller framework, `ryu`, `os-ken` or `auto`.

        Raises:
            MachineError: the framework is not installed.
        """
        self.framework = choose(framework).name
        words = [f"{name}={value}" for name, value in params.items()]
        self._command = [*_SERVICE, topology, *words, "--hosts", str(hosts)]
        self._command += ["--routing", routing, "--listen", listen]
        self._command += [] if local_repair else ["--no-local-repair"]
        self._adapts = not routing_named(routing).oblivious
        self._log = log
        self.groups_modified = 0
        self.warnings: list[str] = []
        self.replans: list[Replanned] = []
        self.ports_set_s: list[float] = []  # on the clock of time.monotonic
        self.ports_down: set[tuple[str, int]] = set()  # switch and port, as the controller set them
        self.drained: tuple[str, ...] = ()  # names of the elements to be drained, also after another start
        self.detoured = 0.0  # share of all adaptive buckets that point at detours
        self._taking, self._awaited = threading.RLock(), False
        self.stopped = True
        self.start()

    def start(self) -> None:
        """Starts the controller, also after `stop`; the reports of the one before are kept."""
        self.planned_failure = "none"  # the name of the failure that the present plan is for
        self.planned_drain = "none"  # the name of the drain that the present plan is for
        self._in_charge = False
        # Of this start, on the clock of time.monotonic: when it listened, when the last switch had connected
        # before it took charge, and when all switches that were there held its plan.
        self.listening_s: float | None = None
        self.connected_s: float | None = None
        self.in_charge_s: float | None = None
        self._modified_before = self.groups_modified
        self.refusals: list[str] = []  # rules and groups that switches refused
        self._latest: dict[type[Report], Report] = {}
        self._channel, theirs = channel()
        self._requests, requests_from = requests.channel()
        command = [*self._command, "--framework", self.framework]
        command += ["--requests-from", str(requests_from.fileno())]
        command += ["--drained", ",".join(self.drained)] if self.drained else []
        if self._adapts:
            command += ["--queues-from", str(theirs.fileno())]
        with theirs, requests_from, self._log.open("ab") as stderr:
            self._process = _PARENT.submit(
                start_python,
                command,
                marked_environment(QUICK_START),
                stdin=subprocess.DEVNULL,
                stderr=stderr,
                pass_fds=[theirs.fileno(), requests_from.fileno()],
            ).result()
        prefer(self._process.pid, _NICENESS)
        self._reports: queue.Queue[Report | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.stopped = False

    def __enter__(self) -> ControllerProcess:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Kills the controller, and processes the reports that it had written."""
        self.stopped = True
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._channel.close()
        self._requests.close()
        with contextlib.suppress(PolarLabError):  # its end is intended
            self.catch_up()

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

    def restore_minimal_paths(self) -> None:
        """Returns when all adaptive groups point at their minimal paths.

        Raises:
            ControllerError: the controller ended or stopped reporting.
        """
        with contextlib.suppress(OSError):
            request_restore(self._channel)
        self._wait_for(Restored, timeout_s=_SILENCE_TIMEOUT_S)

    def ask_for_drain(self, elements: Sequence[str]) -> None:
        """Asks the controller to drain elements, by name, and no others; its reports tell whether it does."""
        self.catch_up()
        self.drained = tuple(elements)
        self._latest.pop(NotDrained, None)
        with contextlib.suppress(OSError):  # it has ended
            requests.request_drain(self._requests, elements)

    @property
    def drain_refusal(self) -> str | None:
        """The reason for which the drain that was asked for is refused; None if it is not."""
        refusal = self._latest.get(NotDrained)
        return refusal.text if isinstance(refusal, NotDrained) else None

    @property
    def running(self) -> bool:
        """Whether the process runs; one that was killed does not, however long its end takes."""
        return self._process.poll() is None and not is_ending(self._process.pid)

    @property
    def pid(self) -> int:
        """Process id of the controller."""
        return self._process.pid

    def hand_over(self, queues: Queues) -> None:
        """Sends the controller of an adaptive routing the queues that it is to read."""
        with contextlib.suppress(OSError):  # if the controller ended, the next wait says so
            send_queues(self._channel, queues)

    def wait_until_listening(self) -> None:
        """Returns when the plan is proven and switches can connect.

        Raises:
            NegativeResult: the plan fails its proof.
            ControllerError: the controller ended or stopped reporting.
        """
        self._wait_for(Listening, timeout_s=_START_TIMEOUT_S)

    def check_plan(self, digest: str) -> None:
        """Compares the controller's plan with that of its parent, by which results are judged.

        Args:
            digest: digest of the parent's plan, by `routing.plan.digest`.

        Raises:
            ControllerError: the plans differ.
        """
        reported = self.latest(Planned).digest
        if reported != digest:
            raise ControllerError(
                f"the controller's plan must be its parent's, with digest {digest[:12]}, got {reported[:12]}"
            )

    def wait_until_installed(self, switches: int, progress: Callable[[int, int], object]) -> Installation:
        """Returns when all switches hold their plan.

        Args:
            switches: number of switches of the fabric.
            progress: takes the number of switches that have connected, and `switches`.

        Raises:
            ControllerError: the controller ended or stopped reporting, or a switch refused a rule.
        """
        connected: set[int] = set()
        connected_s = 0.0

        def note(report: Report) -> None:
            nonlocal connected_s
            if isinstance(report, Connected):
                connected.add(report.dpid)
                connected_s = report.monotonic_s
            progress(len(connected), switches)
            if self.refusals:
                raise ControllerError(f"a switch refused a rule: {self.refusals[0]}")

        installed = self._wait_for(Installed, timeout_s=_SILENCE_TIMEOUT_S, note=note)
        return Installation(connected_s, installed.monotonic_s)

    def wait_until_in_charge(self) -> None:
        """Returns when all switches hold their plan, or the controller goes on without the missing ones.

        Raises:
            ControllerError: the controller ended or stopped reporting.
        """
        if not self._in_charge:
            self._wait_for(Installed, Incomplete, timeout_s=_SILENCE_TIMEOUT_S)

    def wait_until_whole(self, timeout_s: float) -> bool:
        """Returns whether, within the time, all switches hold the plan of a fabric without failures."""
        deadline = time.monotonic() + timeout_s
        self.catch_up()
        while self.planned_failure != "none" and time.monotonic() < deadline:
            time.sleep(0.02)
            self.catch_up()
        return self.planned_failure == "none"

    def wait_for_plan(self, failed: Callable[[str], bool], timeout_s: float) -> Replanned | None:
        """Returns the first replan for a failure whose name meets a condition; None if it comes too late."""
        deadline = time.monotonic() + timeout_s
        seen = 0
        while True:
            self.catch_up()
            for replanned in self.replans[seen:]:
                if failed(replanned.failed):
                    return replanned
            seen = len(self.replans)
            if time.monotonic() > deadline:
                return None
            time.sleep(0.01)

    def _wait_for(
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
        """Returns the next report of some kinds; see `_wait_for`."""
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
            case Listening():
                self.listening_s = report.monotonic_s
            case Connected() if not self._in_charge:
                self.connected_s = report.monotonic_s
            case Installed() | Incomplete():
                self._in_charge = True
                self.in_charge_s = self.in_charge_s or report.monotonic_s
            case Adapted(groups_modified, detoured):
                self.groups_modified, self.detoured = self._modified_before + groups_modified, detoured
            case Replanned(failed):
                self.replans.append(report)
                self.planned_failure, self.planned_drain = failed, report.drained
            case PortSet(switch, port, direction):
                self.ports_set_s.append(report.monotonic_s)
                self.ports_down -= {(switch, port)}
                self.ports_down |= {(switch, port)} if direction == "down" else set()
            case Warned(text):
                self.warnings.append(text)
            case Refused(text):
                self.refusals.append(text)
            case Fatal(text):
                raise _ERRORS.get(self._process.wait(), ControllerError)(text)

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                try:
                    self._reports.put(parse_report(line))
                except ValueError as error:  # for example output of a library
                    self._reports.put(Warned(str(error)))
        self._reports.put(None)

    def _last_log_line(self) -> str:
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line]
        return lines[-1] if lines else "its log is empty"
