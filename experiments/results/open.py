"""Opened results: a folder of a run, simulation, sweep or failovers as an object, read when asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from experiments.codec import read_record
from experiments.results.failover import FAILOVERS, FailoverSeries, FailoverSummary
from experiments.results.link_loads import LINK_LOADS, LinkLoadRow, read_link_loads
from experiments.results.manifest import RunManifest, SweepManifest
from experiments.results.metrics import Engine, In, metrics
from experiments.results.model import Summary
from experiments.results.run_directory import MANIFEST, SUMMARY, seed_folder
from experiments.results.simulation.model import SimulationManifest, SimulationSummary
from experiments.results.simulation.sweep import (
    SimulatedSweepManifest,
    holds_simulated_sweep,
    point_folder,
    read_simulated_manifest,
    simulated_rows,
)
from experiments.results.simulation.tables import LATENCY_CYCLES
from experiments.results.sweep_points import (
    POINTS,
    AnyRow,
    PointRow,
    SimulatedPointRow,
    point_links,
    point_rows,
    point_summary,
    read_sweep_manifest,
)
from experiments.results.tables import EVENT_COLUMNS, EVENTS, LINKS, PROBES, damage_named, read_csv
from experiments.results.text import rate_remedy
from experiments.spec.sweep import Point
from topology.errors import ParameterError

AnySummary = TypeVar("AnySummary")
AnyManifest = TypeVar("AnyManifest")
CLAIMS = "-claims.csv"  # end of the name of a table, of which an item of a paper has one


@dataclass(frozen=True)
class _Results:
    """Folder of results.

    Attributes:
        folder: the folder.
    """

    folder: Path

    def table(self, name: str, columns: Collection[str], later: Sequence[str] = ()) -> dict[str, list[str]]:
        """Returns the columns of one of the folder's CSV files, as text.

        Args:
            name: name of the file, as `throughput.csv`.
            columns: names of the columns.
            later: of these, the columns that results of older versions lack; there they are empty.

        Raises:
            ParameterError: the file is missing or damaged.
        """
        return read_csv(self.folder / name, columns, later)


class _Summarised(_Results, Generic[AnySummary, AnyManifest]):
    """Results with one summary.

    Attributes:
        records: classes of summary and manifest.
    """

    records: ClassVar[tuple[type, type]]

    @cached_property
    def summary(self) -> AnySummary:
        """The result; raises ParameterError where it is missing or damaged."""
        found: AnySummary = read_record(self.folder / SUMMARY, self.records[0])
        return found

    @cached_property
    def manifest(self) -> AnyManifest:
        """Everything that the result depends on; raises ParameterError where it is missing or damaged."""
        found: AnyManifest = read_record(self.folder / MANIFEST, self.records[1])
        return found


class _Repeated(_Summarised[AnySummary, AnyManifest]):
    """Results of one seed or of several."""

    @property
    def replications(self) -> tuple[Self, ...]:
        """The results of several seeds; these themselves where there is only one."""
        summary: Any = self.summary
        if summary.repeat is None:
            return (self,)
        return tuple(type(self)(self.folder / seed_folder(seed)) for seed in summary.repeat.seeds)

    @property
    def link_loads(self) -> tuple[LinkLoadRow, ...]:
        """The load of each directed link; none where they are not known."""
        path = self.folder / LINK_LOADS
        return read_link_loads(path) if path.exists() else ()


class Run(_Repeated[Summary, RunManifest]):
    """Results of one run, or of several replications of it."""

    records = Summary, RunManifest

    def check(self) -> None:
        """Raises ParameterError if the result is missing or damaged."""
        assert self.summary


class Simulation(_Repeated[SimulationSummary, SimulationManifest]):
    """Results of a simulation, or of several replications of it."""

    records = SimulationSummary, SimulationManifest


class _Swept(_Results, Generic[AnyManifest, AnyRow, AnySummary]):
    """Results of a sweep.

    Attributes:
        engine: what carried the packets.
        record: class of a point's summary.
    """

    engine: ClassVar[Engine]
    record: ClassVar[type]

    @cached_property
    def manifest(self) -> AnyManifest:
        """Everything that the points depend on; raises ParameterError where it is missing or damaged."""
        raise NotImplementedError

    @cached_property
    def points(self) -> Mapping[Point, AnyRow]:
        """The points by routing, pattern, load and options; raises ParameterError if they are damaged."""
        raise NotImplementedError

    def _files(self, point: Point) -> tuple[Path, Path]:
        """Returns the files of a point's summary and of its link loads."""
        raise NotImplementedError

    def summary(self, point: Point) -> AnySummary | None:
        """Returns the result of a point in full; None where only its row is left.

        Args:
            point: a point of the sweep.

        Raises:
            ParameterError: the result is damaged.
        """
        path, _ = self._files(point)
        return read_record(path, self.record) if path.exists() else None

    def link_loads(self, point: Point) -> tuple[LinkLoadRow, ...]:
        """Returns the load of each directed link at a point; none where they are not known.

        Args:
            point: a point of the sweep.

        Raises:
            ParameterError: the table is damaged.
        """
        _, path = self._files(point)
        return read_link_loads(path) if path.exists() else ()

    def halves(self, point: Point) -> dict[str, float]:
        """Returns half the widths of the confidence intervals at a point by metric, those that are known.

        Args:
            point: a point of the sweep.

        Raises:
            ParameterError: the result is damaged.
        """
        manifest: Any = self.manifest
        summary = self.summary(point) if manifest.sweep.repeat > 1 else None
        if summary is not None:
            halves = {one.key: one.half_of(summary) for one in metrics(self.engine, In.SEEDS)}
        else:  # of batches of a window
            row = self.points[point]
            halves = {one.key: getattr(row, one.half) for one in metrics(self.engine, In.HALVES)}
        return {key: half for key, half in halves.items() if half is not None}


