"""Runs a traffic job: one process that sends, one that collects, and nothing of either in this one."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from topology.errors import PolarLabError
from traffic.collector import MAX_DRAIN_NS
from traffic.job import Clock, Received, Sent, TrafficJob, load_received, load_sent
from traffic.schedule import from_dict

_LEAD_NS = 50_000_000  # from "both are ready" to the first packet
_GRACE_S = 30.0


class TrafficError(PolarLabError):
    """A traffic process failed; the text has what it said."""


@dataclass(frozen=True)
class TrafficResult:
    """What one job sent and received, when it started, and the time step of its series."""

    sent: Sent
    received: Received
    clock: Clock
    interval_ns: int
    interrupted: bool = False


def run_traffic(
    job: TrafficJob,
    environment: Mapping[str, str],
    folder: Path,
    progress: Callable[[float], None] = lambda _seconds: None,
    starts: Callable[[Clock], None] = lambda _clock: None,
) -> TrafficResult:
    """Runs a job to its end.

    Args:
        job: what to send and to collect.
        environment: for the two processes.
        folder: where they leave their results, for a moment.
        progress: called several times a second with the seconds since the schedule's start.
        starts: called once, just before the schedule's start, with its clock.

    Raises:
        TrafficError: one of the two processes failed.
        TrafficInterrupted: Ctrl-C; it carries what was measured until then.
    """
    with tempfile.TemporaryDirectory(prefix="traffic-", dir=folder) as own:
        paths = {role: Path(own, f"{role}.npz") for role in ("collect", "send")}
        # The collector first: it must be listening when the first packet goes out.
        workers = {role: _start(role, path, environment) for role, path in paths.items()}
        try:
            interrupted, clock = _run(job, workers, progress, starts)
        finally:
            for worker in workers.values():
                worker.kill()
                worker.communicate()
        result = TrafficResult(
            load_sent(paths["send"]),
            load_received(paths["collect"]),
            clock,
            job.interval_ns,
            interrupted,
        )
    if interrupted:
        raise TrafficInterrupted(result)
    return result


class TrafficInterrupted(KeyboardInterrupt):
    """Ctrl-C while traffic ran; `result` is what was measured until then."""

    def __init__(self, result: TrafficResult) -> None:
        super().__init__()
        self.result = result


_Workers = dict[str, "subprocess.Popen[str]"]


def _run(
    job: TrafficJob,
    workers: _Workers,
    progress: Callable[[float], None],
    starts: Callable[[Clock], None],
) -> tuple[bool, Clock]:
    for role, worker in workers.items():
        _tell(role, worker, json.dumps(job.to_dict()))
    for role, worker in workers.items():
        assert worker.stdout
        if worker.stdout.readline() != "ready\n":
            raise _failure(role, worker)
    clock = Clock(time.monotonic_ns() + _LEAD_NS, time.time_ns() + _LEAD_NS)
    for role, worker in workers.items():
        _tell(role, worker, json.dumps(asdict(clock)))
    interrupted = False
    starts(clock)
    try:
        _wait(job, workers, clock, progress)
    except (KeyboardInterrupt, SystemExit):
        interrupted = True
        for worker in reversed(workers.values()):
            worker.terminate()
    for role, worker in workers.items():
        try:
            worker.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            raise TrafficError(f"the process to {role} does not end") from None
        if worker.returncode:
            raise _failure(role, worker)
    return interrupted, clock


def _wait(job: TrafficJob, workers: _Workers, clock: Clock, progress: Callable[[float], None]) -> None:
    schedule = from_dict(job.schedule)
    latest_s = (schedule.end_ns + job.quiet_ns + MAX_DRAIN_NS) / 1e9 + _GRACE_S
    while any(worker.poll() is None for worker in workers.values()):
        for role, worker in workers.items():
            if worker.returncode:
                raise _failure(role, worker)
        seconds = (time.monotonic_ns() - clock.monotonic_ns) / 1e9
        if seconds > latest_s:
            raise TrafficError(f"the traffic was not done after {latest_s:.0f} s")
        progress(seconds)
        time.sleep(0.05)


def _start(role: str, path: Path, environment: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        # The kernel ends it with us, however we end; -P: nothing is imported from the working directory.
        ["setpriv", "--pdeathsig", "KILL", sys.executable, "-P", "-m", "traffic.worker", role, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )


def _tell(role: str, worker: subprocess.Popen[str], line: str) -> None:
    assert worker.stdin
    try:
        worker.stdin.write(line + "\n")
        worker.stdin.flush()
    except BrokenPipeError:
        raise _failure(role, worker) from None


def _failure(role: str, worker: subprocess.Popen[str]) -> TrafficError:
    worker.kill()
    _, said = worker.communicate()
    lines = [line for line in said.splitlines() if line.strip()]
    return TrafficError(f"the process to {role} failed: {lines[-1] if lines else 'it said nothing'}")
