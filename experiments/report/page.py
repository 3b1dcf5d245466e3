"""Report: one page of HTML with the figures, tables and validity of a sweep or a run.

The page is one file: figures and script are in it, and it asks nothing of any server.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader

from experiments.codec import plain
from experiments.figures.run import plot_run
from experiments.figures.sweep import plot_sweep
from experiments.results.manifest import RunManifest, SweepManifest
from experiments.results.open import Run, Sweep, open_results
from experiments.results.run_directory import check_new, write_new
from experiments.results.sweep_points import PointRow
from experiments.results.tables import damage_named
from experiments.results.text import parameters, readable
from topology.errors import ParameterError

REPORT = "report.html"
_COLUMNS = (
    *("routing", "pattern", "load", "offered", "accepted", "accepted_ci95", "predicted_accepted", "loss"),
    *("latency_mean_ms", "latency_p99_ms", "out_of_order", "valid"),
)
_TEXTS = ("routing", "pattern")


@dataclass(frozen=True)
class _Figure:
    """Figure in a page: its name, and its SVG in base64."""

    name: str
    content: str


@dataclass(frozen=True)
class _Point:
    """Point of a sweep in a page: the cells of its row, and its result in full."""

    name: str
    valid: bool
    cells: Mapping[str, str]
    details: Mapping[str, Any]


@dataclass(frozen=True)
class _Page:
    """Content of a page; a run has a result, a sweep has points."""

    title: str
    figures: tuple[_Figure, ...]
    settings: Mapping[str, Any]
    origin: Mapping[str, Any]
    result: Mapping[str, Any] | None = None
    points: tuple[_Point, ...] = ()
    columns: tuple[str, ...] = ()
    texts: tuple[str, ...] = _TEXTS

    @property
    def valid(self) -> int:
        """Number of valid points."""
        return sum(point.valid for point in self.points)


def write_report(folder: Path, path: Path | None = None) -> Path:
    """Writes the report of a sweep or a run, whose figures are drawn anew, and returns the file.

    Args:
        folder: folder of the results.
        path: new file; by default `report.html` in the folder, which may be replaced.

    Raises:
        UsageError: the folder holds neither, or damaged results; the file exists.
        OSError: it cannot be written.
    """
    if path is not None:
        check_new(path)
    results = open_results(folder)
    with damage_named(folder):
        if isinstance(results, Sweep):
            page = _sweep_page(results)
        elif isinstance(results, Run):
            page = _run_page(results)
        else:
            raise ParameterError(f"a report must be of a run or a sweep, got the failover in {folder}")
        text = _environment().get_template("page.html").render(page=page)
    if path is None:
        path = folder / REPORT
        path.write_text(text, errors="replace")
    else:
        write_new(path, text.encode(errors="replace"))
    return path


def _environment() -> Environment:
    loader = PackageLoader("experiments.report")
    environment = Environment(loader=loader, autoescape=True)
    environment.filters |= {"readable": readable, "short": _short}
    return environment


def _sweep_page(results: Sweep) -> _Page:
    points = tuple(_point(results, row) for row in results.points.values())
    return _Page(
        title=f"{_fabric(results.manifest)}: a sweep",
        figures=_figures(plot_sweep(results.folder)),
        settings=plain(results.manifest.sweep),
        origin=_origin(results.manifest),
        points=points,
        columns=tuple(name for name in _COLUMNS if any(point.cells[name] for point in points)),
    )


def _point(results: Sweep, row: PointRow) -> _Point:
    summary = results.summary(row.point)
    return _Point(row.point.name, row.valid, row.cells(), {} if summary is None else plain(summary))


def _run_page(results: Run) -> _Page:
    summary = results.summary
    return _Page(
        title=f"{_fabric(results.manifest)}: {summary.pattern} under {summary.routing}",
        figures=_figures(plot_run(results.folder)),
        settings=plain(results.manifest.traffic),
        origin=_origin(results.manifest),
        result=plain(summary),
    )


def _figures(paths: list[Path]) -> tuple[_Figure, ...]:
    return tuple(
        _Figure(f"{path.parent.name} {path.stem}", base64.b64encode(path.read_bytes()).decode())
        for path in paths
        if path.suffix == ".svg"
    )


def _fabric(manifest: RunManifest | SweepManifest) -> str:
    return f"{manifest.name} ({parameters(manifest.params)}), {manifest.hosts} hosts a router"


def _origin(manifest: RunManifest | SweepManifest) -> dict[str, Any]:
    """Returns the parts of a manifest that are not settings of the traffic or the sweep."""
    return {name: value for name, value in plain(manifest).items() if name not in ("traffic", "sweep")}


def _short(text: str) -> str:
    """Returns a number with four digits, another text as it is."""
    try:
        return text if text.isdecimal() else f"{float(text):.4g}"
    except ValueError:
        return text
