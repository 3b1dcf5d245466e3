"""Measurement on a live fabric: runs traffic, injects faults and records all observations."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from emulation.cleanup import signals_deferred
from experiments.events.base import Event, OnEvent
from experiments.events.marks import CollectiveStarted, Interrupted, TrafficStarted
from experiments.events.notices import Notice
from experiments.events.progress import (
    CollectiveProgress,
    FlowProgress,
    Progress,
    TrafficDraining,
    TrafficProgress,
)
from experiments.fault_injector import FaultSchedule
from experiments.flows.runs import base_times_ms, run_flow_traffic
from experiments.live_fabric import LiveFabric
from experiments.programs.running import NO_PROGRAMS, ProgramPlan, RunningPrograms
from experiments.results.collective import collective_troubles
from experiments.results.flows.statistics import flow_troubles
from experiments.results.model import Adaptation, PairCheck, Summary
from experiments.results.parts.faults import FaultRecord, InjectedFault
from experiments.results.record import RunRecord
from experiments.results.summary import summarise
from experiments.spec.collective import CollectiveOptions
from experiments.spec.flows import REPLAY, FlowOptions, list_flows
from experiments.spec.programs import ProgramTraffic
from experiments.spec.resolve import RunTraffic
from experiments.spec.traffic import TrafficOptions
from experiments.spec.warmup import max_warmup_s
from experiments.traffic_jobs import (
    naming_ended_process,
    run_collective_traffic,
    run_measured_traffic,
    run_program_traffic,
)
from experiments.validity.clock_monitor import ClockMonitor
from experiments.validity.monitors import Monitors
from routing.registry import routing
from topology.errors import NegativeResult, PolarLabError, Terminated
from topology.faults import Fault
from traffic.engine.engine import TrafficBroken, TrafficInterrupted
from traffic.engine.telemetry import LiveCounts, TrafficSnapshot
from traffic.metrics.measurements import Clock, TrafficResult


@dataclass(frozen=True)
class Measurement:
    """One run of traffic on a live fabric.

    Attributes:
        record: all observations.
    """

    record: RunRecord

    @cached_property
    def summary(self) -> Summary:
        """The result of the run, computed from the observations."""
        return summarise(self.record)

    def raise_if_negative(self) -> None:
        """Raises an error if the run failed or was interrupted.

        Raises:
            KeyboardInterrupt: it was interrupted.
            NegativeResult: packets took unplanned paths, or a process of the fabric ended.
        """
        if self.record.result.interrupted:
            raise KeyboardInterrupt
        if self.record.troubles:
            raise NegativeResult(self.record.troubles[0])
        _check_paths(self.summary)


def _check_paths(summary: Summary) -> None:
    """Raises NegativeResult if packets reached wrong hosts or took unplanned paths."""
    packets = summary.packets
    if packets.misdelivered or packets.damaged:
        raise NegativeResult(
            f"{packets.misdelivered} packets reached a wrong host, {packets.damaged} were damaged"
        )
    detours = summary.faults is not None or not routing(summary.routing).shortest
    if not detours and summary.hops_as_distances is False:
        raise NegativeResult(f"packets took unplanned paths: hops {dict(summary.hops)}")


@dataclass(frozen=True)
class Companions:
    """Activities that accompany the traffic of a measurement.

    Attributes:
        plan: the user's programs that run with the traffic.
        others_ended: returns the names of other processes that have ended although they should run.
        keep: stores a measurement as soon as it is complete, before anything else may fail or be interrupted.
    """

    plan: ProgramPlan = NO_PROGRAMS
    others_ended: Callable[[], list[str]] = list
    keep: Callable[[Measurement], None] = lambda _measured: None


ALONE = Companions()


def measure(
    fabric: LiveFabric,
    options: RunTraffic,
    check: PairCheck,
    on_event: OnEvent,
    companions: Companions = ALONE,
) -> Measurement:
    """Runs traffic on a fabric, with its faults and programs, and returns the measurement.

    Args:
        fabric: the fabric.
        options: specification of the traffic.
        check: result of the earlier check of all pairs of hosts.
        on_event: called with each event.
        companions: programs that run with the traffic, and the callback that stores the measurement.
    """
    options, plan = _with_limit(fabric, options), companions.plan
    controller = _ControllerWork(fabric)
    with ClockMonitor() as clock:
        base_ms = _base_times_ms(fabric, options)
        with (
            FaultSchedule(fabric, options.faults, on_event) as faults,
            RunningPrograms(fabric, plan, options.seed, on_event) as programs,
        ):
            monitors = Monitors(fabric, options.frame_bytes, plan.kept_in(options.seed))
            result, troubles = _observed(fabric, options, on_event, monitors, faults, programs, companions)
            try:
                troubles += faults.mended()
                with contextlib.suppress(PolarLabError):  # the controller's exit is already recorded
                    fabric.controller.catch_up()
            except (KeyboardInterrupt, Terminated):  # the measurements are complete, and kept
                result = replace(result, interrupted=True)
            with signals_deferred():
                record = RunRecord(
                    fabric=fabric,
                    traffic=options,
                    check=check,
                    result=result,
                    **monitors.observed(),
                    clock=clock.samples,
                    adaptation=controller.adaptation(on_event),
                    faults=_all_faults(fabric, options, faults.record(result.clock)),
                    troubles=_all_troubles(options, result, troubles),
                    flow_base_ms=base_ms,
                    programs=programs.records(),
                    unasked=faults.unasked(result.clock),
                    avoided=faults.planned_before.failed,
                )
                measured = Measurement(record)
                companions.keep(measured)
    return measured


def _observed(
    fabric: LiveFabric,
    options: RunTraffic,
    on_event: OnEvent,
    monitors: Monitors,
    faults: FaultSchedule,
    programs: RunningPrograms,
    companions: Companions,
) -> tuple[TrafficResult, list[str]]:
    """Runs traffic, faults and programs to their end while monitors observe the fabric.

    Ctrl-C after the end of the traffic marks the result as interrupted.

    Returns:
        The result, and one sentence for each process that ended or failed meanwhile.
    """
    result, ended = None, []
    try:
        with contextlib.ExitStack() as undisturbed:
            with monitors:
                with naming_ended_process(fabric):
                    with_held = _adding_held_frames(monitors, on_event)
                    result = _traffic(fabric, options, with_held, faults, programs)
                undisturbed.enter_context(signals_deferred())
                faults.end()
                if len(faults.done) < len(options.faults):
                    on_event(
                        Notice(
                            "faults-not-reached",
                            missed=len(options.faults) - len(faults.done),
                            faults=len(options.faults),
                        )
                    )
                ended = fabric.ended_processes() + companions.others_ended()
            programs.end()
    except (KeyboardInterrupt, Terminated):
        if result is None:
            raise
        result = replace(result, interrupted=True)
    troubles = [f"{process} ended while the traffic ran" for process in ended]
    return result, troubles + ([result.failed] if result.failed and not result.outcome else [])


def _all_troubles(options: RunTraffic, result: TrafficResult, others: Sequence[str]) -> tuple[str, ...]:
    """Returns the reasons why a run failed: `others`, and failures of a collective's ranks or TCP flows."""
    if result.outcome:  # the dead rank comes first: it says more than the end of its host's shell
        return (*collective_troubles(result.outcome), *others)
    if result.flows and not options.faults:
        return (*others, *flow_troubles(result.flows))
    return tuple(others)


