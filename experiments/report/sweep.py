"""Reports of sweeps."""

from __future__ import annotations

from experiments.codec import plain
from experiments.figures.sweep import plot_sweep
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
    keys = tuple(key for key in varied if key not in _COLUMNS)
    words = (key for key in keys if any(isinstance(value, str | bool) for value in varied[key]))
    cells = [dict.fromkeys(keys, "") | row.cells() for row in rows]
    wanted = (*_COLUMNS[:_KEYS_AT], *keys, *_COLUMNS[_KEYS_AT:])
    columns = tuple(name for name in wanted if any(row[name] for row in cells))
    table = Table(
        columns,
        tuple(Row(row_cells, row.valid) for row, row_cells in zip(rows, cells, strict=True)),
        ("routing", "pattern", "valid", *words),
        sortable=True,
    )
    note = (
        f"{len(rows)} points, {sum(row.valid for row in rows)} of them valid, the others in brown and "
        "crossed out: their details have the reasons. Fractions are of all hosts' injection capacity."
    )
    return Page(
        f"{fabric_name(results.manifest)}: a sweep",
        (
            Section(note=note, figures=figures_of(plot_sweep(results.folder))),
            Section("Points", table=table),
            Section("Each point", details=tuple(_detail(results, row) for row in rows)),
            *manifest_sections(results.manifest),
        ),
    )


def _detail(results: Sweep, row: PointRow) -> Detail:
    summary = results.summary(row.point)
    values = {} if summary is None else plain(summary)
    return Detail(row.point.name, values, worst_links(results.link_loads(row.point)))
