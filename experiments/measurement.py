"""One measurement on a live fabric: its pairs are checked, traffic runs, and all that is observed is kept."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from experiments.events.base import Notify
from experiments.events.bringup import PairCheckPassed, PairCheckStarted
from experiments.events.traffic import (
    CollectiveProgress,
    CollectiveStarted,
    ControllerWarning,
    FaultsNotReached,
    Interrupted,
    ReplicationStarted,
    TrafficProgress,
    TrafficStarted,
)
from experiments.fault_injector import FaultPlayer
from experiments.link_monitor import LinkLog, LinkSampler
from experiments.live_fabric import LiveFabric
from experiments.results.collective import collective_troubles
from experiments.results.summaries import distrust, summarise
from experiments.results.validity import CpuSampler, CpuSamples
from experiments.spec.collective import CollectiveOptions
from experiments.spec.traffic import TrafficOptions
from experiments.traffic_jobs import (
    PairCheck,
    check_all_pairs,
    run_collective_traffic,
    run_measured_traffic,
)
from routing.registry import routing
from topology.errors import NegativeResult, PolarLabError
from traffic.engine.engine import TrafficInterrupted, TrafficResult
from traffic.engine.processes import TrafficError
from traffic.engine.telemetry import LiveCounts, TrafficSnapshot

RunOptions = TrafficOptions | CollectiveOptions


@dataclass(frozen=True)
class Measurement:
    """One run of traffic on a live fabric: its summary, all of its counts, and what went wrong, in words."""

    summary: dict[str, Any]
    result: TrafficResult
    cpu: CpuSamples
    links: LinkLog | None
    troubles: list[str]

    def raise_if_negative(self) -> None:
        """Raises what the run came to, if it did not end as it should.

        Raises:
            KeyboardInterrupt: it was interrupted.
            NegativeResult: packets took other ways than planned, or a part of the fabric ended.
        """
        if self.result.interrupted:
            raise KeyboardInterrupt
        if self.troubles:
            raise NegativeResult(self.troubles[0])
        _check_paths(self.summary)


@contextlib.contextmanager
def _deaths_told(fabric: LiveFabric) -> Iterator[None]:
    """Says of a traffic process that failed because a part of the fabric is gone that this is why."""
    try:
        yield
    except TrafficError:
        for part in fabric.ended_processes():
            raise NegativeResult(f"{part} ended") from None
        raise


def checked_pairs(fabric: LiveFabric, notify: Notify) -> PairCheck:
    """Checks all pairs of hosts, says so, and notes the time; errors as `check_all_pairs`."""
    endpoints = len(fabric.hosts)
    started = time.monotonic()
    notify(PairCheckStarted(endpoints * (endpoints - 1)))
    with _deaths_told(fabric):
        check = check_all_pairs(fabric, notify)
    fabric.bringup_s["verify"] = time.monotonic() - started
    notify(PairCheckPassed(check.longest))
    return check


def measure(
    fabric: LiveFabric,
    options: RunOptions,
    check: PairCheck,
    notify: Notify,
    others_ended: Callable[[], list[str]] = list,
) -> Measurement:
    """Runs traffic on a fabric whose pairs were checked and returns all that was observed.

    Args:
        fabric: the fabric.
        options: the traffic.
        check: what the check of its pairs told.
        notify: is told of every step.
        others_ended: returns what else, in words, should run and does not.
    """
    fabric.controller.catch_up()
    modified, warned = fabric.controller.groups_modified, len(fabric.controller.warnings)
    with FaultPlayer(fabric, options.faults, notify) as player:
        with CpuSampler() as cpu, LinkSampler(fabric, options.frame_bytes) as links:
            with _deaths_told(fabric):
                result = _traffic(fabric, options, notify, player)
            player.end()
            if len(player.done) < len(options.faults):
                late = len(options.faults) - len(player.done)
                notify(FaultsNotReached(late, len(options.faults)))
            troubles = [
                f"{part} ended while the traffic ran" for part in fabric.ended_processes() + others_ended()
            ]
        try:
            troubles += player.mended()
            with contextlib.suppress(PolarLabError):  # if it ended, that is among the troubles
                fabric.controller.catch_up()
        except KeyboardInterrupt:  # what was measured is there, and kept
            result = replace(result, interrupted=True)
    warnings = fabric.controller.warnings[warned:]
    for text in warnings:
        notify(ControllerWarning(text))
    adaptation = {
        "groups_modified": fabric.controller.groups_modified - modified,
        "warnings": warnings,
    }
    if result.outcome:  # a rank that died says more than that its shell ended
        troubles = collective_troubles(result.outcome) + troubles
    summary = summarise(fabric, options, check, result, cpu.samples, links.log, adaptation)
    if options.faults:
        summary["faults"] = player.told(result.clock)
    distrust(summary, *troubles)
    return Measurement(summary, result, cpu.samples, links.log, troubles)


def _traffic(fabric: LiveFabric, options: RunOptions, notify: Notify, player: FaultPlayer) -> TrafficResult:
    try:
        if isinstance(options, CollectiveOptions):
            return _collective(fabric, options, notify, player)
        return _pattern(fabric, options, notify, player)
    except TrafficInterrupted as interruption:
        notify(Interrupted())
        return interruption.result


def _collective(
    fabric: LiveFabric, options: CollectiveOptions, notify: Notify, player: FaultPlayer
) -> TrafficResult:
    notify(CollectiveStarted(options.pattern, options.ranks, options.placement))
    capacity_bps = options.ranks * fabric.options.links.rate_bps

    def tell(seconds: float, counts: LiveCounts) -> None:
        if seconds > 0:
            accepted = counts.rate_bps() / capacity_bps
            notify(CollectiveProgress(seconds, counts.packets, accepted, counts.p99_ms))

    return run_collective_traffic(fabric, options, tell, player.start)


def _pattern(
    fabric: LiveFabric, options: TrafficOptions, notify: Notify, player: FaultPlayer
) -> TrafficResult:
    total_s = options.warmup_s + options.duration_s
    notify(TrafficStarted(options.pattern, options.load, total_s, options.steady))
    capacity_bps = len(fabric.hosts) * fabric.options.links.rate_bps

    def tell(live: TrafficSnapshot) -> None:
        if live.seconds >= 1:  # before, packets on their way would count as lost
            offered, accepted = live.offered_bps / capacity_bps, live.accepted_bps / capacity_bps
            notify(TrafficProgress(live.seconds, total_s, offered, accepted, live.loss, live.p99_ms))

    return run_measured_traffic(fabric, options, tell, player.start)


def _check_paths(summary: dict[str, Any]) -> None:
    """Raises NegativeResult if packets went where they should not."""
    packets = summary["packets"]
    if packets["misdelivered"] or packets["damaged"]:
        raise NegativeResult(
            f"{packets['misdelivered']} packets reached a wrong host, {packets['damaged']} were damaged"
        )
    detours = "faults" in summary or not routing(summary["routing"]).shortest
    if not detours and not summary["hops_as_distances"]:
        raise NegativeResult(f"packets took other paths than planned: hops {summary['hops']}")


def repeated(
    fabric: LiveFabric,
    options: RunOptions,
    repeat: int,
    check: PairCheck,
    notify: Notify,
    others_ended: Callable[[], list[str]] = list,
) -> Iterator[Measurement]:
    """Yields the runs of an experiment, each with a seed of its own, until one does not end as it should."""
    for seed in range(options.seed, options.seed + repeat):
        if seed > options.seed:
            fabric.begin_anew()
        if repeat > 1:
            notify(ReplicationStarted(seed, seed - options.seed + 1, repeat))
        measured = measure(fabric, replace(options, seed=seed), check, notify, others_ended)
        yield measured
        if measured.result.interrupted or measured.troubles:
            return