def _all_faults(fabric: LiveFabric, options: RunTraffic, record: FaultRecord) -> FaultRecord | None:
    """Returns a run's faults; those active before the run have time 0. Returns None if there are none."""
    if not (options.faults or fabric.active_failures):
        return None
    before = tuple(InjectedFault(0.0, str(Fault(0.0, component))) for component in fabric.active_failures)
    return replace(record, done=before + record.done)


def _base_times_ms(fabric: LiveFabric, options: RunTraffic) -> dict[int, float]:
    """Measures the reference for the slowdown of TCP flows: completion times of one-byte flows.

    Returns:
        Hops -> time in ms in the empty fabric; empty for other traffic than TCP flows.
    """
    if not isinstance(options, FlowOptions):
        return {}
    with naming_ended_process(fabric):
        return base_times_ms(fabric, options)


class _ControllerWork:
    """The controller's warnings, and its changes to adaptive groups, since this object was created."""

    def __init__(self, fabric: LiveFabric) -> None:
        self._fabric, controller = fabric, fabric.controller
        controller.catch_up()
        self._modified, self._warned = controller.groups_modified, len(controller.warnings)

    def adaptation(self, on_event: OnEvent) -> Adaptation:
        """Reports the controller's warnings; returns them with the number of group changes."""
        controller = self._fabric.controller
        warnings = tuple(dict.fromkeys(controller.warnings[self._warned :]))  # some repeat
        for text in warnings:
            on_event(Notice("controller-warning", warning=text))
        return Adaptation(self._fabric.occupancy, controller.groups_modified - self._modified, warnings)


def _with_limit(fabric: LiveFabric, options: RunTraffic) -> RunTraffic:
    """Returns options whose limit on the warm-up suits the links' rate, which may have been calibrated."""
    if isinstance(options, TrafficOptions) and options.steady:
        return replace(options, warmup_s=max_warmup_s(fabric.options.links, options.frame_bytes))
    return options


def _adding_held_frames(monitors: Monitors, on_event: OnEvent) -> OnEvent:
    """Returns a callback that adds the latest observation of unread frames to progress events.

    The observation is the longest time for which switches left frames unread in the last second.
    """

    def with_held_frames(event: Event) -> None:
        on_event(replace(event, held=monitors.held.latest) if isinstance(event, Progress) else event)

    return with_held_frames


