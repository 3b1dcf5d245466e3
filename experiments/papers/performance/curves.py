"""Simulations of curves: networks, patterns and loads run in parallel.

Points that are already in the folder are not simulated again. Simulations last as long as in the PolarFly
paper's simulator: 3,000 cycles of warm-up and four measured periods of 1,000 cycles (that simulator measures
three to five). Packets of the measurement window may drain for 1,500 cycles, three times the latency from
which a load counts as saturated.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from emulation.subprocesses import usable_cores
from experiments.events.base import OnEvent, ignore
from experiments.events.notices import Notice
from experiments.events.progress import CurvePointSimulated
from experiments.papers.model import Scale
from experiments.papers.performance.digests import digest_of
from experiments.papers.performance.model import (
    ComputeSettings,
    Curve,
    CurvePoint,
    MeasuredCurve,
    MeasuredCurves,
)
from experiments.papers.performance.store import POINTS, PointStore, StoredPoint
from experiments.planned_fabric import PlannedFabric
from experiments.points.engine import do_points
from experiments.points.estimate import Estimate, Work, estimate_simulations
from experiments.points.loads import max_loads_left, next_loads, tried_in_order
from experiments.results.replications import interval
from experiments.results.run_directory import RunDirectory
from experiments.results.simulation.batch_means import batch_means
from experiments.results.simulation.record import SimulationRecord
from experiments.results.simulation.summary import is_stable, latency_quantiles, offered_and_accepted
from experiments.simulation.points import SimulatedGroup, back_end_for
from experiments.spec.fabric import FabricOptions
from experiments.spec.simulation.model import SimulatedTraffic
from simulation.settings import Times
from topology.files.reading import RESULT_BYTES, read_text
from traffic.workload.patterns import pattern_name

FULL = Times(warmup=3000, window=4000, most_drain=1500, period=133)
QUICK = Times(warmup=1000, window=1500, most_drain=1500, period=50)


def measured(curves: Sequence[Curve], scale: Scale, settings: ComputeSettings) -> MeasuredCurves:
    """Simulates curves up to the first saturated load, and returns them with their points.

    Curves that `settings` excludes are incomplete unless the folder already has all their points.

    Args:
        curves: the curves.
        scale: the scale.
        settings: the processes, and the folder, whose table has the known points and receives new ones.

    Raises:
        MachineError: a network does not fit into the memory, or a cluster does not answer.
        KeyboardInterrupt: Ctrl-C; the table has the points simulated until then.
    """
    store = PointStore(settings.directory)
    searches = {curve: _Search(curve, scale, store) for curve in curves}
    with back_end_for(settings.workers, settings.scheduler, settings.on_event) as back_end:
        do_points(_groups(searches, settings, store), back_end)
    return {curve: search.measured() for curve, search in searches.items()}


def estimate_curves(
    curves: Sequence[Curve], scale: Scale, folder: Path, labels: frozenset[str] | None, workers: int | None
) -> Estimate:
    """Estimates the work for the missing points of curves, as an upper bound; nothing is written.

    Args:
        curves: the curves.
        scale: the scale.
        folder: folder of the paper, which need not exist.
        labels: the curves to simulate, as in ComputeSettings.
        workers: local processes; None for one per core.
    """
    works: list[Work] = []
    done = 0
    with tempfile.TemporaryDirectory() as copy:
        directory = RunDirectory(Path(copy), resume=True)
        if (folder / POINTS).is_file():
            directory.write_text(POINTS, read_text(folder / POINTS, RESULT_BYTES))
        settings, store = ComputeSettings(directory, labels=labels), PointStore(directory)
        searches = {curve: _Search(curve, scale, store) for curve in curves if settings.simulates(curve)}
        for group in _groups(searches, settings, store):
            for search in group.searches:
                found, loads = search.measured(), search.curve.loads
                traffic = [one for _, one in search.of_load(loads.load(max(1, loads.count // 2)))]
                points = len(found.points_so_far) * len(traffic)
                count = max_loads_left(loads, search.tried()) * len(traffic)
                seconds = found.seconds / points if points else None
                works.append(Work(group.fabric, traffic[0], count, seconds))
                done += points
    missing = sum(work.count for work in works)
    return estimate_simulations(works, done + missing, missing, workers or usable_cores())


def _groups(
    searches: Mapping[Curve, _Search], settings: ComputeSettings, store: PointStore
) -> list[_CurvesOfNetwork]:
    """Groups the curves to simulate by network and routing."""
    groups: dict[FabricOptions, list[_Search]] = {}
    for curve in filter(settings.simulates, searches):
        # Failures belong to the traffic, so curves with failures share the plan of the whole network.
        groups.setdefault(curve.fabric, []).append(searches[curve])
    return [_CurvesOfNetwork(fabric, own, store, settings.on_event) for fabric, own in groups.items()]


class _Search:
    """The search for a curve's saturation, based on the points in the table."""

    def __init__(self, curve: Curve, scale: Scale, store: PointStore) -> None:
        self.curve = curve
        self._scale, self._store = scale, store
        self._rows: dict[float, list[tuple[str, SimulatedTraffic]]] = {}

    def of_load(self, load: float) -> list[tuple[str, SimulatedTraffic]]:
        """Returns (digest of the simulated point, traffic) for each seed at a load."""
        if load not in self._rows:
            traffic = replications(self.curve, load, self._scale)
            self._rows[load] = [(digest_of(self.curve, one), one) for one in traffic]
        return self._rows[load]

    def points(self) -> list[CurvePoint]:
        """Returns the points of the curve whose seeds are all in the table.

        Idle workers try loads ahead of the search. Loads that a sequential search would not have tried are
        left out, so that the points of a figure do not depend on the number of workers.
        """
        points = {}
        for load in map(self.curve.loads.load, range(1, self.curve.loads.count + 1)):
            found = [self._store.get(digest) for digest, _ in self.of_load(load)]
            complete = [one.point for one in found if one is not None]
            if len(complete) == len(found):
                points[load] = _mean(complete)
        tried = tried_in_order(self.curve.loads, {load: point.stable for load, point in points.items()})
        return [point for load, point in points.items() if load in tried]

    def tried(self) -> dict[float, bool]:
        """Returns load -> whether the load is stable, for the loads in the table."""
        return {point.load: point.stable for point in self.points()}

    def measured(self) -> MeasuredCurve:
        """Returns the curve with its points in the table; the result also states whether any are missing."""
        points = self.points()
        rows = [self._store.get(digest) for point in points for digest, _ in self.of_load(point.load)]
        complete = not next_loads(self.curve.loads, {point.load: point.stable for point in points})
        return MeasuredCurve(
            self.curve, points, complete, sum(row.seconds for row in rows if row is not None)
        )


