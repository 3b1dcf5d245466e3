"""Sweeps of simulations: one for each combination of routings, patterns, loads and options; resumable.

The plan and the tables of a routing are made once. Processes of this machine or workers of a cluster simulate
the points; these are independent of one another, and their results do not depend on where they run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from emulation.subprocesses import usable_cores
from experiments.events.base import OnEvent
from experiments.events.notices import Notice
from experiments.events.progress import PointsSimulated
from experiments.planned_fabric import PlannedFabric
from experiments.points.engine import ListedGroup, do_points, report_if_interrupted
from experiments.points.estimate import Estimate, estimate_simulations, work_of
from experiments.results.manifest import write_graph
from experiments.results.open import SimulatedSweep as SweepResults
from experiments.results.parts.swept_values import check_joins, joined
from experiments.results.run_directory import MANIFEST, RunDirectory, kept_directory
from experiments.results.simulation.model import SimulationSummary
from experiments.results.simulation.record import SimulationCounts, SimulationRecord
from experiments.results.simulation.series import link_load_rows
from experiments.results.simulation.summary import summarise
from experiments.results.simulation.sweep import (
    SimulatedSweepManifest,
    simulated_manifest,
    simulated_settings,
)
from experiments.results.sweep_points import (
    POINTS,
    SimulatedPointRow,
    append_point,
    columns_of,
    point_folder,
)
from experiments.simulation.address import Scheduler
from experiments.simulation.fabric import (
    check_channels,
    check_decision,
    check_fabric,
    planned_routing,
    warn_of_repairs,
)
from experiments.simulation.files import write_faults, write_origin, write_simulation
from experiments.simulation.memory import require_memory
from experiments.simulation.points import SimulatedGroup, back_end_for
from experiments.simulation.replications import (
    KeptReplication,
    kept_replication,
    replications_of,
    seed_directory,
    write_means,
)
from experiments.spec.fabric import FabricOptions
from experiments.spec.files.experiment_file import together
from experiments.spec.simulation.decisions import BUCKETS, COMPARING
from experiments.spec.simulation.model import SimulatedTraffic
from experiments.spec.simulation.resolve import SimulatedSweep, Simulation
from experiments.spec.sweep import Point
from routing.registry import routing
from simulation.result import SimulationResult

Points = Sequence[tuple[Point, Simulation]]


def run_simulated_sweep(
    chosen: SimulatedSweep,
    folder: Path,
    on_event: OnEvent,
    *,
    workers: int | None = None,
    scheduler: Scheduler | None = None,
) -> int:
    """Simulates those points of a sweep whose results are not in the folder yet, and returns their number.

    Args:
        chosen: specification of the sweep.
        folder: output directory, new, empty, or of the same sweep.
        on_event: called with each event.
        workers: number of processes on this machine; None for one per core.
        scheduler: scheduler of a cluster that simulates instead; None for no cluster.

    Raises:
        UsageError: the folder has other results, or an option makes no sense for this fabric.
        MachineError: the scheduler does not answer, or a worker has a different version.
        KeyboardInterrupt: Ctrl-C; the folder has the points simulated so far.
    """
    with kept_directory(folder, resume=True) as directory:
        before = _checked_manifest(chosen, folder)
        directory.drop_torn_row(POINTS)
        held = SweepResults(folder).kept()
        missing = [(point, one) for point, one in chosen.points if point not in held]
        if held:
            on_event(Notice("sweep-resumed", folder=folder, measured=len(held), missing=len(missing)))
        if missing:
            groups = _groups(missing)
            _check_points(groups)
            asked = len(held) + len(missing)
            with (
                back_end_for(workers, scheduler, on_event) as back_end,
                report_if_interrupted(folder, asked, lambda: len(SweepResults(folder).kept()), on_event),
            ):
                _write_origin(chosen, directory, before)
                swept = _Swept(chosen, directory, len(missing), on_event)
                try:
                    do_points([_PointsOfPlan(group, swept) for group in groups], back_end)
                finally:
                    _sort_rows(chosen, directory)
        return len(missing)


def estimate_simulated_sweep(chosen: SimulatedSweep, folder: Path, workers: int | None) -> Estimate:
    """Estimates the cost of the missing points of a sweep, without writing anything.

    Args:
        chosen: specification of the sweep.
        folder: output directory; it need not exist.
        workers: number of processes on this machine; None for one per core.

    Raises:
        UsageError: the folder has other results.
    """
    if folder.is_dir():
        _checked_manifest(chosen, folder)
    held = SweepResults(folder).kept()
    missing = [(point, one) for point, one in chosen.points if point not in held]
    works = []
    for group in _groups(missing):
        parts = [
            part.packets
            for point, one in group
            for part in replications_of(one)
            if part.traffic.seed not in _kept(point_folder(folder, point), one)
        ]
        works.append(work_of(group[0][1].fabric, parts))
    return estimate_simulations(works, len(chosen.points), len(missing), workers or usable_cores())


def _checked_manifest(chosen: SimulatedSweep, folder: Path) -> SimulatedSweepManifest | None:
    """Returns the manifest of the sweep that a folder already has; None if the folder is empty.

    Raises:
        ParameterError: the folder contains anything except points of the same sweep.
    """
    held = SweepResults(folder).begun()
    if held is not None:
        check_joins(simulated_settings(chosen), chosen.fabric, held, folder)
        together(held.experiment, chosen.experiment, folder)
    return held


class _Swept:
    """Writer of a sweep's table of points; counts the rows and reports progress."""

    def __init__(
        self, chosen: SimulatedSweep, directory: RunDirectory, missing: int, on_event: OnEvent
    ) -> None:
        self.directory, self.on_event = directory, on_event
        self._keys = [variation.key for variation in chosen.sweep.vary]
        self._done, self._missing = 0, missing

    def add(self, point: Point, summary: SimulationSummary, seconds_left: float | None = None) -> None:
        """Appends the row of a complete point to the table, and reports it."""
        self._done += 1
        append_point(self.directory, point, summary, self._keys)
        if summary.deadlock:
            self.on_event(Notice("point-deadlocked", name=point.name, reason=summary.deadlock.text))
        self.on_event(PointsSimulated(self._done, self._missing, point.name, seconds_left))