def _traffic(
    fabric: LiveFabric,
    options: RunTraffic,
    on_event: OnEvent,
    faults: FaultSchedule,
    programs: RunningPrograms,
) -> TrafficResult:
    """Runs the traffic and the user's programs to their end; starts the schedule of faults."""

    def starts(clock: Clock) -> None:
        programs.start(clock)
        faults.start(clock)

    try:
        match options:
            case ProgramTraffic():
                result = run_program_traffic(len(fabric.hosts), programs, starts)
            case CollectiveOptions():
                result = _collective(fabric, options, on_event, starts)
            case FlowOptions():
                result = _flows(fabric, options, on_event, starts)
            case _:
                result = _pattern(fabric, options, on_event, starts)
    except TrafficInterrupted as interruption:
        result = interruption.result
    except TrafficBroken as broken:
        return broken.result
    if not result.interrupted and programs.wait():
        result = replace(result, interrupted=True)
    if result.interrupted:
        on_event(Interrupted())
    return result


def _collective(
    fabric: LiveFabric, options: CollectiveOptions, on_event: OnEvent, starts: Callable[[Clock], None]
) -> TrafficResult:
    on_event(CollectiveStarted(options.pattern, options.ranks, options.placement))
    capacity_bps = options.ranks * fabric.options.links.rate_bps

    def report(seconds: float, counts: LiveCounts) -> None:
        if seconds > 0:
            accepted = counts.rate_bps() / capacity_bps
            on_event(CollectiveProgress(seconds, counts.packets, accepted, counts.p99_ms, counts.done))

    return run_collective_traffic(fabric, options, report, starts)


def _flows(
    fabric: LiveFabric, options: FlowOptions, on_event: OnEvent, starts: Callable[[Clock], None]
) -> TrafficResult:
    listed = list_flows(options, fabric.options)
    total_s, sizes = options.end_s, options.flow_sizes or options.flow_file or REPLAY
    on_event(
        Notice(
            "flows-started",
            pattern=options.pattern,
            flows=len(listed.bytes),
            sizes=sizes,
            tcp=options.tcp,
            seconds=total_s,
        )
    )
    capacity_bps = len(fabric.hosts) * fabric.options.links.rate_bps

    def report(seconds: float, counts: LiveCounts) -> None:
        if seconds > 0:
            accepted = counts.rate_bps() / capacity_bps
            done = counts.packets  # the engine counts each completed flow as a packet
            on_event(FlowProgress(seconds, total_s, done, len(listed.bytes), accepted, counts.p99_ms))

    return run_flow_traffic(fabric, options, listed, report, starts)


def _pattern(
    fabric: LiveFabric, options: TrafficOptions, on_event: OnEvent, starts: Callable[[Clock], None]
) -> TrafficResult:
    total_s = options.warmup_s + options.duration_s
    on_event(TrafficStarted(options.pattern, options.load, total_s, options.steady))
    capacity_bps = len(fabric.hosts) * fabric.options.links.rate_bps

    def report(live: TrafficSnapshot) -> None:
        if live.draining:
            on_event(TrafficDraining(live.seconds, live.under_way, live.p99_ms))
        elif live.seconds >= 1:  # not before, as packets in flight would count as lost
            offered, accepted = live.offered_bps / capacity_bps, live.accepted_bps / capacity_bps
            shares = (live.seconds, total_s, offered, accepted)
            on_event(TrafficProgress(*shares, live.loss, live.p99_ms, live.under_way))

    return run_measured_traffic(fabric, options, report, starts)


def replications(
    fabric: LiveFabric,
    options: RunTraffic,
    repeat: int,
    check: PairCheck,
    on_event: OnEvent,
    companions: Companions = ALONE,
    measured_before: Collection[int] = (),
) -> Iterator[Measurement]:
    """Yields the runs of an experiment, each with its own seed, until one fails or is interrupted.

    Args:
        fabric: the fabric.
        options: specification of the traffic with the seed of the first run; each next seed is one higher.
        repeat: number of runs.
        check: check of all pairs of hosts.
        on_event: called with each event.
        companions: programs that run with the traffic, and the callback that stores each measurement.
        measured_before: seeds of runs to leave out.
    """
    for seed in range(options.seed, options.seed + repeat):
        if seed in measured_before:
            continue
        if seed > options.seed:
            fabric.reset()
        if repeat > 1:
            on_event(
                Notice("replication-started", seed=seed, number=seed - options.seed + 1, replications=repeat)
            )
        measured = measure(fabric, replace(options, seed=seed), check, on_event, companions)
        yield measured
        if measured.record.ended_early or measured.record.troubles:
            return
