"""The kinds of results, and the opening of a folder of results as an object of its kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from experiments.codec import plain, read_record
from experiments.results.failover import FAILOVERS, FailoverSeries, FailoverSummary
from experiments.results.frames import Row, flat, pandas
from experiments.results.kinds import Kind, Packets, Results
from experiments.results.link_loads import LINK_LOADS, LinkLoadRow, read_link_loads
from experiments.results.manifest import RunManifest, SweepManifest
from experiments.results.metrics import Engine, In, metrics
from experiments.results.model import Summary
from experiments.results.run_directory import MANIFEST, SUMMARY, seed_folder
from experiments.results.simulation.model import SimulationManifest, SimulationSummary
from experiments.results.simulation.sweep import SimulatedSweepManifest
from experiments.results.sweep_points import (
    POINTS,
    AnyRow,
    PointRow,
    SimulatedPointRow,
    SweptRow,
    point_folder,
    point_links,
    point_summary,
    read_rows,
)
from experiments.results.tables import (
    EVENT_COLUMNS,
    EVENTS,
    LATENCY_CYCLES,
    LINKS,
    PROBES,
    reporting_corruption,
)
from experiments.results.text import fabric_text, rate_remedy
from experiments.spec.sweep import Point
from topology.errors import ParameterError
from topology.networkx_graphs import NetworkxTopology

if TYPE_CHECKING:
    import pandas as pd

AnySummary = TypeVar("AnySummary")
AnyManifest = TypeVar("AnyManifest")
CLAIMS = "-claims.csv"  # suffix of the table of claims of a paper's figure or table


class _Summarised(Results, Generic[AnySummary, AnyManifest]):
    """Results with a single summary.

    Attributes:
        records: classes of summary and manifest.
    """

    records: ClassVar[tuple[type, type]]

    @cached_property
    def summary(self) -> AnySummary:
        """The result; raises ParameterError if it is missing or damaged."""
        found: AnySummary = read_record(self.folder / SUMMARY, self.records[0])
        return found

    @cached_property
    def manifest(self) -> AnyManifest:
        """Everything that the result depends on; raises ParameterError if it is missing or damaged."""
        found: AnyManifest = read_record(self.folder / MANIFEST, self.records[1])
        return found


class _Repeated(_Summarised[AnySummary, AnyManifest]):
    """Results of a run or simulation with one replication or several, each with its own seed."""

    @property
    def replications(self) -> tuple[Self, ...]:
        """The results of each seed; for a single seed, only this object."""
        summary: Any = self.summary
        if summary.repeat is None:
            return (self,)
        return tuple(type(self)(self.folder / seed_folder(seed)) for seed in summary.repeat.seeds)

    @property
    def link_loads(self) -> tuple[LinkLoadRow, ...]:
        """The load of each directed link; empty if not recorded."""
        path = self.folder / LINK_LOADS
        return read_link_loads(path) if path.exists() else ()

    @property
    def measured(self) -> bool:
        """Whether the folder has a summary; the result need not be valid or stable."""
        return (self.folder / SUMMARY).exists()

    @property
    def events(self) -> list[tuple[float, str]]:
        """(time in s or cycles, description) of faults and plans, by time."""
        summary: Any = self.summary
        events: list[tuple[float, str]] = summary.faults.events if summary.faults else []
        return events

    def check(self) -> None:
        """Raises ParameterError if the result is missing or damaged."""
        assert self.summary

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the CSV tables, for `to_frame`."""
        first = self.replications[0]
        return super().tables if first.folder == self.folder else first.tables

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Returns a table as a pandas data frame; with several replications, it has a column `seed`.

        Args:
            table: one of `tables` (docs/reference/keys.md describes their columns); None for the summary: one
                row per replication, with its keys as columns, such as `latency_ms.p99`.

        Raises:
            ParameterError: the table is unknown, or the results are damaged.
            MachineError: pandas is not installed.
        """
        each: Sequence[Any] = self.replications
        if table is None or each[0].folder == self.folder:
            return super().to_frame(table)
        frames = [one.to_frame(table).assign(seed=one.summary.seed) for one in each]
        return pandas().concat(frames, ignore_index=True)

    def _rows(self) -> Sequence[Row]:
        return [flat(plain(one.summary)) for one in self.replications]

    def _short(self) -> Mapping[str, Any]:
        summary: Any = self.summary
        load = "" if summary.load is None else f" at {summary.load:g}"
        values = {one.key: one.of(summary) for one in metrics(summary.engine, In.GLANCE)}
        return {
            "fabric": _fabric(summary),
            "routing": summary.routing,
            "traffic": f"{summary.pattern}{load}",
            **{name: _number(value) for name, value in values.items() if value is not None},
        }


class Run(_Repeated[Summary, RunManifest]):
    """Results of a run, or of several replications.

    `summary` and `manifest` are typed (docs/reference/keys.md); `plot()` draws figures, `to_frame()` returns
    tables.

    Examples:
        With the results of a run in results/tornado:

        >>> found = open_results("results/tornado")
        >>> found.valid, found.summary.accepted, found.summary.latency_ms.p99
        (True, 0.314286, 8.398572)
        >>> found.plot("throughput", "latency")
        <figures: throughput, latency>
    """

    kind = Kind(
        "run",
        "runs",
        draw="experiments.figures.replications:draw_seeds",
        draw_seed="experiments.figures.run:draw_run",
        page="experiments.report.run:run_page",
        compare="experiments.comparison.runs:compare_runs",
        draw_compared="experiments.figures.comparison:draw_runs",
        recorded=True,
    )
    records = Summary, RunManifest

    @classmethod
    def held_by(cls, folder: Path) -> bool:
        """Returns whether a folder has a summary."""
        return (folder / SUMMARY).exists()

    @property
    def valid(self) -> bool:
        """Whether the result is valid; `summary.fidelity.reasons` has the reasons if it is not."""
        return self.summary.fidelity.valid

    def packets(self) -> Iterator[Packets]:
        """Yields the measurement of packets of each replication."""
        for one in self.replications:
            yield one.summary, self.manifest.traffic.flows, ()

    def _short(self) -> Mapping[str, Any]:
        doubts = "; ".join(self.summary.fidelity.reasons) + self.summary.remedy
        return {**super()._short(), "valid": f"no: {doubts}" if doubts else "yes"}


class Simulation(_Repeated[SimulationSummary, SimulationManifest]):
    """Results of a simulation, or of several replications.

    `summary` and `manifest` are typed (docs/reference/keys.md); `plot()` draws figures, `to_frame()` returns
    tables.

    Examples:
        With the results of a simulation in results/simulation:

        >>> found = open_results("results/simulation")
        >>> found.stable, found.summary.accepted, found.summary.latency_cycles.p99
        (True, 0.301538, 21.0)
        >>> found.tables
        ('hops', 'hosts', 'latency_cycles', 'link_loads', 'periods')
    """

    kind = Kind(
        "simulation",
        "simulations",
        draw="experiments.figures.replications:draw_seeds",
        draw_seed="experiments.figures.simulation.single:draw_simulation",
        page="experiments.report.run:run_page",
        compare="experiments.comparison.runs:compare_runs",
        draw_compared="experiments.figures.comparison:draw_runs",
    )
    records = SimulationSummary, SimulationManifest

    @classmethod
    def held_by(cls, folder: Path) -> bool:
        """Returns whether a folder has a summary and latencies in cycles."""
        cycles = (folder.glob(f"{place}{LATENCY_CYCLES}") for place in ("", "seed-*/"))
        return (folder / SUMMARY).exists() and any(map(any, cycles))

    @property
    def stable(self) -> bool | None:
        """Whether the load is stable; None for applications."""
        return self.summary.stable

    def _short(self) -> Mapping[str, Any]:
        shown, stable = super()._short(), self.stable
        return shown if stable is None else {**shown, "stable": "yes" if stable else "no"}


class _Swept(Results, Generic[AnyManifest, AnyRow, AnySummary]):
    """Results of a sweep.

    Attributes:
        engine: engine of the points.
        records: classes of a point's summary and of the manifest.
        row: class of a point's row.
    """

    engine: ClassVar[Engine]
    records: ClassVar[tuple[type, type]]
    row: ClassVar[type[SweptRow]]

    @classmethod
    def held_by(cls, folder: Path) -> bool:
        """Returns whether a folder has a table of points and a manifest of this engine.

        Raises:
            ParameterError: the manifest is damaged.
        """
        path = folder / MANIFEST
        return (folder / POINTS).exists() and cls._has_engine(_content(path) if path.exists() else {})

    @classmethod
    def _has_engine(cls, content: Mapping[str, Any]) -> bool:
        """Returns whether a manifest is of this engine; only manifests of simulations name their engine."""
        named: bool = content.get("engine") == getattr(cls.records[1], "engine", None)
        return named

    @cached_property
    def manifest(self) -> AnyManifest:
        """Everything that the points depend on; raises ParameterError if it is missing or damaged."""
        content = _content(self.folder / MANIFEST)
        if "sweep" in content and not self._has_engine(content):
            raise ParameterError(f"{self.folder} contains a sweep of the other --engine")
        if "sweep" not in content:
            raise ParameterError(f"{self.folder} does not contain a {self.kind.name}")
        found: AnyManifest = read_record(self.folder / MANIFEST, self.records[1])
        return found

    def begun(self) -> AnyManifest | None:
        """Returns the manifest of a sweep to resume; None if the folder is empty.

        Raises:
            ParameterError: the folder contains something else, or a damaged sweep.
        """
        # A `.partial` file is left by a writer that was killed; it does not count.
        if all(path.name.endswith(".partial") for path in self.folder.iterdir()):
            return None
        try:
            return self.manifest
        except ParameterError as error:
            raise ParameterError(f"{error}; give a new --out") from None

    @cached_property
    def points(self) -> Mapping[Point, AnyRow]:
        """Point -> its row; raises ParameterError if the table is damaged."""
        manifest: Any = self.manifest if (self.folder / MANIFEST).exists() else None
        keys = () if manifest is None else tuple(manifest.sweep.varied)
        found: Mapping[Point, Any] = read_rows(self.folder, self.row, keys)
        return found

    def kept(self) -> Mapping[Point, AnyRow]:
        """Returns point -> its row, like `points`; empty if the sweep has no table yet."""
        return self.points if (self.folder / POINTS).exists() else {}

    def _files(self, point: Point) -> tuple[Path, Path]:
        """Returns the paths of a point's summary and of its link loads."""
        raise NotImplementedError

    def summary(self, point: Point) -> AnySummary | None:
        """Returns the full result of a point; None if only its row exists.

        Args:
            point: a point of the sweep.

        Raises:
            ParameterError: the result is damaged.
        """
        path, _ = self._files(point)
        return read_record(path, self.records[0]) if path.exists() else None

    def link_loads(self, point: Point) -> tuple[LinkLoadRow, ...]:
        """Returns the load of each directed link at a point; empty if not recorded.

        Args:
            point: a point of the sweep.

        Raises:
            ParameterError: the table is damaged.
        """
        _, path = self._files(point)
        return read_link_loads(path) if path.exists() else ()

    def halves(self, point: Point) -> dict[str, float]:
        """Returns metric -> half the width of its confidence interval at a point, if known.

        Args:
            point: a point of the sweep.

        Raises:
            ParameterError: the result is damaged.
        """
        manifest: Any = self.manifest
        summary = self.summary(point) if manifest.sweep.repeat > 1 else None
        if summary is not None:
            halves = {one.key: one.half_of(summary) for one in metrics(self.engine, In.SEEDS)}
        else:  # one seed: intervals are over batches of the window
            row = self.points[point]
            halves = {one.key: getattr(row, one.half) for one in metrics(self.engine, In.HALVES)}
        return {key: half for key, half in halves.items() if half is not None}

    def _rows(self) -> Sequence[Row]:
        return [row.by_column() for row in self.points.values()]

    def _short(self) -> Mapping[str, Any]:
        points = list(self.points.values())
        return {
            "fabric": _fabric(self.manifest),
            "routings": ", ".join(dict.fromkeys(row.routing for row in points)),
            "patterns": ", ".join(dict.fromkeys(row.pattern for row in points)),
            "points": len(points),
            self.engine.value: f"{sum(row.sound for row in points)} of {len(points)}",
        }


