"""Runs a collective's job in a process of its own."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from traffic.engine.collective_job import CollectiveJob, CollectiveOutcome, load_outcome
from traffic.engine.engine import TrafficInterrupted, TrafficResult
from traffic.engine.job import Clock
from traffic.engine.processes import TrafficProcess, run_to_the_end, started
from traffic.engine.telemetry import Told


def run_collective(
    job: CollectiveJob,
    environment: Mapping[str, str],
    folder: Path,
    progress: Callable[[float, Told], None] = lambda _seconds, _told: None,
    starts: Callable[[Clock], None] = lambda _clock: None,
) -> TrafficResult:
    """Runs a job to its end; the result has its `outcome`.

    Args:
        job: what to do.
        environment: for the process.
        folder: where it leaves its result, for a moment.
        progress: called several times a second with the seconds since the start and what was told.
        starts: called once, just before the start, with its clock.

    Raises:
        TrafficError: the process failed.
        TrafficInterrupted: Ctrl-C; it carries what was measured until then.
    """
    with tempfile.TemporaryDirectory(prefix="collective-", dir=folder) as own:
        path = Path(own, "outcome.npz")
        with started([TrafficProcess("collective", job.to_dict(), path, environment)]) as processes:
            told = processes[0].told
            looks: Callable[[float], None] = lambda seconds: progress(seconds, told)  # noqa: E731
            interrupted, clock = run_to_the_end(processes, math.inf, starts, looks)
        outcome: CollectiveOutcome = load_outcome(path)
    window_ns = (0, round(outcome.sent.seconds * 1e9))
    result = TrafficResult(
        outcome.sent,
        outcome.received,
        clock,
        job.interval_ns,
        window_ns,
        interrupted=interrupted,
        outcome=outcome,
    )
    if interrupted:
        raise TrafficInterrupted(result)
    return result
