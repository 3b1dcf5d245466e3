"""Opened results: a folder of a run, simulation, sweep or failovers as an object, read when asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from experiments.codec import read_record
from experiments.results.failover import FAILOVERS, FailoverSeries, FailoverSummary
from experiments.results.link_loads import LINK_LOADS, LinkLoadRow, read_link_loads
from experiments.results.manifest import RunManifest, SweepManifest
from experiments.results.model import Summary
from experiments.results.parts.sweep_rows import POINTS, POINTS_FOLDER
from experiments.results.run_directory import MANIFEST, SUMMARY, seed_folder
from experiments.results.simulation.model import SimulationManifest, SimulationSummary
from experiments.results.simulation.sweep import (
    SimulatedPointRow,
    SimulatedSweepManifest,
    holds_simulated_sweep,
    point_folder,
    read_simulated_manifest,
    simulated_rows,
)
from experiments.results.simulation.tables import LATENCY_CYCLES
from experiments.results.sweep_points import PointRow, point_links, point_rows, read_sweep_manifest
from experiments.results.tables import EVENT_COLUMNS, EVENTS, LINKS, PROBES, damage_named, read_csv
from experiments.results.text import rate_remedy
from experiments.spec.sweep import Point
from topology.errors import ParameterError

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


class Run(_Results):
    """Results of one run, or of several replications of it."""

    @cached_property
    def summary(self) -> Summary:
        """The result; raises ParameterError where it is missing or damaged."""
        return read_record(self.folder / SUMMARY, Summary)

    @cached_property
    def manifest(self) -> RunManifest:
        """Everything that the result depends on; raises ParameterError where it is missing or damaged."""
        return read_record(self.folder / MANIFEST, RunManifest)

    def check(self) -> None:
        """Raises ParameterError if the result is missing or damaged."""
        assert self.summary

    @property
    def link_loads(self) -> tuple[LinkLoadRow, ...]:
        """The load of each directed link; none where they are not known."""
        path = self.folder / LINK_LOADS
        return read_link_loads(path) if path.exists() else ()

    @property
    def replications(self) -> tuple[Run, ...]:
        """The runs of several seeds; the run itself where there is only one."""
        repeat = self.summary.repeat
        if repeat is None:
            return (self,)
        return tuple(Run(self.folder / seed_folder(seed)) for seed in repeat.seeds)


class Simulation(_Results):
    """Results of a simulation."""

    @cached_property
    def summary(self) -> SimulationSummary:
        """The result; raises ParameterError where it is missing or damaged."""
        return read_record(self.folder / SUMMARY, SimulationSummary)

    @cached_property
    def manifest(self) -> SimulationManifest:
        """Everything that the result depends on; raises ParameterError where it is missing or damaged."""
        return read_record(self.folder / MANIFEST, SimulationManifest)

    @property
    def link_loads(self) -> tuple[LinkLoadRow, ...]:
        """The load of each directed link; raises ParameterError where the table is missing or damaged."""
        return read_link_loads(self.folder / LINK_LOADS)

    @property
    def replications(self) -> tuple[Simulation, ...]:
        """The simulations of several seeds; the simulation itself where there is only one."""
        repeat = self.summary.repeat
        if repeat is None:
            return (self,)
        return tuple(Simulation(self.folder / seed_folder(seed)) for seed in repeat.seeds)


class Sweep(_Results):
    """Results of a sweep."""

    @cached_property
    def manifest(self) -> SweepManifest:
        """Everything that the points depend on; raises ParameterError where it is missing or damaged."""
        return read_sweep_manifest(self.folder)

    @cached_property
    def points(self) -> Mapping[Point, PointRow]:
        """The measured points by routing, pattern and load; raises ParameterError if they are damaged."""
        return point_rows(self.folder)

    def summary(self, point: Point) -> Summary | None:
        """Returns the result of a point in full; None where only its row is left.

        Args:
            point: a point of the sweep.

        Raises:
            ParameterError: the result is damaged.
        """
        path = self.folder / POINTS_FOLDER / f"{point.name}.json"
        return read_record(path, Summary) if path.exists() else None

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

    def link_loads(self, point: Point) -> tuple[LinkLoadRow, ...]:
        """Returns the load of each directed link at a point; none where they are not known.

        Args:
            point: a point of the sweep.

        Raises:
            ParameterError: the table is damaged.
        """
        path = self.folder / point_links(point)
        return read_link_loads(path) if path.exists() else ()


class SimulatedSweep(_Results):
    """Results of a sweep of simulations."""

    @cached_property
    def manifest(self) -> SimulatedSweepManifest:
        """Everything that the points depend on; raises ParameterError where it is missing or damaged."""
        return read_simulated_manifest(self.folder)

    @cached_property
    def points(self) -> Mapping[Point, SimulatedPointRow]:
        """The simulated points by routing, pattern and load; raises ParameterError if they are damaged."""
        return simulated_rows(self.folder)

    def summary(self, point: Point) -> SimulationSummary | None:
        """Returns the result of a point in full; None where only its row is left.

        Args:
            point: a point of the sweep.

        Raises:
            ParameterError: the result is damaged.
        """
        path = point_folder(self.folder, point) / SUMMARY
        return read_record(path, SimulationSummary) if path.exists() else None

    def link_loads(self, point: Point) -> tuple[LinkLoadRow, ...]:
        """Returns the load of each directed link at a point; none where they are not known.

        Args:
            point: a point of the sweep.

        Raises:
            ParameterError: the table is damaged.
        """
        path = point_folder(self.folder, point) / LINK_LOADS
        return read_link_loads(path) if path.exists() else ()


class Failover(_Results):
    """Results of a failover demonstration."""

    @property
    def events(self) -> list[tuple[float, str]]:
        """Seconds since the probes' start, and description, of all that happened; in order of time."""
        table = self.table(EVENTS, EVENT_COLUMNS)
        with damage_named(self.folder):
            return [
                (float(time_s), what) for time_s, what in zip(table["time_s"], table["event"], strict=True)
            ]

    @cached_property
    def summary(self) -> FailoverSummary:
        """The result; raises ParameterError where it is missing or damaged."""
        return read_record(self.folder / SUMMARY, FailoverSummary)

    @cached_property
    def manifest(self) -> RunManifest:
        """Everything that the result depends on; raises ParameterError where it is missing or damaged."""
        return read_record(self.folder / MANIFEST, RunManifest)


class Failovers(_Results):
    """Results of a series of failovers."""

    @cached_property
    def summary(self) -> FailoverSeries:
        """The result of all; raises ParameterError where it is missing or damaged."""
        return read_record(self.folder / SUMMARY, FailoverSeries)

    @cached_property
    def manifest(self) -> RunManifest:
        """Everything that the result depends on; raises ParameterError where it is missing or damaged."""
        return read_record(self.folder / MANIFEST, RunManifest)

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
