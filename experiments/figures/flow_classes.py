"""Figures of TCP flows' slowdown by size class: comparison of runs, and replications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from experiments.comparison.model import Comparison
from experiments.figures.look import scaled
from experiments.figures.style import (
    DARK,
    LIGHT,
    PALETTE,
    legend_below,
    new_panels,
    number_text,
    plain_log_labels,
    printable,
)
from experiments.results.flows.statistics import CLASSES
from experiments.results.metrics import Engine
from experiments.results.open import Run
from experiments.results.parts.flows import ALL
from experiments.results.replications import interval

QUANTILES = (("p50", "median"), ("p99", "99th percentile"))
_NAMES = (*(name for _, name in CLASSES), ALL)

OptionalValues = Sequence[float | None]


def compared_classes(comparison: Comparison) -> list[str]:
    """Returns the size classes that occur in some run, and `all`; empty if a run is not of TCP flows."""
    results = comparison.results
    if any(started is None for started in results.get(f"flows_started, {ALL}", [None])):
        return []
    return [name for name in _NAMES if f"flows_started, {name}" in results]


def draw_classes_compared(comparison: Comparison) -> Figure:
    """Draws median and 99th percentile of slowdown by class, with one bar per run.

    Args:
        comparison: comparison of runs of TCP flows.
    """
    classes, count = compared_classes(comparison), len(comparison.runs)
    invalid = [valid is False for valid in comparison.results.get("valid", [True] * count)]
    width = max(9.0, 1.0 + 0.32 * len(classes) * (count + 1) * 2)
    figure, panels = new_panels((width, 4.6), sharey=True)
    shades = [PALETTE[number % len(PALETTE)] for number in range(count)]
    for axes, (quantile, title) in zip(panels, QUANTILES, strict=True):
        rows = {name: comparison.results[f"slowdown_{quantile}, {name}"] for name in classes}
        _bars(axes, rows, shades, invalid)
        axes.set(title=f"slowdown, {title}", xlabel="flow size")
    figure.axes[0].set_ylabel("slowdown")
    names = [f"slowdown_{quantile}, {name}" for quantile, _ in QUANTILES for name in classes]
    _slowdown_axis(figure.axes[0], [value for name in names for value in comparison.results[name]])
    routings = comparison.differing.get("routing", [None] * count)
    handles = [
        Patch(color=shade, label=printable(run if routing is None else f"{run} ({routing})"))
        for shade, run, routing in zip(shades, comparison.runs, routings, strict=True)
    ]
    if any(invalid):
        handles.append(
            Patch(facecolor="white", edgecolor=DARK, hatch="////", label=f"hatched: {Engine.EMULATION.doubt}")
        )
    legend_below(figure, handles)
    return figure


def _bars(
    axes: Axes, rows: Mapping[str, OptionalValues], shades: Sequence[str], invalid: Sequence[bool]
) -> None:
    """Draws a group of bars per class; a dash marks a run without complete flows in the class."""
    width = 0.85 / len(shades)
    for run, shade in enumerate(shades):
        places = np.arange(len(rows)) + (run - (len(shades) - 1) / 2) * width
        heights = [row[run] or np.nan for row in rows.values()]
        bars = axes.bar(places, heights, width, color=shade, edgecolor=DARK, linewidth=0.6)
        for bar in bars if invalid[run] else ():
            bar.set(facecolor="white", edgecolor=shade, hatch="////")
        texts = ["-" if np.isnan(height) else number_text(height) for height in heights]
        for place, height, text in zip(places, heights, texts, strict=True):
            top = 1.0 if np.isnan(height) else height
            axes.annotate(
                text, (place, top), (0, 2), textcoords="offset points", ha="center", fontsize=scaled(7)
            )
    _name_classes(axes, list(rows))


def draw_class_panel(axes: Axes, runs: Sequence[Run], quantile: str) -> None:
    """Draws a quantile of slowdown by class: value of each replication, and mean with its interval.

    Args:
        axes: axes to draw on.
        runs: the replications.
        quantile: `p50` or `p99`.
    """
    tables = [_by_class(run, quantile) for run in runs]
    classes = [name for name in _NAMES if any(name in table for table in tables)]
    values: list[float | None] = []
    for place, name in enumerate(classes):
        found = [value for table in tables if (value := table.get(name)) is not None]
        values += found
        if not found:
            continue
        mean, half = interval(found)
        axes.bar(place, 2 * (half or 0.0), 0.6, max(mean - (half or 0.0), 1e-3), color=LIGHT, alpha=0.5)
        axes.hlines(mean, place - 0.3, place + 0.3, color=DARK, linewidth=1.2)
        axes.plot([place] * len(found), found, "o", color=DARK, markersize=scaled(4))
    _name_classes(axes, classes)
    _slowdown_axis(axes, values)


def _by_class(run: Run, quantile: str) -> dict[str, float | None]:
    flows = run.summary.flows
    if flows is None:
        return {}
    found = {entry.name: getattr(entry.slowdown, quantile) for entry in flows.classes}
    return {**found, ALL: getattr(flows.slowdown, quantile)}


def _name_classes(axes: Axes, classes: Sequence[str]) -> None:
    axes.axhline(1, color="0.5", linewidth=0.8, linestyle=":")
    axes.set_xticks(range(len(classes)), [name.replace("KB-", "KB-\n") for name in classes])


def _slowdown_axis(axes: Axes, values: OptionalValues) -> None:
    """Sets a logarithmic axis that includes all slowdowns and 1, with space for numbers above bars."""
    known = [value for value in values if value]
    axes.set_yscale("log")
    axes.set_ylim(min([0.8, *(0.8 * value for value in known)]), 1.5 * max([2.0, *known]))
    plain_log_labels(axes.yaxis)
