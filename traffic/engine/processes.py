"""The traffic processes as their parent sees them: started, given their jobs, awaited and ended."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from topology.errors import PolarLabError
from traffic.engine.child_process import start_python
from traffic.engine.telemetry import LiveCounts
from traffic.metrics.measurements import Clock

_LEAD_NS = 50_000_000  # from the readiness of all processes to the first packet
_GRACE_S = 30.0
_LOOK_EVERY_S = 0.05


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

    def __init__(self, role: str, job: dict[str, Any], path: Path, environment: Mapping[str, str]) -> None:
        """Starts the process.

        Args:
            role: one of `traffic.engine.worker.ROLES`.
            job: the job, as plain data.
            path: the file for its measurement.
            environment: of the process.
        """
        self.counts = LiveCounts()
        self._role, self._job = role, job
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._process = start_python(["-m", "traffic.engine.worker", role, str(path)], environment)

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
        """Sends it plain data as a line of JSON."""
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(content) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure() from None

    def send_job(self) -> None:
        """Sends it its job."""
        self.send(self._job)

    def wait_until_ready(self) -> None:
        """Returns when its sockets are open."""
        assert self._process.stdout
        if self._process.stdout.readline() != "ready\n":
            raise self._failure()
        self._listener.start()

    def request_end(self) -> None:
        """Asks it to end early and to store its measurement so far."""
        self._process.terminate()

    def wait(self) -> None:
        """Returns when it has ended.

        Raises:
            TrafficError: it failed, or does not end.
        """
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            raise TrafficError(f"the process to {self._role} has not ended after {_GRACE_S:g} s") from None
        if self._process.returncode:
            raise self._failure()

    def wait_or_kill(self) -> None:
        """Returns when it has ended, however that came; one that does not end is killed."""
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def kill(self) -> None:
        """Ends it at once."""
        self._process.kill()
        self._process.wait()
        if self._listener.is_alive():
            self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self.counts.read(line)

    def _failure(self) -> TrafficError:
        assert self._process.stderr
        status = self._process.poll()
        if status is not None and status < 0:
            name = signal.Signals(-status).name
            return TrafficError(f"the process to {self._role} was ended by {name}")
        self._process.kill()
        lines = [line for line in self._process.stderr.read().splitlines() if line.strip()]
        return TrafficError(f"the process to {self._role} failed: {lines[-1] if lines else 'no output'}")


@contextmanager
def started(processes: Iterable[TrafficProcess]) -> Iterator[list[TrafficProcess]]:
    """Yields processes once they have their jobs and are ready, and ends them in any case.

    Raises:
        TrafficError: a process failed.
    """
    begun: list[TrafficProcess] = []
    try:
        for process in processes:
            begun.append(process)
        for process in begun:
            process.send_job()
        for process in begun:
            process.wait_until_ready()
        yield begun
    finally:
        for process in begun:
            process.kill()


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
    interrupted, failed = False, ""
    starts(clock)
    try:
        while sum(process.running for process in processes):  # every one is polled
            seconds = (time.monotonic_ns() - clock.monotonic_ns) / 1e9
            if seconds > latest_s + _GRACE_S:
                raise TrafficError(f"the traffic was not done after {latest_s:.0f} s")
            look(seconds)
            time.sleep(_LOOK_EVERY_S)
    except (KeyboardInterrupt, SystemExit):
        interrupted = True
    except TrafficError as error:
        failed = str(error)
    seconds = (time.monotonic_ns() - clock.monotonic_ns) / 1e9
    if interrupted or failed:
        for process in reversed(processes):
            process.request_end()
    for process in processes:
        process.wait_or_kill() if failed else process.wait()
    return Course(clock, interrupted, failed, seconds)