class Sweep(_Swept[SweepManifest, PointRow, Summary]):
    """Results of a sweep: `points` (point -> row), and `summary(point)` with the full result of each.

    Examples:
        With the results of a sweep in results/sweep:

        >>> found = open_results("results/sweep")
        >>> one = next(iter(found.points))
        >>> one.routing, one.pattern, one.load, found.points[one].accepted
        ('min', 'tornado', 0.2, 0.210286)
    """

    kind = Kind(
        "sweep",
        "sweeps",
        draw="experiments.figures.sweep:draw_sweep",
        page="experiments.report.sweep:sweep_page",
        compare="experiments.comparison.sweeps:compare_sweeps",
        draw_compared="experiments.figures.comparison:draw_sweeps",
    )
    engine, row = Engine.EMULATION, PointRow
    records = Summary, SweepManifest

    def _files(self, point: Point) -> tuple[Path, Path]:
        return self.folder / point_summary(point), self.folder / point_links(point)

    def packets(self) -> Iterator[Packets]:
        """Yields the measurement of packets of each replication, for all points with a summary."""
        for point in self.points:
            for summary in self._replications(point):
                yield summary, self.manifest.sweep.flows, point.options

    def _replications(self, point: Point) -> Iterator[Summary]:
        """Yields the summary of each of a point's replications, or the point's own if it has none."""
        summary = self.summary(point)
        if summary is None or summary.repeat is None:
            yield from () if summary is None else (summary,)
            return
        for seed in summary.repeat.seeds:
            path = self.folder / point_summary(point, seed)
            if path.exists():
                yield read_record(path, Summary)

    @property
    def remedy(self) -> str:
        """A remedy for points that are not valid, as the end of a message; may be empty.

        Raises:
            ParameterError: the result of a point is damaged.
        """
        summaries = [self.summary(point) for point, row in self.points.items() if not row.valid]
        tries = [one.fidelity.try_link_rate_bps for one in summaries if one]
        lowest = min((rate_bps for rate_bps in tries if rate_bps), default=None)
        other = "" if "link-rate" in self.manifest.sweep.varied else "--link-rate auto"
        return rate_remedy(lowest, other)