class Sweep(_Swept[SweepManifest, PointRow, Summary]):
    """Results of a sweep of runs."""

    engine, record = Engine.EMULATION, Summary

    @cached_property
    def manifest(self) -> SweepManifest:
        """Everything that the points depend on; raises ParameterError where it is missing or damaged."""
        return read_sweep_manifest(self.folder)

    @cached_property
    def points(self) -> Mapping[Point, PointRow]:
        """The points by routing, pattern, load and options; raises ParameterError if they are damaged."""
        return point_rows(self.folder)

    def _files(self, point: Point) -> tuple[Path, Path]:
        return self.folder / point_summary(point), self.folder / point_links(point)

    @property
    def remedy(self) -> str:
        """What to do where the machine was too slow for points, for the end of a message; may be empty.

        Raises:
            ParameterError: the result of a point is damaged.
        """
        summaries = [self.summary(point) for point, row in self.points.items() if not row.valid]
        tries = [one.fidelity.try_link_rate_bps for one in summaries if one]
        lowest = min((rate_bps for rate_bps in tries if rate_bps), default=None)
        other = "" if "link-rate" in self.manifest.sweep.varied else "--link-rate auto"
        return rate_remedy(lowest, other)


class SimulatedSweep(_Swept[SimulatedSweepManifest, SimulatedPointRow, SimulationSummary]):
    """Results of a sweep of simulations."""

    engine, record = Engine.SIMULATION, SimulationSummary

    @cached_property
    def manifest(self) -> SimulatedSweepManifest:
        """Everything that the points depend on; raises ParameterError where it is missing or damaged."""
        return read_simulated_manifest(self.folder)

    @cached_property
    def points(self) -> Mapping[Point, SimulatedPointRow]:
        """The points by routing, pattern, load and options; raises ParameterError if they are damaged."""
        return simulated_rows(self.folder)

    def _files(self, point: Point) -> tuple[Path, Path]:
        folder = point_folder(self.folder, point)
        return folder / SUMMARY, folder / LINK_LOADS


class Failover(_Summarised[FailoverSummary, RunManifest]):
    """Results of a failover demonstration."""

    records = FailoverSummary, RunManifest

    @property
    def events(self) -> list[tuple[float, str]]:
        """Seconds since the probes' start, and description, of all that happened; in order of time."""
        table = self.table(EVENTS, EVENT_COLUMNS)
        with damage_named(self.folder):
            return [
                (float(time_s), what) for time_s, what in zip(table["time_s"], table["event"], strict=True)
            ]


class Failovers(_Summarised[FailoverSeries, RunManifest]):
    """Results of a series of failovers."""

    records = FailoverSeries, RunManifest

    @property
    def replications(self) -> tuple[Failover, ...]:
        """The failovers one by one."""
        return tuple(Failover(self.folder / seed_folder(seed)) for seed in self.summary.seeds)


Results = Run | Simulation | Sweep | SimulatedSweep | Failover | Failovers


def keeps_items(folder: Path) -> bool:
    """Returns whether a folder has items of papers.

    Args:
        folder: the folder, which need not exist.
    """
    return next(folder.glob(f"*{CLAIMS}"), None) is not None


def open_results(folder: Path | str) -> Results:
    """Returns the results that a folder holds.

    Args:
        folder: output directory of `polarlab run`, `simulate`, `sweep` or `demo failover`.

    Raises:
        ParameterError: the folder does not exist, or holds none of these.
    """
    path = Path(folder)
    if not path.is_dir():
        raise ParameterError(f"{path} is not a directory of results")
    if keeps_items(path):
        raise ParameterError(
            f"{path} has a paper's items: `polarlab paper PAPER all` reports them, `polarlab plot` draws them"
        )
    if (path / POINTS).exists():
        return SimulatedSweep(path) if holds_simulated_sweep(path) else Sweep(path)
    if (path / FAILOVERS).exists():
        return Failovers(path)
    if any(path.glob(f"seed-*/{PROBES}")):
        raise ParameterError(f"{path} holds a series of failovers, but {FAILOVERS} is missing")
    if (path / PROBES).exists():
        return Failover(path)
    if (path / SUMMARY).exists():
        simulated = any(any(path.glob(f"{one}{LATENCY_CYCLES}")) for one in ("", "seed-*/"))
        return Simulation(path) if simulated else Run(path)
    if (path / MANIFEST).exists() and (path / LINKS).exists():
        raise ParameterError(
            f"{path} holds a run that did not end: {SUMMARY} is missing; {LINKS} has what was measured"
        )
    raise ParameterError(
        f"{path} holds neither a run nor a simulation nor a sweep nor a failover: {SUMMARY} is missing"
    )