class _Replication(NamedTuple):
    """One replication of a point: index of the point in its group, and seed."""

    number: int
    seed: int


class _PointsOfPlan(
    ListedGroup[PlannedFabric, _Replication, tuple[SimulationSummary, SimulationResult]],
    SimulatedGroup[_Replication, tuple[SimulationSummary, SimulationResult]],
):
    """The points of a sweep that share one plan of a routing.

    Each replication is stored as it ends, so that a resumed sweep does not repeat it.
    """

    def __init__(self, points: Points, swept: _Swept) -> None:
        self.fabric = points[0][1].fabric
        self._points, self._swept = points, swept
        self._parts = {
            _Replication(number, part.traffic.seed): part
            for number, (_, one) in enumerate(points)
            for part in replications_of(one)
        }
        self._kept = [_kept(self._folder(number), one) for number, (_, one) in enumerate(points)]
        super().__init__(key for key in self._parts if key.seed not in self._kept[key.number])
        for number, (_, one) in enumerate(points):
            if len(self._kept[number]) == one.repeat:  # an earlier process was killed before it wrote the row
                self._complete(number)

    def _folder(self, number: int) -> Path:
        return point_folder(self._swept.directory.path, self._points[number][0])

    def prepare(self, on_event: OnEvent) -> PlannedFabric:
        """Plans the fabric, and reports settings of points without effect."""
        name = self.fabric.routing
        on_event(Notice("routing-started", routing=name, summary=routing(name).summary))
        fabric = super().prepare(on_event)
        _warn(fabric, self._points, on_event)
        return fabric

    def simulation(self, point: _Replication) -> tuple[FabricOptions, SimulatedTraffic]:
        """Returns the fabric and traffic of a simulation."""
        part = self._parts[point]
        return part.fabric, part.packets

    def condense(
        self, _point: _Replication, record: SimulationRecord
    ) -> tuple[SimulationSummary, SimulationResult]:
        """Returns the summary and counts of a simulation."""
        return summarise(record), record.result

    def keep(
        self,
        point: _Replication,
        outcome: tuple[SimulationSummary, SimulationResult],
        seconds_left: float | None,
    ) -> None:
        """Writes the folder of a simulation and, after the last replication, the row of its point."""
        (summary, result), (number, seed) = outcome, point
        one = self._points[number][1]
        directory = RunDirectory(self._folder(number), resume=True)
        counts = SimulationCounts(*self.simulation(point), result)
        self._swept.directory.keep()
        own = directory if one.repeat == 1 else seed_directory(directory, seed)
        write_simulation(own, counts, summary)
        super().keep(point, outcome, seconds_left)
        if one.repeat == 1:
            self._swept.add(self._points[number][0], summary, seconds_left)
            return
        self._kept[number][seed] = KeptReplication(summary, link_load_rows(counts))
        if len(self._kept[number]) == one.repeat:
            self._complete(number, seconds_left)

    def _complete(self, number: int, seconds_left: float | None = None) -> None:
        """Writes the means over a point's replications and the point's row.

        Args:
            number: index of the point in this group.
            seconds_left: estimated time until the sweep ends, in s; None if it is not known.
        """
        point, one = self._points[number]
        directory = RunDirectory(self._folder(number), resume=True)
        write_origin(directory, one.fabric, one.traffic)
        kept = [replication for _, replication in sorted(self._kept[number].items())]
        self._swept.add(point, write_means(directory, kept, one.repeat), seconds_left)


