"""Runs side by side as bars; readable in grey."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.comparison import Comparison
from experiments.figures import DARK, LIGHT, check_figure, new_figure, number_text, save_new_figure

_PANELS = (
    ("accepted", "fraction of the injection capacity"),
    ("loss", "fraction of what was sent"),
    ("latency_p99_ms", "ms, 99th percentile"),
)


def draw_comparison(comparison: Comparison, path: Path) -> None:
    """Draws accepted traffic (over what was offered), loss and latency of every run into a new file.

    Raises:
        UsageError: the file exists, has no folder, or does not end with .png or .svg.
        OSError: it cannot be written.
    """
    format_ = check_figure(path)
    runs = len(comparison.runs)
    figure = new_figure((11, 1.6 + 0.45 * runs))
    places = np.arange(runs)[::-1]
    labels = [run.encode(errors="replace").decode() for run in comparison.runs]
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


def _label(value: float | None) -> str:
    if value is None:
        return "-"
    return number_text(value)
