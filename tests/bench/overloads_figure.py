"""The figure of docs/explanation/validity.md: errors of overloaded runs, and which were called valid.

PYTHONPATH=. .venv/bin/python tests/bench/overloads_figure.py results/bench-overloads.csv docs/figures
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from matplotlib.figure import Figure

from experiments.figures.style import legend_above, new_figure, plain_log_labels, save_new_figure
from experiments.validity.judgement import MAX_HELD, MAX_HELD_MEAN, MAX_HELD_RMS

_COLORS = ("#1b6ca8", "#c2571a", "#3a7d44", "#8e44ad", "#a87900", "#d6336c", "0.45")
_MIN_ERROR, _MIN_HELD = 3e-4, 0.03  # what is less is drawn there


def draw(rows: list[dict[str, str]]) -> Figure:
    """Returns the figure of the runs that `make bench ROWS=validity-overloads` left."""
    figure = new_figure((8.5, 5))
    axes = figure.subplots()
    kinds = [*sorted({row["kind"] for row in rows} - {"nothing"}), "nothing"]
    for kind, color in zip(kinds, _COLORS, strict=False):
        for flagged in (True, False):
            runs = [row for row in rows if row["kind"] == kind and (row["flagged"] == "True") == flagged]
            axes.scatter(
                [max(_MIN_HELD, _held(row)) for row in runs],
                [max(_MIN_ERROR, float(row["error"])) for row in runs],
                s=34,
                marker="x" if flagged else "o",
                color=color,
                label=kind if not flagged else None,
                alpha=0.85,
            )
    axes.axvline(1, color="0.3", linewidth=1, linestyle="--")
    axes.axhline(0.05, color="0.3", linewidth=1, linestyle="--")
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain_log_labels(axes.xaxis)
    axes.set_xlabel("time for which switches held frames, over its bound (the largest of three measures)")
    axes.set_ylabel("error of accepted, hops or queueing")
    axes.text(0.02, 0.98, "distorted, called valid: none may be here", transform=axes.transAxes, va="top")
    axes.text(0.98, 0.02, "x: called not valid   o: called valid", transform=axes.transAxes, ha="right")
    legend_above(axes, columns=3)
    return figure


def _held(row: dict[str, str]) -> float:
    bounds = {"held_max": MAX_HELD, "held_rms": MAX_HELD_RMS, "held_mean": MAX_HELD_MEAN}
    return max(float(row[name] or 0) / most for name, most in bounds.items())


if __name__ == "__main__":
    with open(sys.argv[1], newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    save_new_figure(draw(table), Path(sys.argv[2]) / "overloads.png", "png")
