"""The processes that send and receive, seen from the one that starts them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from topology.errors import PolarLabError
from traffic.engine.jobs import Clock
from traffic.engine.telemetry import LiveCounts

_LEAD_NS = 50_000_000  # from "all are ready" to the first packet
_GRACE_S = 30.0
_LOOK_EVERY_S = 0.05


class TrafficError(PolarLabError):
    """A traffic process failed; the text has what it said."""


class TrafficProcess:
    """One process of `traffic.engine.worker`.

    Attributes:
        counts: the totals of its packets that it has reported so far.
    """

    def __init__(self, role: str, job: dict[str, Any], path: Path, environment: Mapping[str, str]) -> None:
        """Starts it; it is to leave its result at `path`."""
        self.counts = LiveCounts()
        self._role, self._job = role, job
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._process = subprocess.Popen(
            # The kernel ends it with us, however we end; -P: nothing is imported from the working directory.
            [
                "setpriv",
                "--pdeathsig",
                "KILL",
                sys.executable,
                "-P",
                "-m",
                "traffic.engine.worker",
                role,
                str(path),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )

    @property
    def running(self) -> bool:
        """Whether it has not ended yet.

        Raises:
            TrafficError: it ended, and not well.
        """
        if self._process.poll():
            raise self._failure()
        return self._process.returncode is None

    def tell(self, content: Any) -> None:
        """Sends it something as a line of JSON."""
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(content) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure() from None

    def tell_job(self) -> None:
        """Sends it its job."""
        self.tell(self._job)

    def wait_until_ready(self) -> None:
        """Returns when its sockets are open."""
        assert self._process.stdout
        if self._process.stdout.readline() != "ready\n":
            raise self._failure()
        self._listener.start()

    def end_early(self) -> None:
        """Asks it to end and to leave what it has."""
        self._process.terminate()

    def wait(self) -> None:
        """Returns when it has ended."""
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            raise TrafficError(f"the process to {self._role} does not end") from None
        if self._process.returncode:
            raise self._failure()

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
        self._process.kill()
        assert self._process.stderr
        lines = [line for line in self._process.stderr.read().splitlines() if line.strip()]
        return TrafficError(
            f"the process to {self._role} failed: {lines[-1] if lines else 'it said nothing'}"
        )


@contextmanager
def started(processes: Iterable[TrafficProcess]) -> Iterator[list[TrafficProcess]]:
    """Gives processes that have their jobs and are ready, and ends them in any case; raises TrafficError."""
    begun: list[TrafficProcess] = []
    try:
        for process in processes:
            begun.append(process)
        for process in begun:
            process.tell_job()
        for process in begun:
            process.wait_until_ready()
        yield begun
    finally:
        for process in begun:
            process.kill()


def run_to_the_end(
    processes: list[TrafficProcess],
    latest_s: float,
    starts: Callable[[Clock], None],
    looks: Callable[[float], None],
) -> tuple[bool, Clock]:
    """Starts the clock and returns when all processes have ended: whether early, and the clock.

    Args:
        processes: those that `started` gave.
        latest_s: when they have to be done, in seconds after the start.
        starts: called once, just before the start, with its clock.
        looks: called several times a second with the seconds since the start.

    Raises:
        TrafficError: one of them failed.
    """
    clock = Clock(time.monotonic_ns() + _LEAD_NS, time.time_ns() + _LEAD_NS)
    for process in processes:
        process.tell(asdict(clock))
    interrupted = False
    starts(clock)
    try:
        while sum(process.running for process in processes):  # all are looked at
            seconds = (time.monotonic_ns() - clock.monotonic_ns) / 1e9
            if seconds > latest_s + _GRACE_S:
                raise TrafficError(f"the traffic was not done after {latest_s:.0f} s")
            looks(seconds)
            time.sleep(_LOOK_EVERY_S)
    except (KeyboardInterrupt, SystemExit):
        interrupted = True
        for process in reversed(processes):
            process.end_early()
    for process in processes:
        process.wait()
    return interrupted, clock
