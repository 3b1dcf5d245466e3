"""Figures of papers, redrawn from computed rows: curves over a numeric axis, or a bar for each name."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from operator import itemgetter
from typing import Any

import experiments.figures  # noqa: F401  # isort: skip  # loads matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from experiments.figures.look import ordered, scaled
from experiments.figures.style import (
    DARK,
    MARKERS,
    PALETTE,
    legend_below,
    new_figure,
    new_panels,
    plain_log_labels,
    set_title,
)
from experiments.papers.model import BarChart, Plot, Row

_LARGE = 999.5  # numbers from this one on are shown with all their digits
_MAX_TICKS, _TICK_STEPS = 7, (1, 2, 5, 10)  # ticks of a horizontal axis: few, as panels are narrow
_HOLLOW: Mapping[str, Any] = {"markersize": 5, "markerfacecolor": "white", "zorder": 3}
_LINES = ("-", "--", ":", "-.")
_FEW = 8  # up to this number, each curve has its own colour
# A curve's name, such as `PF-UGAL_PF`: the network, and the routing as papers abbreviate it.
_OF_ROUTING = re.compile(r"(.+)[- ]((?:MIN|UGAL|NCA|VAL)\S*)")
# Name of a curve -> its marker, colour and line style.
Styles = Mapping[str, tuple[str, str, str]]
_INCHES, _MAX_INCHES = (7.0, 4.6), 13.0
_ROOM = 0.5  # space for the numbers beside the bars, as a share of the panel's axis
_CHART_INCHES, _NAMES_INCHES, _LINE_INCHES = 13.0, 2.5, 0.24


def draw_item(title: str, plot: Plot | BarChart, rows: Sequence[Row]) -> Figure:
    """Draws a figure of a paper.

    Args:
        title: title of the figure.
        plot: the description of the drawing.
        rows: the data; rows without a value to draw are left out.
    """
    figure = _draw_bar_chart(plot, rows) if isinstance(plot, BarChart) else _draw_plot(plot, rows)
    set_title(figure, title)
    return figure


def _draw_plot(plot: Plot, rows: Sequence[Row]) -> Figure:
    """Draws curves or bars, with a panel for each name in column `plot.panels`, or each of `plot.also`."""
    panels = _panels(plot, rows)
    names = dict.fromkeys(str(row[plot.by]) if plot.by else "" for _, _, own in panels for row in own)
    styles = _styles(ordered(names) if plot.by else names)
    width, height = _INCHES
    inches = (min(width + 3.0 * (len(panels) - 1), _MAX_INCHES), height)
    figure, row_of_axes = new_panels(inches, [1.0] * len(panels), sharey=plot.top is not None)
    for axes, (panel, own_plot, own) in zip(row_of_axes, panels, strict=True):
        draw = _draw_bars if plot.bars else _draw_curves
        draw(axes, own_plot, own, styles)
        axes.set_xlabel(plot.x_label)
        axes.set_title(panel, fontsize="medium")
        axes.grid(alpha=0.3, which="both" if plot.log == "y" else "major")
        if plot.also or axes.get_position().x0 == row_of_axes[0].get_position().x0:
            axes.set_ylabel(own_plot.y_label)
    if plot.top is not None:  # last, because every panel may extend the shared axis downwards
        row_of_axes[0].set_ylim(top=plot.top)
    if plot.by and not plot.bars:
        handles = {
            one.get_label(): one for axes in figure.axes for one in axes.get_legend_handles_labels()[0]
        }
        legend_below(figure, [handles[name] for name in styles if name in handles])
    return figure


def _panels(plot: Plot, rows: Sequence[Row]) -> list[tuple[str, Plot, list[Row]]]:
    """Returns (title, description of the drawing, rows to draw) for each panel."""
    plots = [plot, *(replace(plot, y=y, y_label=label) for y, label in plot.also.items())]
    of_plots = [(one, [row for row in rows if row[one.y] not in (None, "")]) for one in plots]
    if not plot.panels:
        return [("", one, drawn) for one, drawn in of_plots]
    [(_, drawn)] = of_plots
    names = ordered(row[plot.panels] for row in drawn)
    return [(name, plot, [row for row in drawn if row[plot.panels] == name]) for name in names]


def _draw_bar_chart(chart: BarChart, rows: Sequence[Row]) -> Figure:
    """Draws horizontal bars, one line per row, with a heading at the start of each group."""
    lines: list[Row | None] = []
    names: list[str] = []
    for number, row in enumerate(rows):
        if chart.group and (not number or rows[number - 1][chart.group] != row[chart.group]):
            lines.append(None)
            names.append(str(row[chart.group]))
        lines.append(row)
        names.append(", ".join(str(row[name]) for name in chart.names))
    figure = new_figure((_CHART_INCHES, _NAMES_INCHES + _LINE_INCHES * len(lines)))
    panels = figure.subplots(1, len(chart.measures), sharey=True, squeeze=False)[0]
    for axes, (measure, title) in zip(panels, chart.measures.items(), strict=True):
        for place, line in enumerate(lines):
            if line is not None:
                _draw_line(axes, place, line, measure)
        axes.set_title(title.replace(", ", "\n"), fontsize="small")
        axes.margins(x=_ROOM)
        axes.grid(axis="x", alpha=0.3)
    panels[0].set_yticks(range(len(lines)), names, fontsize="small")
    panels[0].set_ylim(len(lines) - 0.5, -0.5)
    for label, line in zip(panels[0].get_yticklabels(), lines, strict=True):
        label.set_fontweight("bold" if line is None else "normal")
    if chart.condition is not None:
        column, heading = chart.condition
        words = [heading if line is None else str(line[column]) for line in lines]
        right = panels[-1].secondary_yaxis("right")
        right.set_yticks(range(len(lines)), words, fontsize="x-small")
        right.tick_params(length=0)
    return figure


def _draw_line(axes: Axes, place: int, row: Row, measure: str) -> None:
    """Draws a horizontal bar with its interval and its value as text; nothing if the row has no value.

    Args:
        axes: the panel.
        place: vertical position of the bar.
        row: the row.
        measure: column of the measure.
    """
    value = row[measure]
    if value in (None, ""):
        return
    low, high = (row.get(f"{measure}_{end}", "") for end in ("low", "high"))
    known = low not in (None, "") and high not in (None, "")
    axes.barh(place, value, color=DARK, alpha=0.6)
    if known:
        axes.errorbar(
            value, place, xerr=_reach(value, low, high), fmt="none", ecolor="black", capsize=scaled(2)
        )
    text = f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:.3g}"
    end = max(value, high) if known else value
    axes.annotate(text, (end, place), (3, 0), textcoords="offset points", va="center", fontsize=scaled(6))


def _reach(value: float, low: float, high: float) -> list[list[float]]:
    """Returns the distances from a value to both ends of its interval, as matplotlib's `xerr` and `yerr`."""
    return [[max(value - low, 0.0)], [max(high - value, 0.0)]]


