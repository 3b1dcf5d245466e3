"""The controller as a child process: started, listened to, and ended."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller.handover import Queues, ask_to_restore, channel, send_queues
from controller.routings import routing as routing_named
from emulation.commands import marked_environment
from topology.errors import NegativeResult, PolarLabError

_START_TIMEOUT_S = 120.0
_SILENCE_TIMEOUT_S = 30.0


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
    ) -> None:
        """Starts it; use as a context manager, so that it is ended.

        An adaptive routing's controller waits for `hand_over` before it listens.
        """
        words = [f"{name}={value}" for name, value in params.items()]
        command = [sys.executable, "-P", "-m", "controller.service", topology, *words]
        command += ["--hosts", str(hosts), "--routing", routing, "--listen", listen]
        self._log = log
        self._channel, theirs = channel()
        if not routing_named(routing).oblivious:
            command += ["--queues-from", str(theirs.fileno())]
        with theirs, log.open("ab") as stderr:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],  # the kernel ends it with us
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env=marked_environment(),
                start_new_session=True,
                pass_fds=[theirs.fileno()],
            )
        self._events: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.installation = Installation()
        self.groups_modified = 0
        self.warnings: list[str] = []

    def __enter__(self) -> ControllerProcess:
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._channel.close()

    def catch_up(self) -> None:
        """Takes notice of what it reported since it was last waited for; errors as `wait_until_listening`."""
        with contextlib.suppress(queue.Empty):
            while event := self._events.get_nowait():
                self._keep(event)

    def take_detours_back(self) -> None:
        """Has it point all adaptive groups at their minimal paths; errors as `wait_until_listening`."""
        with contextlib.suppress(OSError):
            ask_to_restore(self._channel)
        self._wait_for("restored", _SILENCE_TIMEOUT_S, lambda _event: None)

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
        self._wait_for("listening", _START_TIMEOUT_S, lambda _event: None)

    def wait_until_installed(self, switches: int, progress: Callable[[str], None]) -> None:
        """Returns when every switch holds its plan; errors as `wait_until_listening`."""
        connected: set[int] = set()

        def note(event: dict[str, Any]) -> None:
            if event["event"] == "connected":
                connected.add(event["dpid"])
                if len(connected) == switches:
                    self.installation.connected_at = time.monotonic()
            progress(f"{len(connected)} of {switches} switches connected")
            if self.installation.refusals:
                raise ControllerError(f"a switch refused a rule: {self.installation.refusals[0]}")

        self._wait_for("installed", _SILENCE_TIMEOUT_S, note)
        self.installation.installed_at = time.monotonic()

    def _wait_for(self, name: str, timeout_s: float, note: Callable[[dict[str, Any]], None]) -> None:
        while True:
            try:
                event = self._events.get(timeout=timeout_s)
            except queue.Empty:
                raise ControllerError(
                    f"the controller waits for `{name}` and nothing happened for {timeout_s:g} s"
                ) from None
            if event is None:
                status = self._process.wait()
                raise ControllerError(f"the controller ended with status {status}: {self._last_log_line()}")
            self._keep(event)
            note(event)
            if event["event"] == name:
                return

    def _keep(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind == "planned":
            self.installation.planned = event
        elif kind == "proven":
            self.installation.proven = event
        elif kind == "adapted":
            self.groups_modified = event["groups_modified"]
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
