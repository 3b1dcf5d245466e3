"""Runs traffic jobs in separate processes: a sender and a collector, or one process for all hosts."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from topology.errors import MachineError
from traffic.engine.collector import MAX_DRAIN_NS
from traffic.engine.jobs import CollectiveJob, FlowJob, TrafficJob
from traffic.engine.measurement_files import (
    load_flows,
    load_outcome,
    load_received,
    load_sent,
    loaded_or,
)
from traffic.engine.processes import TrafficError, TrafficProcess, run_until_done, started
from traffic.engine.telemetry import LiveCounts, TrafficSnapshot
from traffic.metrics.measurements import (
    Clock,
    TrafficResult,
    no_flows,
    no_outcome,
    no_packets_received,
    no_packets_sent,
)
from traffic.metrics.steady_state import SteadyState
from traffic.workload.schedule import schedule_from_dict

_NS = 1_000_000_000
# Time from the decision on a window to its start: both processes must learn of it first.
_WINDOW_LEAD_NS = 300_000_000


class TrafficInterrupted(KeyboardInterrupt):
    """Ctrl-C while traffic was running; `result` has the measurements so far."""

    def __init__(self, result: TrafficResult) -> None:
        super().__init__()
        self.result = result


class TrafficBroken(TrafficError, MachineError):
    """A traffic process failed while traffic was running; `result` has the measurements that were saved."""

    def __init__(self, result: TrafficResult) -> None:
        super().__init__(result.failed)
        self.result = result


def run_traffic(
    job: TrafficJob,
    environment: Mapping[str, str],
    folder: Path,
    progress: Callable[[TrafficSnapshot], None] = lambda _snapshot: None,
    starts: Callable[[Clock], None] = lambda _clock: None,
    steady: SteadyState | None = None,
    ends: Callable[[], bool] = lambda: False,
) -> TrafficResult:
    """Runs a job to its end, with a sender and a collector process.

    Args:
        job: the schedule and its measurement window.
        environment: environment of both processes.
        folder: folder for their temporary files.
        progress: called several times per second.
        starts: called once, just before the schedule's start, with its clock.
        steady: criterion that starts the window if the job does not define it.
        ends: returns whether to end the window now, ahead of time; packets under way still count.

    Raises:
        TrafficError: a process failed before the start.
        TrafficBroken: a process failed while traffic was running; the exception has what was saved.
        TrafficInterrupted: Ctrl-C; the exception has the measurements so far.
    """
    with tempfile.TemporaryDirectory(prefix="traffic-", dir=folder) as temporary:
        paths = {role: Path(temporary, f"{role}.npz") for role in ("collect", "send")}
        # The collector first: it must be listening before the first packet is sent.
        starting = (TrafficProcess(role, job.to_dict(), path, environment) for role, path in paths.items())
        with started(starting) as processes:
            collector, sender = processes
            window = MeasuredWindow(job, steady, processes, ends)

            def poll(seconds: float) -> None:
                window.update(seconds)
                progress(TrafficSnapshot.of(seconds, sender.counts, collector.counts, window.end_s))

            latest_s = (schedule_from_dict(job.schedule).end_ns + job.quiet_ns + MAX_DRAIN_NS) / _NS
            run = run_until_done(processes, latest_s, starts, poll)
        empty_totals = None
        if run.failed:
            hosts, seconds = len(job.hosts), run.seconds
            empty_totals = no_packets_sent(hosts, seconds), no_packets_received(hosts)
        result = TrafficResult(
            loaded_or(empty_totals and empty_totals[0], load_sent, paths["send"]),
            loaded_or(empty_totals and empty_totals[1], load_received, paths["collect"]),
            run.clock,
            job.interval_ns,
            window.window_ns,
            window.steady,
            run.interrupted,
            failed=run.failed,
            settling_ns=job.settling_ns,
        )
    return _complete(result)


def run_collective(
    job: CollectiveJob,
    environment: Mapping[str, str],
    folder: Path,
    progress: Callable[[float, LiveCounts], None] = lambda _seconds, _counts: None,
    starts: Callable[[Clock], None] = lambda _clock: None,
) -> TrafficResult:
    """Runs a collective to its end, with one process for all ranks.

    Args:
        job: the collective, its sizes and iterations.
        environment: environment of the process.
        folder: folder for its temporary file.
        progress: called several times per second with the seconds since the start and the counts so far.
        starts: called once, just before the start, with its clock.

    Returns:
        The measurements, including `outcome`; their window is the whole run.

    Raises:
        TrafficError: the process failed before the start.
        TrafficBroken: the process failed while traffic was running; the exception has what was saved.
        TrafficInterrupted: Ctrl-C; the exception has the measurements so far.
    """
    with tempfile.TemporaryDirectory(prefix="collective-", dir=folder) as temporary:
        path = Path(temporary, "outcome.npz")
        with started(
            [TrafficProcess("collective", job.to_dict(), path, environment, [job.name])]
        ) as processes:
            (process,) = processes

            def poll(seconds: float) -> None:
                progress(seconds, process.counts)

            run = run_until_done(processes, math.inf, starts, poll)
        empty_outcome = no_outcome(len(job.hosts), job.ranks, run.seconds, run.failed)
        outcome = loaded_or(empty_outcome if run.failed else None, load_outcome, path)
        outcome = replace(outcome, failed=outcome.failed or run.failed)
    result = TrafficResult(
        outcome.sent,
        outcome.received,
        run.clock,
        job.interval_ns,
        window_ns=(0, round(outcome.sent.seconds * _NS)),
        interrupted=run.interrupted,
        outcome=outcome,
        failed=run.failed,
    )
    return _complete(result)


def _complete(result: TrafficResult) -> TrafficResult:
    """Returns `result` if the run completed; otherwise raises TrafficBroken or TrafficInterrupted."""
    if result.failed:
        raise TrafficBroken(result)
    if result.interrupted:
        raise TrafficInterrupted(result)
    return result


def run_flows(
    job: FlowJob,
    environment: Mapping[str, str],
    folder: Path,
    progress: Callable[[float, LiveCounts], None] = lambda _seconds, _counts: None,
    starts: Callable[[Clock], None] = lambda _clock: None,
) -> TrafficResult:
    """Runs TCP flows to their end, with one process for the sockets of all hosts.

    Args:
        job: the flows.
        environment: environment of the process.
        folder: folder for its temporary file.
        progress: called several times per second with the seconds since the start and the counts so far:
            completed flows and received bytes.
        starts: called once, just before the start, with its clock.

    Returns:
        The measurements, including `flows`.

    Raises:
        TrafficError: the process failed before the start.
        TrafficBroken: the process failed while traffic was running; the exception has what was saved.
        TrafficInterrupted: Ctrl-C; the exception has the measurements so far.
    """
    with tempfile.TemporaryDirectory(prefix="flows-", dir=folder) as temporary:
        path = Path(temporary, "flows.npz")
        with started([TrafficProcess("flows", job.to_dict(), path, environment)]) as processes:
            (process,) = processes

            def poll(seconds: float) -> None:
                progress(seconds, process.counts)

            run = run_until_done(processes, job.end_ns / _NS, starts, poll)
        empty_outcome = no_flows(job.records(), len(job.hosts), run.seconds) if run.failed else None
        outcome = loaded_or(empty_outcome, load_flows, path)
    result = TrafficResult(
        outcome.sent(),
        outcome.received(),
        run.clock,
        job.interval_ns,
        window_ns=job.window_ns,
        interrupted=run.interrupted,
        flows=outcome,
        failed=run.failed,
        settling_ns=job.window_ns[0],  # a flow that started late may last into the window
    )
    return _complete(result)


class MeasuredWindow:
    """The measurement window of a running job.

    The job defines the window, or the window starts when throughput is steady (`SteadyState`). It can
    be ended early.
    """

    def __init__(
        self,
        job: TrafficJob,
        steady: SteadyState | None,
        processes: list[TrafficProcess],
        ends: Callable[[], bool],
    ) -> None:
        self.window_ns = job.window_ns
        self.steady: bool | None = None
        self._criterion, self._processes, self._ends = steady, processes, ends
        self._ended = False

    @property
    def end_s(self) -> float:
        """The end of the window, in seconds since the schedule's start; inf while it is not known."""
        return math.inf if self.window_ns is None else self.window_ns[1] / _NS

    def update(self, seconds: float) -> None:
        """Starts the window once throughput is steady, or ends it early on request.

        Args:
            seconds: current time since the schedule's start.
        """
        # The earliest time by which both processes know the window.
        next_ns = round(seconds * _NS) + _WINDOW_LEAD_NS
        criterion = self._criterion
        if self.window_ns is not None:
            if not self._ended and self._ends():
                self._ended = True
                self._set(min(self.window_ns[0], next_ns), min(self.window_ns[1], next_ns))
        elif criterion is not None:
            # Traffic after a stall is not what it was before: the criterion starts anew.
            late_s = max(process.counts.late_s for process in self._processes)
            times_s, total_bytes = self._processes[0].counts.byte_totals()
            after = times_s >= late_s
            steady = criterion.reached(times_s[after], total_bytes[after])
            if steady or seconds >= criterion.max_s:
                self.steady = steady
                self._set(next_ns, next_ns + criterion.duration_ns)

    def _set(self, begin_ns: int, end_ns: int) -> None:
        self.window_ns = begin_ns, end_ns
        for process in self._processes:
            process.send({"window_ns": self.window_ns})