def _styles(names: Iterable[str]) -> Styles:
    """Returns a marker, a colour and a line style for each curve.

    If there are many curves, the network decides colour and marker, and the routing the line style.
    """
    listed = [*names]
    matches = [_OF_ROUTING.fullmatch(name) for name in listed]
    known = [one.groups() for one in matches if one]
    if len(listed) <= _FEW or len(known) < len(listed):
        known = [(name, "") for name in listed]
    networks, routings = (dict.fromkeys(column) for column in zip(*known, strict=True))
    of_network = dict(zip(networks, _markers(), strict=False))
    of_routing = dict(zip(routings, cycle(_LINES), strict=False))
    return {
        name: (*of_network[network], of_routing[routing])
        for name, (network, routing) in zip(listed, known, strict=True)
    }


def _markers() -> Iterator[tuple[str, str]]:
    """Yields (marker, colour) without end; the first forty combinations differ."""
    yield from zip(cycle(MARKERS), cycle(PALETTE), strict=False)


def _draw_curve(
    axes: Axes, plot: Plot, rows: Sequence[Row], name: str, style: tuple[str, str, str], zorder: float
) -> None:
    """Draws a curve with its intervals; points that `plot.full` marks as not full get hollow markers."""
    marker, colour, line = style
    x, y = ([row[column] for row in rows] for column in (plot.x, plot.y))
    axes.plot(x, y, line, marker=marker, color=colour, markersize=scaled(4), label=name, zorder=zorder)
    bars: dict[str, Any] = {"fmt": "none", "ecolor": colour, "capsize": scaled(2)}
    if plot.error:
        axes.errorbar(x, y, [row[plot.error] or 0.0 for row in rows], **bars)
    for row in rows:
        if plot.low and row[plot.low] not in (None, ""):
            reach = _reach(row[plot.y], row[plot.low], row[plot.high])
            axes.errorbar(row[plot.x], row[plot.y], reach, **bars)
        if plot.full and not row[plot.full]:
            axes.plot(row[plot.x], row[plot.y], marker, color=colour, **_HOLLOW)


def _draw_curves(axes: Axes, plot: Plot, rows: Sequence[Row], styles: Styles) -> None:
    """Draws one curve per name."""
    for number, (name, style) in enumerate(styles.items()):
        own = [row for row in rows if not plot.by or str(row[plot.by]) == name]
        if own:
            # The first curve belongs to the paper's own network and is drawn above the others.
            _draw_curve(axes, plot, sorted(own, key=itemgetter(plot.x)), name, style, 2 + 0.5 / (1 + number))
    logarithmic: str = plot.log if any(row[plot.y] > 0 for row in rows) else ""
    if "x" not in logarithmic and _is_wide(plot, rows):
        logarithmic += "x"
    for letter in logarithmic:
        axes.set(**{f"{letter}scale": "log"})
        plain_log_labels(getattr(axes, f"{letter}axis"))
    if "x" not in logarithmic:
        axes.xaxis.set_major_locator(MaxNLocator(_MAX_TICKS, steps=_TICK_STEPS))


def _is_wide(plot: Plot, rows: Sequence[Row]) -> bool:
    """Returns whether the values on the horizontal axis span so wide a range that it must be logarithmic."""
    if plot.wide == math.inf:
        return False
    values = [row[plot.x] for row in rows]
    return bool(max(values) >= plot.wide * min(values) > 0)


def _draw_bars(axes: Axes, plot: Plot, rows: Sequence[Row], _styles: Styles) -> None:
    """Draws one bar per row."""
    axes.bar(range(len(rows)), [row[plot.y] for row in rows], color=DARK)
    axes.set_xticks(range(len(rows)), [str(row[plot.x]) for row in rows], rotation=30, ha="right")
