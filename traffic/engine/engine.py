"""Runs a traffic job: one process that sends, one that collects, and nothing of either in this one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from traffic.engine.collective_job import CollectiveOutcome
from traffic.engine.collector import MAX_DRAIN_NS
from traffic.engine.job import Clock, Received, Sent, TrafficJob, load_received, load_sent
from traffic.engine.processes import TrafficProcess, run_to_the_end, started
from traffic.engine.telemetry import Live, SteadyState
from traffic.workload.schedule import from_dict

_NS = 1_000_000_000
# From when a window is decided on to its begin: it has to reach both processes first.
_WINDOW_LEAD_NS = 300_000_000


@dataclass(frozen=True)
class TrafficResult:
    """What one job sent and received.

    Attributes:
        sent, received: by the two processes.
        clock: when it started.
        interval_ns: the time step of its series.
        window_ns: begin and end of what was measured, since the start; None if it never began.
        steady: whether the throughput had settled when it began; None where that was not looked at.
        interrupted: whether it was ended early.
        outcome: what a collective came to; None if there was none.
    """

    sent: Sent
    received: Received
    clock: Clock
    interval_ns: int
    window_ns: tuple[int, int] | None
    steady: bool | None = None
    interrupted: bool = False
    outcome: CollectiveOutcome | None = None


class TrafficInterrupted(KeyboardInterrupt):
    """Ctrl-C while traffic ran; `result` is what was measured until then."""

    def __init__(self, result: TrafficResult) -> None:
        super().__init__()
        self.result = result


def run_traffic(
    job: TrafficJob,
    environment: Mapping[str, str],
    folder: Path,
    progress: Callable[[Live], None] = lambda _live: None,
    starts: Callable[[Clock], None] = lambda _clock: None,
    steady: SteadyState | None = None,
) -> TrafficResult:
    """Runs a job to its end.

    Args:
        job: what to send and to collect.
        environment: for the two processes.
        folder: where they leave their results, for a moment.
        progress: called several times a second.
        starts: called once, just before the schedule's start, with its clock.
        steady: when the window of a job that says none is to begin.

    Raises:
        TrafficError: one of the two processes failed.
        TrafficInterrupted: Ctrl-C; it carries what was measured until then.
    """
    with tempfile.TemporaryDirectory(prefix="traffic-", dir=folder) as own:
        paths = {role: Path(own, f"{role}.npz") for role in ("collect", "send")}
        # The collector first: it must be listening when the first packet goes out.
        starting = (TrafficProcess(role, job.to_dict(), path, environment) for role, path in paths.items())
        with started(starting) as processes:
            collector, sender = processes
            window = _Window(job, steady, processes)

            def look(seconds: float) -> None:
                window.look(seconds)
                progress(Live.of(seconds, sender.told, collector.told))

            latest_s = (from_dict(job.schedule).end_ns + job.quiet_ns + MAX_DRAIN_NS) / _NS
            interrupted, clock = run_to_the_end(processes, latest_s, starts, look)
        result = TrafficResult(
            load_sent(paths["send"]),
            load_received(paths["collect"]),
            clock,
            job.interval_ns,
            window.window_ns,
            window.steady,
            interrupted,
        )
    if interrupted:
        raise TrafficInterrupted(result)
    return result


class _Window:
    """Decides when the measured window begins, where the job does not say."""

    def __init__(self, job: TrafficJob, steady: SteadyState | None, processes: list[TrafficProcess]) -> None:
        self.window_ns = job.window_ns
        self.steady: bool | None = None
        self._criterion, self._processes = steady, processes

    def look(self, seconds: float) -> None:
        """Sets the window if it is time."""
        criterion = self._criterion
        if self.window_ns is not None or criterion is None:
            return
        steady = criterion.reached(self._processes[0].told)
        if steady or seconds >= criterion.most_s:
            self.steady = steady
            begin_ns = round(seconds * _NS) + _WINDOW_LEAD_NS
            self.window_ns = begin_ns, begin_ns + criterion.duration_ns
            for process in self._processes:
                process.tell({"window_ns": self.window_ns})