class _PointOfCurve(NamedTuple):
    """One simulation to run: index of the curve in its group, load, and seed."""

    number: int
    load: float
    seed: int


class _CurvesOfNetwork(SimulatedGroup[_PointOfCurve, StoredPoint]):
    """The curves of one network and routing, whose patterns and loads are simulated in parallel."""

    def __init__(
        self, fabric: FabricOptions, searches: Sequence[_Search], store: PointStore, on_event: OnEvent
    ) -> None:
        self.fabric = fabric
        self.searches, self._store, self._on_event = searches, store, on_event

    @cached_property
    def _tried(self) -> list[dict[float, bool]]:
        """For each curve of the group: load -> whether the load is stable."""
        return [search.tried() for search in self.searches]

    def wanted(self, ahead: int = 1) -> list[_PointOfCurve]:
        """Returns the simulations to run next, without duplicates.

        Args:
            ahead: number of loads per curve to try at the same time; the result at the first one may make the
                others unnecessary.
        """
        wanted: dict[str, _PointOfCurve] = {}  # by digest, since curves may share loads
        for number, (search, tried) in enumerate(zip(self.searches, self._tried, strict=True)):
            for load in next_loads(search.curve.loads, tried, ahead):
                for digest, traffic in search.of_load(load):
                    if self._store.get(digest) is None:
                        wanted.setdefault(digest, _PointOfCurve(number, load, traffic.seed))
        return list(wanted.values())

    @property
    def left(self) -> int:
        """Upper bound on the number of missing simulations."""
        return sum(
            max_loads_left(search.curve.loads, tried) * len(search.of_load(search.curve.loads.load(1)))
            for search, tried in zip(self.searches, self._tried, strict=True)
        )

    def prepare(self, _on_event: OnEvent) -> PlannedFabric:
        """Plans the network without reporting events: warnings about the papers' networks are known."""
        return super().prepare(ignore)

    def simulation(self, point: _PointOfCurve) -> tuple[FabricOptions, SimulatedTraffic]:
        """Returns the network and the traffic of a point."""
        of_load = self.searches[point.number].of_load(point.load)
        return self.fabric, next(traffic for _, traffic in of_load if traffic.seed == point.seed)

    def condense(self, point: _PointOfCurve, record: SimulationRecord) -> StoredPoint:
        """Converts the record of a simulation to a row of the table of points."""
        return _stored(self.searches[point.number].curve, record)

    def keep(self, point: _PointOfCurve, outcome: StoredPoint, seconds_left: float | None) -> None:
        """Adds a row to the table of points, and reports it."""
        self._store.add(outcome)
        del self._tried
        tried = Notice(
            "load-tried",
            load=outcome.load,
            accepted=outcome.accepted,
            latency_cycles=outcome.latency_cycles,
            stable=outcome.stable,
        )
        self._on_event(CurvePointSimulated(self.searches[point.number].curve.name, tried, seconds_left))


def replications(curve: Curve, load: float, scale: Scale) -> Iterator[SimulatedTraffic]:
    """Yields the traffic of a curve at a load for each seed."""
    times = QUICK if scale.quick else FULL
    if curve.warmup is not None:
        times = replace(times, warmup=curve.warmup)
    failures = curve.failures
    for seed in range(1, (scale.seeds or 1) + 1):
        traffic = SimulatedTraffic(pattern_name(curve.pattern), load, seed=seed, times=times)
        if failures is not None:
            faults = failures.faults(curve.fabric.topology, seed)
            traffic = replace(traffic, faults=faults, replan_cycles=failures.replan_cycles)
        yield traffic


def _mean(points: Sequence[CurvePoint]) -> CurvePoint:
    """Returns the mean of points with different seeds; a single point keeps its intervals over batches."""
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


def _stored(curve: Curve, record: SimulationRecord) -> StoredPoint:
    """Converts the record of a curve's simulation to a row of the table of points."""
    traffic = record.traffic
    assert isinstance(traffic, SimulatedTraffic)
    offered, accepted = offered_and_accepted(record)
    # Links that fail before the first packet leave the measurement window stationary.
    means = batch_means(replace(record, traffic=replace(traffic, faults=())))
    accepted_ci95 = means.accepted.ci95 if means and means.accepted else None
    latency_ci95 = means.latency_mean_cycles.ci95 if means and means.latency_mean_cycles else None
    latency = latency_quantiles(record.result).mean
    return StoredPoint(
        digest=digest_of(curve, traffic),
        curve=curve.label,
        pattern=traffic.pattern,
        seed=traffic.seed,
        seconds=round(record.result.seconds, 3),
        load=traffic.load,
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