class SimulatedSweep(_Swept[SimulatedSweepManifest, SimulatedPointRow, SimulationSummary]):
    """Results of a simulated sweep: `points` (point -> row), and `simulation(point)` with each result.

    Examples:
        With the results of a simulated sweep in results/simulated-sweep:

        >>> found = open_results("results/simulated-sweep")
        >>> one = next(iter(found.points))
        >>> one.routing, one.pattern, one.load, found.points[one].accepted
        ('min', 'tornado', 0.2, 0.211282)
        >>> found.simulation(one).stable
        True
    """

    kind = Kind(
        "sweep of simulations",
        "sweeps of simulations",
        draw="experiments.figures.sweep:draw_sweep",
        page="experiments.report.sweep:sweep_page",
        compare="experiments.comparison.sweeps:compare_sweeps",
        draw_compared="experiments.figures.comparison:draw_sweeps",
    )
    engine, row = Engine.SIMULATION, SimulatedPointRow
    records = SimulationSummary, SimulatedSweepManifest

    def simulation(self, point: Point) -> Simulation:
        """Returns the results of a point as `polarlab.simulate` returns them.

        For replications, returns the results of the first seed.

        Args:
            point: a point of the sweep, one of `points`.
        """
        folder, row = point_folder(self.folder, point), self.points[point]
        return Simulation(folder if self.manifest.sweep.repeat == 1 else folder / seed_folder(row.seed))

    def _files(self, point: Point) -> tuple[Path, Path]:
        folder = point_folder(self.folder, point)
        return folder / SUMMARY, folder / LINK_LOADS


