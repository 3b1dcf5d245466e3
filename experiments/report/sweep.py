"""Reports of sweeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.codec import plain
from experiments.figures.sweep import draw_sweep
from experiments.report.links import worst_links
from experiments.report.model import (
    Detail,
    Page,
    Row,
    Section,
    Table,
    fabric_name,
    figures_of,
    manifest_sections,
)
from experiments.results.open import Sweep
from experiments.results.sweep_points import PointRow

_COLUMNS = (
    *("routing", "pattern", "load", "valid", "offered", "accepted", "accepted_ci95", "predicted_accepted"),
    *("loss", "latency_mean_ms", "latency_p99_ms", "hops_mean", "link_load_max", "out_of_order"),
)
# Columns before those of varied keys.
_KEYS_AT = 3


def sweep_page(results: Sweep) -> Page:
    """Returns the page of a sweep, whose figure is drawn anew.

    Args:
        results: the sweep.

    Raises:
        ParameterError: its files are damaged.
        OSError: the figure cannot be written.
    """
    rows = list(results.points.values())
    varied = results.manifest.sweep.varied
    table = points_table([(row.cells(), row.valid) for row in rows], varied, _COLUMNS)
    note = (
        f"{len(rows)} points, {sum(row.valid for row in rows)} of them valid, the others in brown and "
        f"crossed out: their details have the reasons{results.remedy}. Fractions are of all hosts' injection "
        "capacity."
    )
    return Page(
        f"{fabric_name(results.manifest)}: a sweep",
        (
            Section(note=note, figures=figures_of(results.folder, draw_sweep(results.folder))),
            Section("Points", table=table),
            Section("Each point", details=tuple(_detail(results, row) for row in rows)),
            *manifest_sections(results.manifest),
        ),
    )


def points_table(
    rows: Sequence[tuple[Mapping[str, Any], bool]],
    varied: Mapping[str, Sequence[Any]],
    columns: Sequence[str],
) -> Table:
    """Returns the table of the points of a sweep, without columns that are empty everywhere.

    Args:
        rows: cells of each point by column, and whether it is sound.
        varied: values of each key that the sweep varies.
        columns: columns of every sweep: the point's three, whether it is sound, and its results.
    """
    keys = tuple(key for key in varied if key not in columns)
    words = (key for key in keys if any(isinstance(value, str | bool) for value in varied[key]))
    cells = [dict.fromkeys(keys, "") | dict(row) for row, _ in rows]
    wanted = (*columns[:_KEYS_AT], *keys, *columns[_KEYS_AT:])
    return Table(
        tuple(name for name in wanted if any(row[name] for row in cells)),
        tuple(Row(row, sound) for row, (_, sound) in zip(cells, rows, strict=True)),
        ("routing", "pattern", columns[_KEYS_AT], *words),
        sortable=True,
    )


def _detail(results: Sweep, row: PointRow) -> Detail:
    summary = results.summary(row.point)
    values = {} if summary is None else plain(summary)
    return Detail(row.point.name, values, worst_links(results.link_loads(row.point)))
