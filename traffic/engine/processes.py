"""The traffic processes as their parent sees them: started, given their jobs, awaited and ended."""

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

from topology.errors import PolarLabError
from topology.files.plugin_files import handed_over
from traffic.engine.child_process import end_text, start_python
from traffic.engine.telemetry import LiveCounts
from traffic.metrics.measurements import Clock

_LEAD_NS = 50_000_000  # from the readiness of all processes to the first packet
_READY_S = 60.0  # from the start of a process to its readiness; sockets of many hosts take a while
_GRACE_S = 10.0
_LOOK_EVERY_S = 0.05
# A process that reports nothing for so long, and this share of the time so far, has been stopped.
_SILENT_S, _SILENT_SHARE, _MOST_SILENT_S = 5.0, 0.1, 30.0
# A longer time between two looks is that of a machine that stood still, or of a stopped parent.
_MOST_BETWEEN_LOOKS_S = 0.5


class TrafficError(PolarLabError):
    """A traffic process failed; the text has its last line of error."""


@dataclass(frozen=True)
class Course:
    """Course of a run of traffic processes.

    Attributes:
        clock: the instant of its start.
        interrupted: whether Ctrl-C ended it early.
        failed: reason why it was ended early, a sentence; empty if all processes did their work.
        seconds: time from the start to its end.
    """

    clock: Clock
    interrupted: bool
    failed: str
    seconds: float


class TrafficProcess:
    """A process that runs `traffic.engine.worker`.

    Attributes:
        counts: the totals of its packets that it has reported so far.
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
            path: the file for its measurement.
            environment: of the process.
            names: names of definitions that the process needs, which may be those of plug-ins.
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
        """Whether it has not ended yet.

        Raises:
            TrafficError: it failed.
        """
        if self._process.poll():
            raise self._failure()
        return self._process.returncode is None

    def send(self, content: Any) -> None:
        """Sends it plain data as a line of JSON, unless it has ended with its work done.

        Raises:
            TrafficError: it failed.
        """
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(content) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            if failed := self.wait_or_kill():
                raise TrafficError(failed) from None

    def send_job(self) -> None:
        """Sends it its job."""
        self.send(self._job)

    def silent_s(self, elapsed_s: float) -> float:
        """Returns the time for which it has reported nothing; `elapsed_s` passed since the last call."""
        silent = self._process.returncode is None and self._reports == self._reports_seen
        self._reports_seen = self._reports
        self._silent_s = self._silent_s + elapsed_s if silent else 0.0
        return self._silent_s

    @property
    def role(self) -> str:
        """Its role."""
        return self._role

    def wait_until_ready(self) -> None:
        """Returns when its sockets are open."""
        assert self._process.stdout
        if self._process.stdout.readline() != "ready\n":
            raise self._failure()
        self._listener.start()

    def request_end(self) -> None:
        """Asks it to end early and to store its measurement so far, even if it was stopped."""
        self._process.terminate()
        self._process.send_signal(signal.SIGCONT)

    def wait_or_kill(self) -> str:
        """Returns when it has ended; one that does not end is killed.

        Returns:
            The reason for which its measurement may be lost, a sentence; empty if it ended as it should.
        """
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return f"the process to {self._role} had not ended after {_GRACE_S:g} s and was killed"
        return str(self._failure()) if self._process.returncode else ""

    def give_up(self) -> None:
        """Kills it, as it is not ready in time."""
        self._late = True
        self._process.kill()

    def kill(self) -> None:
        """Ends it at once."""
        self._process.kill()
        self._process.wait()
        if self._listener.is_alive():
            self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe:
                with contextlib.suppress(BrokenPipeError):  # it ended before it had read all
                    pipe.close()

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._reports += 1
            if line[-1:] == "\n":  # else torn off by its end
                self.counts.read(line)

    def _failure(self) -> TrafficError:
        assert self._process.stderr
        if self._late:
            return TrafficError(f"the process to {self._role} was not ready after {_READY_S:g} s")
        status = self._process.poll()
        if status is not None and status < 0:
            return TrafficError(f"the process to {self._role} {end_text(status)}")
        self._process.kill()
        lines = [line for line in self._process.stderr.read().splitlines() if line.strip()]
        return TrafficError(f"the process to {self._role} failed: {lines[-1] if lines else 'no output'}")


@contextlib.contextmanager
def started(processes: Iterable[TrafficProcess]) -> Iterator[list[TrafficProcess]]:
    """Yields processes once they have their jobs and are ready, and ends them in any case.

    Raises:
        TrafficError: a process failed.
    """
    begun: list[TrafficProcess] = []
    with contextlib.ExitStack() as ends:
        for process in processes:
            ends.callback(process.kill)
            begun.append(process)
        with _ended_in_time(begun):
            for process in begun:
                process.send_job()
            for process in begun:
                process.wait_until_ready()
        yield begun


@contextlib.contextmanager
def _ended_in_time(processes: list[TrafficProcess]) -> Iterator[None]:
    """Kills processes that are not ready in time, whether they take their jobs or not."""

    def end() -> None:
        for process in processes:
            process.give_up()

    timer = threading.Timer(_READY_S, end)
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
    look: Callable[[float], None],
) -> Course:
    """Starts the clock and waits for all processes to end; if one fails, the others are asked to end.

    Args:
        processes: processes that are ready.
        latest_s: latest time of their end, in seconds after the start.
        starts: called once, just before the start, with its clock.
        look: called several times a second with the seconds since the start.

    Raises:
        TrafficError: a process failed before the start.
    """
    clock = Clock(time.monotonic_ns() + _LEAD_NS, time.time_ns() + _LEAD_NS)
    for process in processes:
        process.send(asdict(clock))
    starts(clock)
    interrupted, failed = False, ""
    try:
        failed = _watched(processes, clock, latest_s, look)
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
        except (KeyboardInterrupt, SystemExit):  # it was asked to end already, and does so
            interrupted = True
            process.request_end()
            lost.append(process.wait_or_kill())
    failed = failed or next(filter(None, lost), "")
    return Course(clock, interrupted, failed, seconds)


def _watched(
    processes: list[TrafficProcess], clock: Clock, latest_s: float, look: Callable[[float], None]
) -> str:
    """Returns when all processes have ended, or one failed: then with the reason, a sentence."""
    before_s = time.monotonic()
    try:
        while sum(process.running for process in processes):  # every one is polled
            now_s = time.monotonic()
            elapsed_s, before_s = min(now_s - before_s, _MOST_BETWEEN_LOOKS_S), now_s
            seconds = now_s - clock.monotonic_ns / 1e9
            longest_s = min(_SILENT_S + _SILENT_SHARE * seconds, _MOST_SILENT_S)
            for process in processes:
                if process.silent_s(elapsed_s) > longest_s:
                    return f"the process to {process.role} was stopped: no report for {longest_s:.0f} s"
            if seconds > latest_s + _GRACE_S:
                return f"the traffic was not done after {latest_s:.0f} s"
            look(seconds)
            time.sleep(_LOOK_EVERY_S)
    except TrafficError as error:
        return str(error)
    return ""