class Failover(_Summarised[FailoverSummary, RunManifest]):
    """Results of a failover demonstration.

    Examples:
        With the results of a failover in results/failover:

        >>> found = open_results("results/failover")
        >>> found.summary.failed, found.summary.packets_lost, found.summary.repaired_by
        (('link:s1-s5',), 40, 'switches')
        >>> found.events[1]
        (2.0238, 'all watched pairs heard again')
    """

    kind = Kind(
        "failover",
        "failovers",
        draw="experiments.figures.failover:draw_failover",
        page="experiments.report.failover:failover_page",
        compare="experiments.comparison.failovers:compare_failovers",
        draw_compared="experiments.figures.comparison:draw_failovers",
        recorded=True,
    )
    records = FailoverSummary, RunManifest

    @classmethod
    def held_by(cls, folder: Path) -> bool:
        """Returns whether a folder has a table of probes."""
        return (folder / PROBES).exists()

    @property
    def events(self) -> list[tuple[float, str]]:
        """(seconds since the start of probes, description) of all events, by time."""
        table = self.table(EVENTS, EVENT_COLUMNS)
        with reporting_corruption(self.folder):
            return [
                (float(time_s), what) for time_s, what in zip(table["time_s"], table["event"], strict=True)
            ]

    def _rows(self) -> Sequence[Row]:
        return [flat(plain(self.summary))]

    def _short(self) -> Mapping[str, Any]:
        summary = self.summary
        return {
            "fabric": _fabric(summary),
            "routing": summary.routing,
            "failed": ", ".join(summary.failed),
            "packets_lost": f"{summary.packets_lost} of {summary.packets_sent}",
            "gap_ms": summary.gap_ms,
            "repaired_by": summary.repaired_by,
            "negative": summary.negative or "no",
        }