def _groups(points: Points) -> list[Points]:
    """Groups points by the plan and tables that they need, in the order of their first points."""
    groups: dict[tuple[str, bool, bool], list[tuple[Point, Simulation]]] = {}
    for point, one in points:
        buckets = one.fabric.packet_decision().law == BUCKETS
        # The law of a controller's loop depends on all parameters of the plan's routing.
        name = one.fabric.routing if buckets else planned_routing(one.fabric.routing)
        groups.setdefault((name, buckets, one.fabric.ordered_repair), []).append((point, one))
    return list(groups.values())


def _check_points(groups: Sequence[Points]) -> None:
    """Raises UsageError or MachineError if a point cannot be simulated, before any point is simulated.

    Each plan is made for this check and discarded, as several plans of large fabrics may not fit into memory.
    """
    for group in groups:
        fabrics = _fabrics(group)
        first = fabrics[0]
        require_memory(first)
        planned = PlannedFabric(first)
        compare = any(fabric.packet_decision().law in COMPARING for fabric in fabrics)
        for fabric in fabrics:
            check_channels(planned.plan, fabric.routers)
            if compare:
                check_decision(fabric, planned.tables)


def _fabrics(group: Points) -> list[FabricOptions]:
    """Returns the distinct fabrics of a group of points, in the order of their first points."""
    fabrics: list[FabricOptions] = []
    for _, one in group:
        if one.fabric not in fabrics:
            fabrics.append(one.fabric)
    return fabrics


def _warn(fabric: PlannedFabric, group: Points, on_event: OnEvent) -> None:
    """Reports settings that have no effect, and buffers and virtual channels that do not suffice.

    Settings and buffers of the first point's fabric are left out, as planning has reported them.
    """
    for other in _fabrics(group)[1:]:
        check_fabric(other, fabric.plan, fabric.tables, on_event)
    broken = [(point, one) for point, one in group if one.packets.faults]
    for other in _fabrics(broken):
        warn_of_repairs(other, fabric.plan, on_event)


def _kept(folder: Path, one: Simulation) -> dict[int, KeptReplication]:
    """Returns seed -> replication for the complete replications in a point's folder.

    The result is empty if the point has a single seed, as such a point has no folders of replications.
    """
    if one.repeat == 1:
        return {}
    seeds = [part.traffic.seed for part in replications_of(one)]
    found = {seed: kept_replication(folder, seed) for seed in seeds}
    return {seed: kept for seed, kept in found.items() if kept is not None}


def _write_origin(
    chosen: SimulatedSweep, directory: RunDirectory, held: SimulatedSweepManifest | None
) -> None:
    """Writes the manifest, the graph if it is from networkx, and any fault schedule that all points share."""
    manifest = joined(simulated_manifest(chosen), held, directory)
    directory.write_record(MANIFEST, manifest)
    write_graph(directory, chosen.fabric.topology)
    traffic = [one.packets for _, one in chosen.points]
    if len({one.faults for one in traffic}) == 1:
        write_faults(directory, traffic[0])


def _sort_rows(chosen: SimulatedSweep, directory: RunDirectory) -> None:
    """Rewrites the table in the order of points instead of the order in which they ended."""
    rows = SweepResults(directory.path).kept()
    if rows:
        keys = [variation.key for variation in chosen.sweep.vary]
        columns = (*columns_of(keys, SimulatedPointRow), "ended")
        cells = [row.cells() for row in rows.values()]
        directory.write_csv(POINTS, columns, ([row.get(name, "") for name in columns] for row in cells))
