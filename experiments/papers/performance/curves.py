"""Simulations of curves: one network and routing after the other, its patterns and loads side by side.

Points that the folder holds already are not simulated again. Simulations are as long as those of the
PolarFly paper's simulator: 3,000 cycles of warm-up, and four periods of 1,000 that are measured, of which
that simulator has three to five. Packets of the window are awaited for 1,500 cycles, three times the latency
beyond which a load is not carried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from experiments.events.base import Notify, ignore
from experiments.events.notices import Notice
from experiments.events.progress import CurvePointSimulated
from experiments.papers.model import Effort
from experiments.papers.performance.digests import digest_of
from experiments.papers.performance.model import (
    Curve,
    CurvePoint,
    MeasuredCurve,
    MeasuredCurves,
    Place,
    RoutedNetwork,
)
from experiments.papers.performance.search import next_loads, tried_in_order
from experiments.papers.performance.store import PointStore, StoredPoint
from experiments.results.replications import interval
from experiments.results.simulation.batch_means import batch_means
from experiments.results.simulation.record import SimulatedFabricRecord, SimulationRecord
from experiments.results.simulation.summary import is_stable, latency_quantiles, offered_and_accepted
from experiments.simulation.fabric import prepare_fabric
from experiments.simulation.task import PlannedFabric, task_of
from experiments.simulation.tasks import Runner, task_runner, usable_cores
from experiments.spec.simulation.model import SimulatedTraffic
from simulation.settings import Times

FULL = Times(warmup=3000, window=4000, most_drain=1500, period=133)
QUICK = Times(warmup=1000, window=1500, most_drain=1500, period=50)
_AHEAD_ON_CLUSTER = 8


@dataclass(frozen=True)
class _Wanted:
    """A simulation of a curve that is still to be done."""

    curve: Curve
    traffic: SimulatedTraffic


def measured(curves: Sequence[Curve], effort: Effort, place: Place) -> MeasuredCurves:
    """Returns curves with their points, simulated up to the first load that is not carried.

    Curves that the place does not simulate are incomplete unless its folder holds all of their points.

    Args:
        curves: the curves.
        effort: the effort.
        place: the place; points go to the table in its folder, and come from there.

    Raises:
        MachineError: a network does not fit into the memory, or a cluster does not answer.
        KeyboardInterrupt: Ctrl-C; the table holds the points until then.
    """
    store = PointStore(place.directory)
    groups: dict[RoutedNetwork, list[Curve]] = {}
    for curve in filter(place.simulates, curves):
        # Failures come with the traffic: they share the plan of the whole network.
        groups.setdefault(replace(curve.routed, label="", failures=None), []).append(curve)
    with task_runner(place.workers, place.scheduler, place.notify) as run:
        for own in groups.values():
            _measure(own, effort, place, store, run)
    return {curve: _kept(curve, effort, store) for curve in curves}


def _measure(curves: Sequence[Curve], effort: Effort, place: Place, store: PointStore, run: Runner) -> None:
    """Simulates the points of curves of one network and routing that the table does not hold."""
    workers = _AHEAD_ON_CLUSTER if place.scheduler else place.workers or usable_cores()
    fabric: SimulatedFabricRecord | None = None
    planned: PlannedFabric | None = None
    while wanted := _wanted(curves, effort, store, workers):
        if fabric is None or planned is None:
            fabric = prepare_fabric(curves[0].routed.fabric(), ignore)  # what such a plan lacks is known
            planned = PlannedFabric(fabric)
        tasks = [task_of(fabric.options, one.traffic) for one in wanted]
        for number, outcome in run(planned, tasks):
            one = wanted[number]
            pattern = tasks[number].workload.pattern
            record = SimulationRecord(fabric, one.traffic, pattern, outcome.result, None)
            stored = _stored(one, record)
            store.add(stored)
            _tell(place.notify, one, stored.point)


def _wanted(curves: Sequence[Curve], effort: Effort, store: PointStore, workers: int) -> list[_Wanted]:
    """Returns the next simulations of curves; none if all are complete."""
    tried = {curve: {point.load: point.stable for point in _points(curve, effort, store)} for curve in curves}
    incomplete = [curve for curve in curves if next_loads(curve.loads, tried[curve])]
    ahead = -(-workers // len(incomplete)) if incomplete else 1
    return [
        _Wanted(curve, traffic)
        for curve in incomplete
        for load in next_loads(curve.loads, tried[curve], ahead)
        for traffic in replications(curve, load, effort)
        if store.get(digest_of(curve, traffic)) is None
    ]


def replications(curve: Curve, load: float, effort: Effort) -> Iterator[SimulatedTraffic]:
    """Yields the traffic of a curve at a load, with each seed."""
    times = QUICK if effort.quick else FULL
    if curve.warmup is not None:
        times = replace(times, warmup=curve.warmup)
    failures, graph = curve.routed.failures, curve.routed.network.graph()
    for seed in range(1, (effort.seeds or 1) + 1):
        traffic = SimulatedTraffic(curve.pattern, load, seed=seed, times=times)
        if failures is not None:
            faults = failures.faults(graph, seed)
            traffic = replace(traffic, faults=faults, replan_cycles=failures.replan_cycles)
        yield traffic


def _kept(curve: Curve, effort: Effort, store: PointStore) -> MeasuredCurve:
    """Returns a curve with the points that the table holds."""
    points = _points(curve, effort, store)
    complete = not next_loads(curve.loads, {point.load: point.stable for point in points})
    digests = [digest_of(curve, one) for point in points for one in replications(curve, point.load, effort)]
    simulated = [one for one in map(store.get, digests) if one is not None]
    return MeasuredCurve(curve, points, complete, sum(one.seconds for one in simulated))


def _points(curve: Curve, effort: Effort, store: PointStore) -> list[CurvePoint]:
    """Returns the points of a curve that the table holds, with all of their seeds.

    Loads that were tried ahead, beside others, are left out where the search would not have come to them: the
    points of a figure do not depend on the number of workers.
    """
    count = round(curve.loads.most / curve.loads.precision)
    points = []
    for number in range(1, count + 1):
        load = round(number * curve.loads.precision, 9)
        found = [store.get(digest_of(curve, one)) for one in replications(curve, load, effort)]
        complete = [one.point for one in found if one is not None]
        if len(complete) == len(found):
            points.append(_mean(complete))
    tried = tried_in_order(curve.loads, {point.load: point.stable for point in points})
    return [point for point in points if point.load in tried]


def _mean(points: Sequence[CurvePoint]) -> CurvePoint:
    """Returns the means of a point over seeds; of one seed, the point with its own intervals."""
    if len(points) == 1:
        return points[0]
    accepted, accepted_ci95 = interval([point.accepted for point in points])
    latencies = [point.latency_cycles for point in points if point.latency_cycles is not None]
    latency, latency_ci95 = interval(latencies) if latencies else (None, None)
    return CurvePoint(
        load=points[0].load,
        offered=interval([point.offered for point in points])[0],
        accepted=accepted,
        accepted_ci95=accepted_ci95,
        latency_cycles=latency,
        latency_ci95_cycles=latency_ci95,
        stable=all(point.stable for point in points),
        deadlock=any(point.deadlock for point in points),
    )


def _stored(one: _Wanted, record: SimulationRecord) -> StoredPoint:
    """Returns the row of a simulation in the table."""
    offered, accepted = offered_and_accepted(record)
    # Links that have failed before the first packet leave the window stationary.
    means = batch_means(replace(record, traffic=replace(one.traffic, faults=())))
    accepted_ci95 = means.accepted.ci95 if means and means.accepted else None
    latency_ci95 = means.latency_mean_cycles.ci95 if means and means.latency_mean_cycles else None
    latency = latency_quantiles(record.result).mean
    return StoredPoint(
        digest=digest_of(one.curve, one.traffic),
        curve=one.curve.routed.label,
        pattern=one.traffic.pattern,
        seed=one.traffic.seed,
        seconds=round(record.result.seconds, 3),
        load=one.traffic.load,
        offered=round(offered, 6),
        accepted=round(accepted, 6),
        accepted_ci95=_rounded(accepted_ci95),
        latency_cycles=_rounded(latency),
        latency_ci95_cycles=_rounded(latency_ci95),
        stable=is_stable(record.result),
        deadlock=record.result.deadlock is not None,
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _tell(notify: Notify, one: _Wanted, point: CurvePoint) -> None:
    tried = Notice(
        "load-tried",
        load=point.load,
        accepted=point.accepted,
        latency_cycles=point.latency_cycles,
        stable=point.stable,
    )
    notify(CurvePointSimulated(one.curve.name, tried))
