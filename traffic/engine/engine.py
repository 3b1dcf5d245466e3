"""Runs of traffic jobs, in processes of their own: a sender and a collector, or one for all hosts."""

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
# From when a window is decided on to its begin: it has to reach both processes first.
_WINDOW_LEAD_NS = 300_000_000


class TrafficInterrupted(KeyboardInterrupt):
    """Ctrl-C while traffic ran; `result` has the measurements until then."""

    def __init__(self, result: TrafficResult) -> None:
        super().__init__()
        self.result = result


class TrafficBroken(TrafficError, MachineError):
    """Failure of a traffic process while traffic ran; `result` has the measurements that are left."""

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
    """Runs a job to its end, by one process that sends and one that collects.

    Args:
        job: the schedule and its measured window.
        environment: of the two processes.
        folder: the place of their temporary files.
        progress: called several times a second.
        starts: called once, just before the schedule's start, with its clock.
        steady: the criterion that begins the window of a job without one.
        ends: returns whether the window is to end now, before its time; packets on their way still count.

    Raises:
        TrafficError: one of the two processes failed.
        TrafficBroken: it failed while traffic ran; it carries the measurements that are left.
        TrafficInterrupted: Ctrl-C; it carries the measurements until then.
    """
    with tempfile.TemporaryDirectory(prefix="traffic-", dir=folder) as temporary:
        paths = {role: Path(temporary, f"{role}.npz") for role in ("collect", "send")}
        # The collector first: it must be listening when the first packet goes out.
        starting = (TrafficProcess(role, job.to_dict(), path, environment) for role, path in paths.items())
        with started(starting) as processes:
            collector, sender = processes
            window = MeasuredWindow(job, steady, processes, ends)

            def look(seconds: float) -> None:
                window.look(seconds)
                progress(TrafficSnapshot.of(seconds, sender.counts, collector.counts, window.end_s))

            latest_s = (schedule_from_dict(job.schedule).end_ns + job.quiet_ns + MAX_DRAIN_NS) / _NS
            course = run_until_done(processes, latest_s, starts, look)
        nothing = None
        if course.failed:
            hosts, seconds = len(job.hosts), course.seconds
            nothing = no_packets_sent(hosts, seconds), no_packets_received(hosts)
        result = TrafficResult(
            loaded_or(nothing and nothing[0], load_sent, paths["send"]),
            loaded_or(nothing and nothing[1], load_received, paths["collect"]),
            course.clock,
            job.interval_ns,
            window.window_ns,
            window.steady,
            course.interrupted,
            failed=course.failed,
        )
    return _complete(result)


def run_collective(
    job: CollectiveJob,
    environment: Mapping[str, str],
    folder: Path,
    progress: Callable[[float, LiveCounts], None] = lambda _seconds, _counts: None,
    starts: Callable[[Clock], None] = lambda _clock: None,
) -> TrafficResult:
    """Runs a collective to its end, by one process that holds all ranks.

    Args:
        job: the collective, its sizes and iterations.
        environment: of the process.
        folder: the place of its temporary file.
        progress: called several times a second with the seconds since the start and the counts so far.
        starts: called once, just before the start, with its clock.

    Returns:
        The measurements, `outcome` among them; their window is the whole run.

    Raises:
        TrafficError: the process failed.
        TrafficBroken: it failed while traffic ran; nothing is left of its measurements.
        TrafficInterrupted: Ctrl-C; it carries the measurements until then.
    """
    with tempfile.TemporaryDirectory(prefix="collective-", dir=folder) as temporary:
        path = Path(temporary, "outcome.npz")
        with started(
            [TrafficProcess("collective", job.to_dict(), path, environment, [job.name])]
        ) as processes:
            (process,) = processes

            def look(seconds: float) -> None:
                progress(seconds, process.counts)

            course = run_until_done(processes, math.inf, starts, look)
        nothing = no_outcome(len(job.hosts), job.ranks, course.seconds, course.failed)
        outcome = loaded_or(nothing if course.failed else None, load_outcome, path)
        outcome = replace(outcome, failed=outcome.failed or course.failed)
    result = TrafficResult(
        outcome.sent,
        outcome.received,
        course.clock,
        job.interval_ns,
        window_ns=(0, round(outcome.sent.seconds * _NS)),
        interrupted=course.interrupted,
        outcome=outcome,
        failed=course.failed,
    )
    return _complete(result)


def _complete(result: TrafficResult) -> TrafficResult:
    """Returns the result of a run that came to its end; raises TrafficBroken or TrafficInterrupted."""
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
    """Runs TCP flows to their end, by one process that has the sockets of all hosts.

    Args:
        job: the flows.
        environment: of the process.
        folder: the place of its temporary file.
        progress: called several times a second with the seconds since the start and the counts so far, of
            completed flows and of their bytes that arrived.
        starts: called once, just before the start, with its clock.

    Returns:
        The measurements, `flows` among them.

    Raises:
        TrafficError: the process failed.
        TrafficBroken: it failed while traffic ran; it carries flows of which nothing is known.
        TrafficInterrupted: Ctrl-C; it carries the measurements until then.
    """
    with tempfile.TemporaryDirectory(prefix="flows-", dir=folder) as temporary:
        path = Path(temporary, "flows.npz")
        with started([TrafficProcess("flows", job.to_dict(), path, environment)]) as processes:
            (process,) = processes

            def look(seconds: float) -> None:
                progress(seconds, process.counts)

            course = run_until_done(processes, job.end_ns / _NS, starts, look)
        nothing = no_flows(job.records(), len(job.hosts), course.seconds) if course.failed else None
        outcome = loaded_or(nothing, load_flows, path)
    result = TrafficResult(
        outcome.sent(),
        outcome.received(),
        course.clock,
        job.interval_ns,
        window_ns=job.window_ns,
        interrupted=course.interrupted,
        flows=outcome,
        failed=course.failed,
    )
    return _complete(result)


class MeasuredWindow:
    """The measured window: the job's own, or begun when its criterion says so; it may end before its time."""

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
        """Its end in s since the schedule's start; inf where it is not known yet."""
        return math.inf if self.window_ns is None else self.window_ns[1] / _NS

    def look(self, seconds: float) -> None:
        """Begins the window once the criterion is reached; `seconds` have passed since the start."""
        # From then on, the processes know the window.
        next_ns = round(seconds * _NS) + _WINDOW_LEAD_NS
        criterion = self._criterion
        if self.window_ns is not None:
            if not self._ended and self._ends():
                self._ended = True
                self._set(min(self.window_ns[0], next_ns), min(self.window_ns[1], next_ns))
        elif criterion is not None:
            steady = criterion.reached(*self._processes[0].counts.byte_totals())
            if steady or seconds >= criterion.most_s:
                self.steady = steady
                self._set(next_ns, next_ns + criterion.duration_ns)

    def _set(self, begin_ns: int, end_ns: int) -> None:
        self.window_ns = begin_ns, end_ns
        for process in self._processes:
            process.send({"window_ns": self.window_ns})
