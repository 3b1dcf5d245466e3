"""Figures of papers, drawn again from computed rows: curves over a number, or bars over names."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.style import DARK, curve_style, legend_below, new_figure, plain_log_labels, set_title
from experiments.papers.model import Plot, Row

_INCHES = (7.0, 4.6)


def draw_item(title: str, plot: Plot, rows: Sequence[Row]) -> Figure:
    """Returns the figure of an item of a paper.

    Args:
        title: the item's content, in a phrase.
        plot: the drawing.
        rows: the rows that are drawn; those without a height are left out.
    """
    figure = new_figure(_INCHES)
    axes = figure.subplots()
    drawn = [row for row in rows if row[plot.y] not in (None, "")]
    if plot.bars:
        _draw_bars(axes, plot, drawn)
    else:
        _draw_curves(axes, plot, drawn)
        if plot.by:
            legend_below(figure, axes.get_legend_handles_labels()[0])
    axes.set_xlabel(plot.x_label)
    axes.set_ylabel(plot.y_label)
    axes.grid(alpha=0.3)
    set_title(figure, title)
    return figure


def _draw_curves(axes: Axes, plot: Plot, rows: Sequence[Row]) -> None:
    """Draws a curve for each name, with a style by the name."""
    for name in dict.fromkeys(row[plot.by] if plot.by else "" for row in rows):
        points = sorted((row[plot.x], row[plot.y]) for row in rows if not plot.by or row[plot.by] == name)
        marker, colour = curve_style(name) if name else ("o", DARK)
        axes.plot(*zip(*points, strict=True), marker=marker, color=colour, markersize=4, label=name)
    if plot.log:
        axes.set_xscale("log")
        axes.set_yscale("log")
        plain_log_labels(axes.xaxis)
        plain_log_labels(axes.yaxis)


def _draw_bars(axes: Axes, plot: Plot, rows: Sequence[Row]) -> None:
    """Draws a bar for each row."""
    axes.bar(range(len(rows)), [row[plot.y] for row in rows], color=DARK)
    axes.set_xticks(range(len(rows)), [str(row[plot.x]) for row in rows], rotation=30, ha="right")
