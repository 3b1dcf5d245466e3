"""Runs side by side as bars; readable in grey."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from experiments.figures.collective import size_axis
from experiments.figures.style import (
    DARK,
    LIGHT,
    check_figure,
    new_figure,
    number_text,
    printable,
    save_new_figure,
)
from experiments.results.comparison import Comparison

_PANELS = (
    ("accepted", "fraction of the injection capacity"),
    ("loss", "fraction of what was sent"),
    ("latency_p99_ms", "ms, 99th percentile"),
)


def draw_comparison(comparison: Comparison, path: Path) -> None:
    """Draws offered and accepted traffic, loss and latency of every run into a new file.

    Of collectives their bandwidth over message size.

    Raises:
        UsageError: the file exists, has no folder, or does not end with .png or .svg.
        OSError: it cannot be written.
    """
    format_ = check_figure(path)
    if all(comparison.collectives):
        save_new_figure(_collectives(comparison), path, format_)
        return
    runs = len(comparison.runs)
    figure = new_figure((11, 1.6 + 0.45 * runs))
    places = np.arange(runs)[::-1]
    labels = [printable(run) for run in comparison.runs]
    for axes, (name, unit) in zip(figure.subplots(1, len(_PANELS), sharey=True), _PANELS, strict=True):
        if name == "accepted":
            offered = [value or 0.0 for value in comparison.results["offered"]]
            axes.barh(places, offered, 0.8, color=LIGHT, label="offered")
        values = comparison.results[name]
        bars = axes.barh(places, [value or 0.0 for value in values], 0.5, color=DARK, label=name)
        axes.bar_label(bars, list(map(_label, values)), padding=3, fontsize=8)
        axes.set_title(name.replace("_", " "))
        axes.set_xlabel(unit)
        axes.margins(x=0.2)
        axes.set_yticks(places, labels, parse_math=False)
        if name == "accepted":
            axes.legend(loc="lower right", fontsize=7)
    save_new_figure(figure, path, format_)


_MARKERS = "osD^vPX*"


def _collectives(comparison: Comparison) -> Figure:
    """Draws the runs' bus bandwidth over message size."""
    figure = new_figure((8, 4.6))
    axes = figure.subplots()
    shades = np.linspace(0.0, 0.6, len(comparison.runs))
    for place, (name, curve) in enumerate(zip(comparison.runs, comparison.collectives, strict=True)):
        axes.plot(
            [size for size, _ in curve],
            [rate / 1e6 for _, rate in curve],
            marker=_MARKERS[place % len(_MARKERS)],
            color=str(shades[place]),
            label=printable(name),
        )
    size_axis(axes, sorted({size for curve in comparison.collectives for size, _ in curve}))
    top = max(rate for curve in comparison.collectives for _, rate in curve) / 1e6
    axes.set(ylabel="bus bandwidth in Mbit/s", ylim=(0, 1.15 * top))
    for text in axes.legend(loc="best").get_texts():
        text.set_parse_math(False)
    return figure


def _label(value: float | None) -> str:
    if value is None:
        return "-"
    return number_text(value)
