"""Failover demonstration: periodic probes of all pairs while a component fails, is bypassed, and returns.

Pairs whose minimal path crosses a failed component, up to as many as the machine can carry, are probed every
millisecond; all pairs are probed at a longer interval. Every arrival is logged, so that losses and silences
are known probe by probe.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from emulation.cleanup import signals_deferred
from emulation.requirements import require_emulation
from emulation.subprocesses import marked_environment
from experiments.events.base import OnEvent
from experiments.events.marks import Interrupted, ResultsWritten
from experiments.events.notices import Notice
from experiments.events.progress import ProbesSent
from experiments.failover.course import Course, final_headline
from experiments.failover.live import LiveCourse
from experiments.failover.probes import Probes
from experiments.fault_injector import FaultSchedule
from experiments.live_fabric import LiveFabric, Watching, live_fabric, unwatched
from experiments.pair_check import check_all_pairs
from experiments.results.failover import FailoverSummary
from experiments.results.manifest import run_manifest, write_manifest
from experiments.results.run_directory import SUMMARY, RunDirectory, kept_directory
from experiments.results.tables import EVENT_COLUMNS, EVENTS, PROBE_COLUMNS, PROBES
from experiments.spec.fabric import FabricOptions
from experiments.spec.failover import FailoverOptions
from experiments.traffic_jobs import make_job
from experiments.validity.clock_monitor import ClockMonitor
from experiments.validity.controller_monitor import ControllerMonitor
from experiments.validity.foreign_frames import MAX_FRAMES, HostBytes
from experiments.validity.monitors import HostMonitor, cpu_stolen_s
from routing.replan.surviving_graph import crossing_pairs
from topology.base import Topology
from topology.errors import NegativeResult, Terminated
from topology.failures import Failure, failure_of, link_failures
from topology.faults import Component, link_component
from topology.shortest_paths import connected_components
from traffic.engine.engine import TrafficBroken, TrafficInterrupted, run_traffic
from traffic.engine.telemetry import TrafficSnapshot
from traffic.metrics.measurements import TrafficResult
from traffic.wire.layout import HEADER_BYTES
from traffic.workload.schedule import ProbeSchedule, ProbeStream

FAST_NS, SLOW_NS = 1_000_000, 100_000_000
# This rate leaves the machine enough time for its switches to react to a failure at once. If it is too low
# for all pairs, fewer pairs are watched and all pairs are probed less often: see the result's intervals.
PROBES_PER_S = 6_000
SLOW_SHARE = 1 / 3
_RUN_ID = 200


@dataclass(frozen=True)
class Observation:
    """Result of a demonstration.

    Attributes:
        summary: the summary.
        series: rows of PROBE_COLUMNS.
        events: (seconds since the first probe, description), in order of time.
    """

    summary: FailoverSummary
    series: tuple[tuple[Any, ...], ...]
    events: tuple[tuple[float, str], ...]


def run_failover(
    fabric_options: FabricOptions,
    options: FailoverOptions,
    folder: Path,
    on_event: OnEvent,
    watching: Watching = unwatched,
    ready: Callable[[], object] = lambda: None,
) -> FailoverSummary:
    """Runs the demonstration, writes its results into the folder, and returns its summary.

    Args:
        fabric_options: specification of the fabric.
        options: specification of the demonstration.
        folder: output directory, new or empty.
        on_event: called with each event.
        watching: lets viewers watch the fabric meanwhile.
        ready: called once all pairs reach each other, before the probes; it may wait.

    Raises:
        MachineError: the machine lacks a requirement.
        NegativeResult: a proof failed, or not all pairs reached each other at the start.
        KeyboardInterrupt: Ctrl-C; the folder has the measurements so far.
    """
    require_emulation()
    with kept_directory(folder) as directory, live_fabric(fabric_options, on_event, watching) as fabric:
        check_all_pairs(fabric, on_event)
        write_manifest(directory, run_manifest(fabric, options.settings(), options.seed), fabric)

        def keep(observed: Observation) -> None:
            with directory.storing(observed.summary, on_event):
                write_observation(directory, observed)

        ready()
        observed = observe_failure(fabric, options, on_event, keep=keep)
    on_event(ResultsWritten(folder, interrupted=observed.summary.interrupted))
    if observed.summary.interrupted:
        raise KeyboardInterrupt
    return observed.summary


def observe_failure(
    fabric: LiveFabric,
    options: FailoverOptions,
    on_event: OnEvent,
    *,
    check: bool = True,
    keep: Callable[[Observation], None] = lambda _observed: None,
) -> Observation:
    """Injects a failure and its repair into a fabric while probes are sent.

    Args:
        fabric: the fabric.
        options: specification of the demonstration.
        on_event: called with each event.
        check: whether to check at the end that all pairs use their initial paths again.
        keep: called with the observation once it is complete; signals are deferred until it returns.
    """
    topology = fabric.options.topology
    components = options.elements
    if not components and not options.kill_controller:
        components = (busiest_link(topology),)
    failure = failure_of(topology, components)
    watched = failure if failure.any_failed else failure_of(topology, [busiest_link(topology)])
    schedule, affected = _probe_schedule(fabric, watched, failure, options)
    on_event(
        Notice(
            "failover-started",
            seconds=options.end_s,
            failing=_failing(components, options),
            fail_s=options.fail_s,
        )
    )
    stolen_s = cpu_stolen_s()
    with FaultSchedule(fabric, options.schedule(components), on_event) as faults:
        with ControllerMonitor(fabric) as controller, HostMonitor(fabric) as hosts, ClockMonitor() as clock:
            result = _send_probes(fabric, schedule, faults, on_event)
        stolen_s = cpu_stolen_s() - stolen_s
        try:
            troubles = _troubles_after(fabric, faults, result, on_event, check=check)
            if controller.coverage.lacking:
                troubles.append(controller.coverage.reason)
            restored = not troubles if check else None
        except (KeyboardInterrupt, Terminated):  # the observations so far are kept
            result, troubles, restored = replace(result, interrupted=True), [], None
    with signals_deferred():
        course = Course(options, Probes(schedule, result), faults, result.clock)
        summary = replace(
            course.summary(fabric, affected),
            cpu_stolen_ms=round(1e3 * stolen_s),
            generator_lag_ms_p99=result.sent.lag.quantile_ms(0.99),
            interrupted=result.interrupted,
            restored=restored,
        )
        doubts = clock.samples.doubts() + _foreign_doubts(fabric, hosts.carried, result)
        doubts += course.lag_doubts(summary.gap_ms)
        summary = replace(summary, negative=summary.reason((*troubles, *doubts)))
        observed = Observation(summary, tuple(course.probes.series(options.end_s)), course.events())
        keep(observed)
    if summary.failed and not summary.interrupted:
        on_event(final_headline(summary))
    return observed


def _troubles_after(
    fabric: LiveFabric, faults: FaultSchedule, result: TrafficResult, on_event: OnEvent, *, check: bool
) -> list[str]:
    """Restores the fabric, and returns what is wrong with it or with the traffic."""
    faults.end()
    troubles = ([result.failed] if result.failed else []) + faults.mended()
    if result.received.damaged:
        troubles.append(f"{result.received.damaged} damaged or forged probes arrived")
    if check and not troubles:
        try:
            check_all_pairs(fabric, on_event)
        except NegativeResult as error:
            troubles.append(str(error))
    return troubles


def _foreign_doubts(fabric: LiveFabric, carried: HostBytes, result: TrafficResult) -> list[str]:
    """Returns the reasons to doubt the probes if hosts sent or received other frames."""
    if result.interrupted or result.failed:  # some counts of the probes are missing
        return []
    sent, received = result.sent.bytes.sum(axis=0), result.received.bytes.sum(axis=0)
    return carried.doubts([host.name for host in fabric.hosts], sent, received, MAX_FRAMES * HEADER_BYTES)


def _failing(components: tuple[Component, ...], options: FailoverOptions) -> str:
    """Returns the names of all failing components as text."""
    names = ", ".join(component.name for component in components) or "nothing"
    if options.kill_controller:
        names += ", and the controller" if components else " but the controller"
    return names


def _send_probes(
    fabric: LiveFabric, schedule: ProbeSchedule, faults: FaultSchedule, on_event: OnEvent
) -> TrafficResult:
    """Sends the probes while faults are injected, and returns the counts, even if interrupted."""
    window_ns, flows = (0, schedule.end_ns), len(schedule.streams)
    job = make_job(fabric, schedule, HEADER_BYTES, _RUN_ID, flows, window_ns, keep_log=True)
    job = replace(job, watched_flow=0)
    end_s, course = schedule.end_ns / 1e9, LiveCourse(faults, on_event)

    def report(live: TrafficSnapshot) -> None:
        course.update(live)
        on_event(ProbesSent(min(max(0.0, live.seconds), end_s), end_s))

    try:
        return run_traffic(job, marked_environment(), fabric.network.run_dir, report, course.start)
    except TrafficInterrupted as interruption:
        on_event(Interrupted())
        return interruption.result
    except TrafficBroken as broken:
        return broken.result


def busiest_link(topology: Topology) -> Component:
    """Returns the link on the largest number of minimal paths; the first if several tie."""
    links = topology.link_list
    counts = [int(crossing_pairs(topology, failure).sum()) for failure in link_failures(topology)]
    return link_component(links[int(np.argmax(counts))])


def _probe_schedule(
    fabric: LiveFabric, watched: Failure, failure: Failure, options: FailoverOptions
) -> tuple[ProbeSchedule, int]:
    """Returns the probes of affected pairs and of all working pairs, and the number of affected pairs.

    A pair is affected if its minimal path crosses a watched component. If too many pairs are affected, only
    some of them are probed at the fast rate.
    """
    routers = np.array([host.router for host in fabric.hosts])
    count = len(routers)
    crossing = crossing_pairs(fabric.options.topology, watched)[routers[:, None], routers]
    dead = np.isin(routers, list(failure.failed_routers))
    part = np.array(connected_components(fabric.options.topology, failure))[routers]
    # Pairs that the failure cuts off are left out: no repair can connect them.
    alive = ~np.eye(count, dtype=bool) & ~dead[:, None] & ~dead & (part[:, None] == part)
    affected, slow = np.flatnonzero((crossing & alive).ravel()), np.flatnonzero(alive.ravel())
    slow_ns = max(SLOW_NS, round(len(slow) / (SLOW_SHARE * PROBES_PER_S) * 1e9))
    fitting = int((PROBES_PER_S - len(slow) / slow_ns * 1e9) * FAST_NS / 1e9)
    # Evenly spread over all, so that both directions and all sources are watched.
    chosen = np.unique(np.linspace(0, len(affected) - 1, min(fitting, len(affected))).round().astype(int))
    streams = (
        ProbeStream(tuple(affected[chosen].tolist()), FAST_NS),
        ProbeStream(tuple(slow.tolist()), slow_ns),
    )
    affected_pairs = len(affected) if failure.any_failed else 0
    return ProbeSchedule(count, streams, round(options.end_s * 1e9)), affected_pairs


def write_observation(directory: RunDirectory, observed: Observation) -> None:
    """Writes the result of a demonstration, its probes and its events.

    Args:
        directory: the folder.
        observed: the observations.

    Raises:
        MachineError: the disk has too little room.
        OSError: writing failed.
    """
    directory.write_record(SUMMARY, observed.summary)
    directory.write_csv(PROBES, PROBE_COLUMNS, observed.series)
    directory.write_csv(EVENTS, EVENT_COLUMNS, [(round(time_s, 4), what) for time_s, what in observed.events])
