"""Control of the traffic processes by their parent: starts them, sends jobs, waits for them, kills them."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from topology.errors import PolarLabError, Status, UsageError
from topology.files.plugin_files import handed_over
from traffic.engine.child_process import end_text, start_python
from traffic.engine.telemetry import LiveCounts
from traffic.engine.wall_clock import clock_in
from traffic.metrics.measurements import Clock

_LEAD_NS = 50_000_000  # time between the readiness of all processes and the first packet
_READY_S = 60.0  # time limit for a process to become ready; opening sockets of many hosts takes a while
_GRACE_S = 10.0
_POLL_INTERVAL_S = 0.05
# A process counts as suspended if it reports nothing for _SILENT_S plus this share of the run's time so far,
# at most _MAX_SILENT_S.
_SILENT_S, _SILENT_SHARE, _MAX_SILENT_S = 5.0, 0.1, 30.0
# Longer times between two polls are replaced by this value: the machine or this process was suspended.
_MAX_POLL_INTERVAL_S = 0.5


class TrafficError(PolarLabError):
    """A traffic process failed; the message has its last line on standard error."""


class TrafficMisused(TrafficError, UsageError):
    """A traffic process failed because of a wrong request, such as a failing plug-in."""


@dataclass(frozen=True)
class TrafficRun:
    """A run of traffic processes that has ended.

    Attributes:
        clock: the instant of its start.
        interrupted: whether Ctrl-C ended it early.
        failed: reason why it ended early, a sentence; empty if all processes succeeded.
        seconds: time from the start to its end.
    """

    clock: Clock
    interrupted: bool
    failed: str
    seconds: float


class TrafficProcess:
    """A process that runs `traffic.engine.worker`.

    Attributes:
        counts: the packet totals that it has reported so far.
    """

    def __init__(
        self,
        role: str,
        job: dict[str, Any],
        path: Path,
        environment: Mapping[str, str],
        names: Sequence[str] = (),
    ) -> None:
        """Starts the process.

        Args:
            role: one of `traffic.engine.worker.ROLES`.
            job: the job, as plain data.
            path: file for its measurements.
            environment: environment of the process.
            names: names of definitions that the process needs, which may come from plug-ins.
        """
        self.counts = LiveCounts()
        self._role, self._job = role, job
        self._late = False
        self._reports = 0
        self._reports_seen, self._silent_s = 0, 0.0
        self._listener = threading.Thread(target=self._listen, daemon=True)
        with handed_over(*names) as plugins:
            words = ["-m", "traffic.engine.worker", role, str(path), *map(str, plugins)]
            self._process = start_python(words, environment, pass_fds=plugins)

    @property
    def running(self) -> bool:
        """Whether the process has not ended yet.

        Raises:
            TrafficError: the process failed.
        """
        if self._process.poll():
            raise self._failure()
        return self._process.returncode is None

    def send(self, content: Any) -> None:
        """Sends plain data as a line of JSON, unless the process has ended successfully.

        Raises:
            TrafficError: the process failed.
        """
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(content) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            if failed := self.wait_or_kill():
                raise TrafficError(failed) from None

    @property
    def misused(self) -> bool:
        """Whether the process failed because of a wrong request."""
        return self._process.returncode == Status.USAGE

    def send_job(self) -> None:
        """Sends the job to the process."""
        self.send(self._job)

    def silent_s(self, elapsed_s: float) -> float:
        """Returns the seconds since the last report; `elapsed_s` is the time since the last call."""
        silent = self._process.returncode is None and self._reports == self._reports_seen
        self._reports_seen = self._reports
        self._silent_s = self._silent_s + elapsed_s if silent else 0.0
        return self._silent_s

    @property
    def role(self) -> str:
        """The role of the process."""
        return self._role

    def wait_until_ready(self) -> None:
        """Waits until the process has opened its sockets."""
        assert self._process.stdout
        if self._process.stdout.readline() != "ready\n":
            raise self._failure()
        self._listener.start()

    def request_end(self) -> None:
        """Asks the process to end early and store its measurements so far, even if it is suspended."""
        self._process.terminate()
        self._process.send_signal(signal.SIGCONT)

    def wait_or_kill(self) -> str:
        """Waits until the process has ended, and kills it if it does not end in time.

        Returns:
            The reason why its measurements may be lost, a sentence; empty if it succeeded.
        """
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return f"the {self._role} process did not end within {_GRACE_S:g} s and was killed"
        return str(self._failure()) if self._process.returncode else ""

    def kill_late(self) -> None:
        """Kills the process because it is not ready in time."""
        self._late = True
        self._process.kill()

    def kill(self) -> None:
        """Kills the process and waits for its end."""
        self._process.kill()
        self._process.wait()
        if self._listener.is_alive():
            self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe:
                with contextlib.suppress(BrokenPipeError):  # the process ended without reading all its input
                    pipe.close()

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._reports += 1
            if line[-1:] == "\n":  # an incomplete line means that the process ended while writing it
                self.counts.read(line)

    def _failure(self) -> TrafficError:
        assert self._process.stderr
        if self._late:
            return TrafficError(f"the {self._role} process was not ready within {_READY_S:g} s")
        status = self._process.poll()
        if status is not None and status < 0:
            return TrafficError(f"the {self._role} process {end_text(status)}")
        with contextlib.suppress(subprocess.TimeoutExpired):  # it is ending, if it is not ready
            self._process.wait(_POLL_INTERVAL_S * 20)
        self._process.kill()
        lines = [line for line in self._process.stderr.read().splitlines() if line.strip()]
        kind = TrafficMisused if self.misused else TrafficError
        return kind(f"the {self._role} process failed: {lines[-1] if lines else 'no output'}")


@contextlib.contextmanager
def started(processes: Iterable[TrafficProcess]) -> Iterator[list[TrafficProcess]]:
    """Sends jobs to processes, yields the processes when all are ready, and kills them at the end.

    Raises:
        TrafficError: a process failed.
    """
    running: list[TrafficProcess] = []
    with contextlib.ExitStack() as cleanup:
        for process in processes:
            cleanup.callback(process.kill)
            running.append(process)
        with _killed_if_late(running):
            for process in running:
                process.send_job()
            for process in running:
                process.wait_until_ready()
        yield running


@contextlib.contextmanager
def _killed_if_late(processes: list[TrafficProcess]) -> Iterator[None]:
    """Kills all processes if the block takes too long; this also unblocks a pending write of a job."""

    def kill_all() -> None:
        for process in processes:
            process.kill_late()

    timer = threading.Timer(_READY_S, kill_all)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def run_until_done(
    processes: list[TrafficProcess],
    latest_s: float,
    starts: Callable[[Clock], None],
    poll: Callable[[float], None],
) -> TrafficRun:
    """Starts the clock and waits until all processes have ended; if one fails, asks the others to end.

    Args:
        processes: processes that are ready.
        latest_s: latest time of their end, in seconds after the start.
        starts: called once, just before the start, with its clock.
        poll: called several times per second with the seconds since the start.

    Raises:
        TrafficError: a process failed before the start.
        TrafficMisused: a process failed because of a wrong request.
    """
    clock = clock_in(_LEAD_NS)
    for process in processes:
        process.send(asdict(clock))
    starts(clock)
    interrupted, failed = False, ""
    try:
        failed = _watch(processes, clock, latest_s, poll)
    except (KeyboardInterrupt, SystemExit):
        interrupted = True
    seconds = (time.monotonic_ns() - clock.monotonic_ns) / 1e9
    if interrupted or failed:
        for process in reversed(processes):
            process.request_end()
    lost = []
    for process in processes:
        try:
            lost.append(process.wait_or_kill())
        except (KeyboardInterrupt, SystemExit):  # Ctrl-C during the wait
            interrupted = True
            process.request_end()
            lost.append(process.wait_or_kill())
    failed = failed or next(filter(None, lost), "")
    if any(process.misused for process in processes):
        raise TrafficMisused(failed)
    return TrafficRun(clock, interrupted, failed, seconds)


def _watch(
    processes: list[TrafficProcess], clock: Clock, latest_s: float, poll: Callable[[float], None]
) -> str:
    """Waits until all processes have ended or one has failed; returns why it failed, or an empty string."""
    before_s = time.monotonic()
    try:
        while sum(process.running for process in processes):  # `sum` checks every process, unlike `any`
            now_s = time.monotonic()
            elapsed_s, before_s = min(now_s - before_s, _MAX_POLL_INTERVAL_S), now_s
            seconds = now_s - clock.monotonic_ns / 1e9
            limit_s = min(_SILENT_S + _SILENT_SHARE * seconds, _MAX_SILENT_S)
            for process in processes:
                if process.silent_s(elapsed_s) > limit_s:
                    return f"the {process.role} process was suspended: no report for {limit_s:.0f} s"
            if seconds > latest_s + _GRACE_S:
                return f"the traffic did not end within {latest_s:.0f} s"
            poll(seconds)
            time.sleep(_POLL_INTERVAL_S)
    except TrafficError as error:
        return str(error)
    return ""
