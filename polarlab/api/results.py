"""Results: folders of runs, simulations, sweeps and failovers as typed objects that draw and tabulate."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, get_args

from experiments.codec import plain
from experiments.results import open as opened
from experiments.results.failover import FailoverSeries, FailoverSummary
from experiments.results.metrics import Engine, In, metrics
from experiments.results.model import Summary
from experiments.results.parts.flows import class_rows
from experiments.results.run_directory import SUMMARY, seed_folder
from experiments.results.simulation.model import SimulationSummary
from experiments.results.simulation.sweep import point_folder
from experiments.results.text import hosts_text, parameters
from experiments.spec.sweep import Point
from polarlab.api.figures import Figures, LookOptions
from polarlab.api.frames import Row, flat, frame, pandas, read_frame
from topology.errors import ParameterError
from topology.networkx_graphs import NetworkxTopology

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "FailoverSeries",
    "FailoverSummary",
    "SimulationSummary",
    "Summary",
    "class_rows",
]  # of which summaries are made

_Folder = Path | str


class _Shown:
    """Part that results of all kinds share.

    Attributes:
        folder: folder of the results.
    """

    folder: Path

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the CSV tables in the folder, for `to_frame`."""
        return tuple(sorted(path.stem for path in self.folder.glob("*.csv")))

    def plot(
        self, *names: str, format: str | Sequence[str] | None = None, **look: Unpack[LookOptions]
    ) -> Figures:
        """Returns the figures of `polarlab plot`, drawn in memory; a notebook shows them.

        Args:
            names: names of figures, as `throughput`; none for all.
            format: as of `polarlab.plot`.
            look: as of `polarlab.plot`.

        Raises:
            ParameterError: the results are damaged, or have no figure of a name.
        """
        from experiments.figures.look import Look
        from experiments.figures.plot import draw_results

        chosen = Look.of(format, **look)
        drawn = draw_results(self.folder, chosen)
        for name in names:
            if name not in drawn:
                raise ParameterError(f"figure must be one of {', '.join(drawn)}, got {name!r}")
        return Figures({name: drawn[name] for name in names or drawn}, self.folder, chosen.formats)

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Returns a table as a frame of pandas.

        Args:
            table: one of `tables`, whose columns docs/keys.md describes; None for the results: a row for each
                run, point or failover, columns by the keys of the summary, as `latency_ms.p99`.

        Raises:
            ParameterError: the table is unknown, or the results are damaged.
            MachineError: pandas is not installed.
        """
        if table is None:
            return frame(self._rows())
        pandas()
        if table not in self.tables:
            raise ParameterError(f"table must be one of {', '.join(self.tables)}, got {table!r}")
        return read_frame(self.folder / f"{table}.csv")

    def report(self, path: _Folder | None = None, **look: Unpack[LookOptions]) -> Path:
        """Writes one page of HTML with figures and tables, and returns the file.

        Args:
            path: new file; by default `report.html` in the folder, which may be replaced.
            look: as of `polarlab.plot`.

        Raises:
            UsageError: the results are damaged, or the file exists.
            OSError: the file cannot be written.
        """
        return report(self.folder, path, **look)

    def _rows(self) -> Sequence[Row]:
        raise NotImplementedError

    def _short(self) -> Mapping[str, Any]:
        """Returns the values that tell most, for a glance."""
        raise NotImplementedError

    def _kind(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        words = ", ".join(f"{name}={value}" for name, value in self._short().items())
        return f"<{self._kind()} {self.folder}: {words}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>"
            for name, value in {self._kind().lower(): self.folder, **self._short()}.items()
        )
        return f"<table>{rows}</table>"


class _Repeated(_Shown):
    """Part that results with several replications share."""

    def _each(self) -> Sequence[Any]:
        """Returns the results of several seeds, or these alone."""
        results: Any = self
        return tuple(results.replications)

    @property
    def measured(self) -> bool:
        """Whether there is a result, also of an experiment that did not end as it should."""
        return (self.folder / SUMMARY).exists()

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the CSV tables, for `to_frame`; those of replications have a column `seed`."""
        first = self._each()[0]
        return super().tables if first.folder == self.folder else tuple(first.tables)

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Returns a table as a frame of pandas, of replications with a column `seed`.

        Args:
            table: one of `tables`, whose columns docs/keys.md describes; None for the summary: a row for each
                replication, columns by its keys, as `latency_ms.p99`.

        Raises:
            ParameterError: the table is unknown, or the results are damaged.
            MachineError: pandas is not installed.
        """
        each = self._each()
        if table is None or each[0].folder == self.folder:
            return super().to_frame(table)
        frames = [run.to_frame(table).assign(seed=run.summary.seed) for run in each]
        return pandas().concat(frames, ignore_index=True)

    def _rows(self) -> Sequence[Row]:
        return [flat(plain(run.summary)) for run in self._each()]

    def _short(self) -> Mapping[str, Any]:
        results: Any = self
        summary = results.summary
        load = "" if summary.load is None else f" at {summary.load:g}"
        values = {one.key: one.of(summary) for one in metrics(summary.engine, In.GLANCE)}
        return {
            "fabric": _fabric(summary),
            "routing": summary.routing,
            "traffic": f"{summary.pattern}{load}",
            **{name: _number(value) for name, value in values.items() if value is not None},
        }


class Run(_Repeated, opened.Run):
    """Results of a run, or of several replications of it.

    `summary` and `manifest` are typed (docs/keys.md); `plot()` draws, `to_frame()` tabulates.
    """

    @property
    def valid(self) -> bool:
        """Whether the machine was fast enough for the result; `summary.fidelity.reasons` says why not."""
        return self.summary.fidelity.valid

    def _short(self) -> Mapping[str, Any]:
        doubts = "; ".join(self.summary.fidelity.reasons) + self.summary.remedy
        return {**super()._short(), "valid": f"no: {doubts}" if doubts else "yes"}


class Simulation(_Repeated, opened.Simulation):
    """Results of a simulation.

    `summary` and `manifest` are typed (docs/keys.md); `plot()` draws, `to_frame()` tabulates.
    """

    @property
    def stable(self) -> bool | None:
        """Whether the network carries the load; None of applications."""
        return self.summary.stable

    def _short(self) -> Mapping[str, Any]:
        shown, stable = super()._short(), self.stable
        return shown if stable is None else {**shown, "stable": "yes" if stable else "no"}


class _Swept(_Shown):
    """Part that sweeps share."""

    engine: Engine

    def _rows(self) -> Sequence[Row]:
        sweep: Any = self
        return [row.by_column() for row in sweep.points.values()]

    def _short(self) -> Mapping[str, Any]:
        sweep: Any = self
        points = list(sweep.points.values())
        return {
            "fabric": _fabric(sweep.manifest),
            "routings": ", ".join(dict.fromkeys(row.routing for row in points)),
            "patterns": ", ".join(dict.fromkeys(row.pattern for row in points)),
            "points": len(points),
            self.engine.value: f"{sum(row.sound for row in points)} of {len(points)}",
        }


class Sweep(_Swept, opened.Sweep):
    """Results of a sweep: `points` by routing, pattern and load, and `summary(point)` of each in full."""


class SimulatedSweep(_Swept, opened.SimulatedSweep):
    """Results of a sweep of simulations: `points` by routing, pattern and load, `simulation(point)`."""

    def simulation(self, point: Point) -> Simulation:
        """Returns the results of a point, as of `polarlab.simulate`; of replications, of the first seed.

        Args:
            point: a point of the sweep, one of `points`.
        """
        folder, row = point_folder(self.folder, point), self.points[point]
        return Simulation(folder if self.manifest.sweep.repeat == 1 else folder / seed_folder(row.seed))


class Failover(_Shown, opened.Failover):
    """Results of a failover demonstration."""

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


class Failovers(_Shown, opened.Failovers):
    """Results of a series of failovers."""

    @property
    def replications(self) -> tuple[Failover, ...]:
        """The failovers one by one."""
        return tuple(Failover(one.folder) for one in super().replications)

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


Results = Run | Simulation | Sweep | SimulatedSweep | Failover | Failovers
# Each kind that a folder may hold, by the class of the same name that reads it.
_KINDS: Mapping[type, Any] = {getattr(opened, kind.__name__): kind for kind in get_args(Results)}


def open_results(folder: _Folder) -> Results:
    """Returns the results that a folder holds, an object of the class of their kind, as Run or Sweep.

    Args:
        folder: output directory of `polarlab run`, `simulate`, `sweep` or `demo failover`.

    Raises:
        ParameterError: the folder does not exist, or holds none of these.
    """
    found = opened.open_results(folder)
    results: Results = _KINDS[type(found)](found.folder)
    return results


def plot(
    results: Results | _Folder,
    *,
    format: str | Sequence[str] | None = None,
    width: str | float | None = None,
    title: bool = True,
    order: str | Sequence[str] = (),
    x: str = "",
    booksim: bool = False,
) -> Figures:
    """Returns the figures of results; `save()` writes them into their folder.

    Args:
        results: results, or their folder; or a folder of items of a paper, whose figures are drawn from the
            data there.
        format: formats that `save` writes, of png, svg and pdf, as text with commas or as a list; None for
            png and svg.
        width: width in inches, or as text with a unit, as `3.3in` or `84mm`, to which texts, lines and panels
            are fitted; None for the width of each kind of figure.
        title: whether figures have titles.
        order: panels and curves that come first, by their names, as `uniform,ugal-pf`.
        x: key of `--vary` on the horizontal axis of a sweep, or `load`; empty for the load if it varies, and
            else the first key with numbers.
        booksim: whether the figure of a sweep has the points of the PolarFly authors' simulator, which there
            are of ER_5 with 3 hosts a router.

    Raises:
        ParameterError: the folder holds no results, or damaged ones; or an option does not fit to them.
    """
    folder = folder_of(results)
    look: LookOptions = {"width": width, "title": title, "order": order, "x": x, "booksim": booksim}
    if opened.keeps_items(folder):
        from experiments.figures.look import Look
        from experiments.papers.kept import kept_figures

        chosen = Look.of(format, **look)
        return Figures(kept_figures(folder, chosen), folder, chosen.formats)
    return open_results(folder).plot(format=format, **look)


def report(results: Results | _Folder, path: _Folder | None = None, **look: Unpack[LookOptions]) -> Path:
    """Writes one page of HTML with the figures and tables of results, and returns the file.

    Args:
        results: results, or their folder.
        path: new file; by default `report.html` in the folder, which may be replaced.
        look: as of `polarlab.plot`.

    Raises:
        UsageError: the folder holds no results, or damaged ones; the file exists.
        OSError: the file cannot be written.
    """
    from experiments.figures.look import Look
    from experiments.report.page import write_report

    return write_report(folder_of(results), None if path is None else Path(path), Look.of(**look))


def folder_of(results: Results | _Folder) -> Path:
    """Returns the folder of results.

    Args:
        results: results, or their folder.
    """
    return Path(results) if isinstance(results, str | Path) else results.folder


def _fabric(settings: Any) -> str:
    """Returns family, parameters and hosts of results."""
    shown = f" ({parameters(settings.params)})" if settings.params else ""
    own = settings.name == NetworkxTopology.name and isinstance(settings, Summary | SimulationSummary)
    number = f" ({settings.endpoints})" if own else ""
    return f"{settings.name}{shown}, {hosts_text(settings.name, settings.hosts)}{number}"


def _number(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value