class Failovers(_Summarised[FailoverSeries, RunManifest]):
    """Results of a series of failovers.

    Examples:
        With the results of several failovers in results/failovers:

        >>> found = open_results("results/failovers")
        >>> [one.summary.failed for one in found.replications]
        [('switch:s4',), ('switch:s6',)]
        >>> found.summary.gap_ms.p50, found.summary.gap_ms.max
        (56.185, 81.106)
    """

    kind = Kind(
        "series of failovers",
        "series of failovers",
        draw="experiments.figures.failovers:draw_series",
        page="experiments.report.failover:failovers_page",
        compare="experiments.comparison.failovers:compare_series",
        draw_compared="experiments.figures.comparison:draw_failovers",
    )
    records = FailoverSeries, RunManifest

    @classmethod
    def held_by(cls, folder: Path) -> bool:
        """Returns whether a folder has a table of failovers.

        Raises:
            ParameterError: the folder has failovers, but their table is missing.
        """
        has_table = (folder / FAILOVERS).exists()
        if not has_table and any(folder.glob(f"seed-*/{PROBES}")):
            raise ParameterError(f"{folder} contains a series of failovers, but {FAILOVERS} is missing")
        return has_table

    @property
    def replications(self) -> tuple[Failover, ...]:
        """The results of each complete failover."""
        return tuple(Failover(self.folder / seed_folder(seed)) for seed in self.summary.seeds)

    def _rows(self) -> Sequence[Row]:
        return [asdict(row) for row in self.summary.failovers]

    def _short(self) -> Mapping[str, Any]:
        summary = self.summary
        gap = summary.gap_ms
        return {
            "fabric": _fabric(summary),
            "routing": summary.routing,
            "failovers": len(summary.seeds),
            "gap_ms": "-" if gap is None else f"median {gap.p50:g}, max {gap.max:g}",
            "negative": summary.negative or "no",
        }


# The first kind whose `held_by` returns True wins. To add a kind, write a class like these and list it here.
KINDS: list[type[Results]] = [SimulatedSweep, Sweep, Failovers, Failover, Simulation, Run]


def keeps_items(folder: Path) -> bool:
    """Returns whether a folder contains figures or tables of a paper.

    Args:
        folder: the folder, which need not exist.
    """
    return next(folder.glob(f"*{CLAIMS}"), None) is not None


def open_results(folder: Path | str) -> Results:
    """Returns the results in a folder as an object of their kind, such as Run or Sweep.

    Args:
        folder: output directory of `polarlab run`, `simulate`, `sweep` or `demo failover`.

    Raises:
        ParameterError: the folder does not exist, or contains no results.

    Examples:
        With the results of a run in results/tornado:

        >>> found = open_results("results/tornado")
        >>> type(found).__name__, found.summary.pattern, found.summary.accepted
        ('Run', 'tornado', 0.314286)
    """
    path = Path(folder)
    if not path.is_dir():
        raise ParameterError(f"{path} is not a directory of results")
    if keeps_items(path):
        raise ParameterError(
            f"{path} contains a paper's figures: use `polarlab paper PAPER all` or `polarlab plot`"
        )
    for kind in KINDS:
        if kind.held_by(path):
            return kind(path)
    if (path / MANIFEST).exists() and (path / LINKS).exists():
        raise ParameterError(
            f"{path} contains an incomplete run: {SUMMARY} is missing; see {LINKS} for link readings"
        )
    raise ParameterError(f"{path} contains no run, simulation, sweep or failover: {SUMMARY} is missing")


def _content(path: Path) -> dict[str, Any]:
    """Returns the content of a manifest of any kind."""
    return read_record(path, dict[str, Any])


def _fabric(settings: Any) -> str:
    """Describes the fabric of results: family, parameters, hosts and, for a networkx graph, endpoints."""
    own = settings.name == NetworkxTopology.name and hasattr(settings, "endpoints")
    return fabric_text(settings) + (f" ({settings.endpoints})" if own else "")


def _number(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value
