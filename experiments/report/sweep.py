"""Reports of sweeps of both engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pkgutil import resolve_name
from typing import Any

from experiments.codec import plain
from experiments.report.model import Detail, Page, PageRow, PageTable, Section, figures_of, manifest_sections
from experiments.report.sections import worst_links
from experiments.results.metrics import Engine, In, metrics
from experiments.results.open import SimulatedSweep, Sweep
from experiments.results.sweep_points import SweptRow
from experiments.results.text import fabric_text


def sweep_page(results: Sweep | SimulatedSweep) -> Page:
    """Returns the page of a sweep, with a new figure.

    Args:
        results: the sweep.

    Raises:
        ParameterError: its files are damaged.
        OSError: the figure cannot be written.
    """
    engine = results.engine
    rows = list(results.points.values())
    return Page(
        f"{fabric_text(results.manifest)}: a sweep{engine.mark}",
        (
            Section(
                note=_note(rows, engine.value, getattr(results, "remedy", None)),
                figures=figures_of(results.folder, resolve_name(results.kind.draw)(results)),
            ),
            Section("Points", table=_points_table(results, rows, engine)),
            Section("Each point", details=tuple(_detail(results, row) for row in rows)),
            *manifest_sections(results.manifest),
        ),
    )


def _note(rows: Sequence[SweptRow], sound: str, remedy: str | None) -> str:
    """Returns the page's note: how many points are sound, and where readers find the reasons for the others.

    Args:
        rows: the points.
        sound: adjective for sound points, `valid` or `stable`.
        remedy: advice for points that are not valid, as the end of a sentence; None for a simulated sweep.
    """
    count = sum(row.sound for row in rows)
    if count == len(rows):
        text = f"{count} points, all of them {sound}."
    else:
        text = (
            f"{len(rows)} points, {count or 'none'} of them {sound}; {'the others' if count else 'they'} are "
        )
        text += "brown and crossed out"
        text += "." if remedy is None else f"; their details have the reasons{remedy}."
    return f"{text} Fractions are of all hosts' injection capacity."


def _points_table(results: Sweep | SimulatedSweep, rows: Sequence[SweptRow], engine: Engine) -> PageTable:
    """Returns the table of points, without empty columns."""
    varied = results.manifest.sweep.varied
    shown = [one for one in metrics(engine, In.REPORT) if one.key != engine.value]
    cells = []
    for row in rows:
        halves = results.halves(row.point)
        own = {one.half: str(halves[one.key]) for one in shown if one.key in halves}
        cells.append(dict.fromkeys((*varied, *(one.half for one in shown)), "") | row.shown() | own)
    first = ("routing", "pattern", "load")
    keys = [key for key in varied if key not in first]
    values = [name for one in shown for name in (one.key, one.half)]
    words = (key for key in keys if any(isinstance(value, str | bool) for value in varied[key]))
    columns = [name for name in (*first, *keys, engine.value, *values) if any(row[name] for row in cells)]
    return PageTable(
        tuple(columns),
        tuple(PageRow(own, row.sound) for own, row in zip(cells, rows, strict=True)),
        (*first[:2], engine.value, *words),
        sortable=True,
        titles={one.key: one.label for one in metrics(engine, In.REPORT)},
    )


def _detail(results: Sweep | SimulatedSweep, row: SweptRow) -> Detail:
    summary = results.summary(row.point)
    values: Mapping[str, Any] = {} if summary is None else plain(summary)
    return Detail(row.point.name, values, worst_links(results.link_loads(row.point)))
