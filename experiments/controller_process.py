"""The controller as a child process: started, listened to, and ended."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller.occupancy.queue_handoff import Queues, ask_to_restore, channel, send_queues
from emulation.subprocesses import marked_environment
from routing.registry import routing as routing_named
from topology.errors import NegativeResult, PolarLabError

_START_TIMEOUT_S = 120.0
_SILENCE_TIMEOUT_S = 30.0
_NICENESS = -10
_IN_CHARGE = ("installed", "incomplete")
# The thread that starts controllers, whoever asks: a child that is to end with its parent ends with the very
# thread that started it.
_PARENT = ThreadPoolExecutor(1)


class ControllerError(PolarLabError):
    """The controller failed or fell silent; the text says how."""


@dataclass
class Installation:
    """What the controller told on its way to an installed plan.

    Attributes:
        planned, proven: details of its reports; see `controller.service`.
        connected_at, installed_at: when, on time.monotonic's clock.
        refusals: rules that switches refused.
    """

    planned: dict[str, Any] = field(default_factory=dict)
    proven: dict[str, Any] = field(default_factory=dict)
    connected_at: float = 0.0
    installed_at: float = 0.0
    refusals: list[str] = field(default_factory=list)


class ControllerProcess:
    """A running `controller.service`."""

    def __init__(
        self,
        topology: str,
        params: Mapping[str, int | str],
        hosts: int,
        routing: str,
        listen: str,
        log: Path,
        *,
        local_repair: bool = True,
    ) -> None:
        """Starts it; use as a context manager, so that it is ended.

        An adaptive routing's controller waits for `hand_over` before it listens.
        """
        words = [f"{name}={value}" for name, value in params.items()]
        self._command = [sys.executable, "-P", "-m", "controller.service", topology, *words]
        self._command += ["--hosts", str(hosts), "--routing", routing, "--listen", listen]
        self._command += [] if local_repair else ["--no-local-repair"]
        self._adapts = not routing_named(routing).oblivious
        self._log = log
        self.groups_modified = 0
        self.warnings: list[str] = []
        self.replans: list[dict[str, Any]] = []
        # When, on time.monotonic's clock, it had a port set down or up.
        self.ports_set_s: list[float] = []
        self.installation = Installation()
        self.stopped = True
        self.start()

    def start(self) -> None:
        """Starts it, again if it was stopped; what it reported before is kept."""
        self.planned_for = "none"
        self._in_charge = False
        self._modified_before = self.groups_modified
        self._channel, theirs = channel()
        command = list(self._command)
        if self._adapts:
            command += ["--queues-from", str(theirs.fileno())]
        with theirs, self._log.open("ab") as stderr:
            self._process = _PARENT.submit(
                subprocess.Popen,
                ["setpriv", "--pdeathsig", "KILL", *command],  # the kernel ends it with us
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env=marked_environment(),
                start_new_session=True,
                pass_fds=[theirs.fileno()],
            ).result()
        _prefer(self._process.pid)
        self._events: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.stopped = False

    def __enter__(self) -> ControllerProcess:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends it without notice; what it told until then was taken notice of."""
        self.stopped = True
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._channel.close()
        with contextlib.suppress(PolarLabError):  # that it is gone is no news
            self.catch_up()

    def catch_up(self) -> None:
        """Takes notice of what it reported since it was last waited for; errors as `wait_until_listening`."""
        with contextlib.suppress(queue.Empty):
            while event := self._events.get_nowait():
                self._keep(event)

    def take_detours_back(self) -> None:
        """Has it point all adaptive groups at their minimal paths; errors as `wait_until_listening`."""
        with contextlib.suppress(OSError):
            ask_to_restore(self._channel)
        self._wait_for(("restored",), _SILENCE_TIMEOUT_S, lambda _event: None)

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def hand_over(self, queues: Queues) -> None:
        """Gives it the queues that it adapts to; whoever waits for it next is told if it is gone."""
        with contextlib.suppress(OSError):
            send_queues(self._channel, queues)

    def wait_until_listening(self) -> None:
        """Returns when its plan is proven and it takes connections.

        Raises:
            NegativeResult: the plan fails its proof.
            ControllerError: it ended or fell silent.
        """
        self._wait_for(("listening",), _START_TIMEOUT_S, lambda _event: None)

    def wait_until_installed(self, switches: int, progress: Callable[[int, int], None]) -> None:
        """Returns when every switch holds its plan; errors as `wait_until_listening`."""
        connected: set[int] = set()

        def note(event: dict[str, Any]) -> None:
            if event["event"] == "connected":
                connected.add(event["dpid"])
                if len(connected) == switches:
                    self.installation.connected_at = time.monotonic()
            progress(len(connected), switches)
            if self.installation.refusals:
                raise ControllerError(f"a switch refused a rule: {self.installation.refusals[0]}")

        self._wait_for(("installed",), _SILENCE_TIMEOUT_S, note)
        self.installation.installed_at = time.monotonic()

    def wait_until_in_charge(self) -> None:
        """Returns when all switches hold their plan or some are missing; errors as `wait_until_listening`."""
        if not self._in_charge:
            self._wait_for(_IN_CHARGE, _SILENCE_TIMEOUT_S, lambda _event: None)

    def wait_until_whole(self, timeout_s: float) -> bool:
        """Returns whether, in time, it has come back to the plan for a fabric in which nothing is broken."""
        deadline = time.monotonic() + timeout_s
        self.catch_up()
        while self.planned_for != "none" and time.monotonic() < deadline:
            time.sleep(0.02)
            self.catch_up()
        return self.planned_for == "none"

    def wait_for_plan(self, failed: Callable[[str], bool], timeout_s: float) -> dict[str, Any] | None:
        """Returns its report of a plan for a failure with such a name, or None if none came in time."""
        deadline = time.monotonic() + timeout_s
        seen = 0
        while True:
            self.catch_up()
            for event in self.replans[seen:]:
                if failed(event["failed"]):
                    return event
            seen = len(self.replans)
            if time.monotonic() > deadline:
                return None
            time.sleep(0.01)

    def _wait_for(
        self, names: tuple[str, ...], timeout_s: float, note: Callable[[dict[str, Any]], None]
    ) -> None:
        while True:
            try:
                event = self._events.get(timeout=timeout_s)
            except queue.Empty:
                raise ControllerError(
                    f"the controller waits for `{names[0]}` and nothing happened for {timeout_s:g} s"
                ) from None
            if event is None:
                status = self._process.wait()
                raise ControllerError(f"the controller ended with status {status}: {self._last_log_line()}")
            self._keep(event)
            note(event)
            if event["event"] in names:
                return

    def _keep(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        self._in_charge |= kind in _IN_CHARGE
        if kind == "planned":
            self.installation = Installation(planned=event)
        elif kind == "proven":
            self.installation.proven = event
        elif kind == "adapted":
            self.groups_modified = self._modified_before + event["groups_modified"]
        elif kind == "replanned":
            self.replans.append(event)
            self.planned_for = event["failed"]
        elif kind == "port":
            self.ports_set_s.append(event["monotonic_s"])
        elif kind == "warning":
            self.warnings.append(event["text"])
        elif kind == "refused":
            self.installation.refusals.append(event["text"])
        elif kind == "fatal":
            negative = self._process.wait() == 1
            raise (NegativeResult if negative else ControllerError)(event["text"])

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                self._events.put(json.loads(line))
        self._events.put(None)

    def _last_log_line(self) -> str:
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line]
        return lines[-1] if lines else "it said nothing"


def _prefer(pid: int) -> None:
    """Has a process that leads a session not wait for the switches: elsewhere it has a machine of its own."""
    with contextlib.suppress(OSError):  # a convenience
        os.setpriority(os.PRIO_PROCESS, pid, _NICENESS)
        # Where sessions share the processor first, their own niceness counts.
        Path("/proc", str(pid), "autogroup").write_text(str(_NICENESS))
