"""Figures of comparisons: bars for runs, simulations and failovers, curves for sweeps; readable in grey."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from experiments.comparison.model import ComparedPoint, Comparison
from experiments.figures.collective import size_axis
from experiments.figures.flow_classes import compared_classes, draw_classes_compared
from experiments.figures.look import PLAIN, Look, drawn_as, scaled
from experiments.figures.style import (
    DARK,
    LIGHT,
    check_figure,
    curve_styles,
    interval_handle,
    legend_below,
    new_figure,
    new_panels,
    number_text,
    printable,
    save_new_figure,
    set_title,
)
from experiments.figures.sweeps.panels import curve_handles, new_sweep_panels
from experiments.results.metrics import Engine, In, metrics
from experiments.results.open import KINDS
from experiments.results.text import hosts_text, parameters
from topology.errors import ParameterError

# Panels of failovers: value, title, unit of the axis.
_FAILOVERS = (
    ("packets_lost", "packets lost", "probes"),
    ("gap_ms", "longest silence", "ms"),
    ("repaired_ms", "time until all pairs were reachable", "ms"),
)
_MAX_LABEL = 28  # longest line of a label, in characters


def draw_comparison(comparison: Comparison, path: Path, look: Look = PLAIN) -> None:
    """Draws a comparison to a new file.

    Shows offered and accepted load, loss and latency of runs and simulations; bandwidth by message size of
    collectives; slowdown by size class of TCP flows; accepted load and latency by offered load of sweeps;
    losses and silences of failovers.

    Raises:
        UsageError: the file exists, has no folder, or does not end with .png, .svg or .pdf.
        OSError: it cannot be written.
    """
    format_ = check_figure(path)
    save_new_figure(comparison_figure(comparison, look), path, format_)


def comparison_figure(comparison: Comparison, look: Look = PLAIN) -> Figure:
    """Draws a comparison.

    Args:
        comparison: the comparison.
        look: look of the figure.

    Raises:
        ParameterError: sweeps have no points, or the look has an order or an axis that does not apply.
    """
    kind = next(one.kind for one in KINDS if one.kind.plural == comparison.kind)
    with drawn_as(look):
        figure: Figure = resolve_name(kind.draw_compared)(comparison)
        set_title(figure, _title(comparison))
    return figure


def draw_runs(comparison: Comparison) -> Figure:
    """Draws runs or simulations: flows by class, collectives by size, others as bars.

    Args:
        comparison: comparison of runs or of simulations.
    """
    if compared_classes(comparison):
        return draw_classes_compared(comparison)
    if comparison.collectives and all(comparison.collectives):
        return _collectives(comparison)
    engine = _engine(comparison.results)
    panels = [(one.key, one.title, one.unit) for one in metrics(engine, In.BARS)]
    return _bars(comparison, panels, engine.doubt)


def draw_failovers(comparison: Comparison) -> Figure:
    """Draws failovers, or series of failovers, as bars.

    Args:
        comparison: the comparison.
    """
    return _bars(comparison, _FAILOVERS, "result negative or interrupted")


def _engine(results: Mapping[str, Any]) -> Engine:
    """Returns the engine, emulation or simulation, whose name is a key of `results`."""
    return next(one for one in Engine if one.value in results)


def _title(comparison: Comparison) -> str:
    """Returns a title with the settings shared by all results."""
    same = comparison.same
    words = [f"{len(comparison.runs)} {comparison.kind}"]
    if "name" in same:
        shown = f" ({parameters(same['params'])})" if "params" in same else ""
        words.append(f"{same['name']}{shown}")
    words += [hosts_text(same.get("name", ""), same["hosts"])] if "hosts" in same else []
    words += [f"{same['link_rate_bps'] / 1e6:g} Mbit/s links"] if "link_rate_bps" in same else []
    words += [str(same["routing"])] if "routing" in same else []
    words += [f"{same['pattern']} traffic"] if same.get("pattern") else []
    return ", ".join(words)


def _bars(comparison: Comparison, panels: Sequence[tuple[str, str, str]], doubt: str) -> Figure:
    """Draws a bar for each result in each panel; bars of doubtful results are hatched."""
    count = len(comparison.runs)
    # If panels are stacked, each has its own labels.
    figure, row = new_panels((11, 2.3 + 0.45 * count), [1.0] * len(panels), sharey=True)
    places = np.arange(count)[::-1]
    labels = [textwrap.fill(printable(run), _MAX_LABEL) for run in comparison.runs]
    invalid = _doubtful(comparison)
    handles: list[Any] = []
    for axes, (name, title, unit) in zip(row, panels, strict=True):
        if name == "accepted":
            offered = [value or 0.0 for value in comparison.results["offered"]]
            axes.barh(places, offered, 0.8, color=LIGHT)
            handles += [Patch(color=LIGHT, label="offered"), Patch(color=DARK, label="accepted")]
        _panel(axes, places, comparison, name, invalid)
        axes.set_title(title)
        axes.set_xlabel(unit)
        axes.set_yticks(places, labels, parse_math=False)
    if any(invalid):
        handles.append(
            Patch(
                facecolor="white",
                edgecolor=DARK,
                hatch="////",
                label=f"hatched: {doubt}",
            )
        )
    if comparison.intervals:
        handles.append(interval_handle())
    legend_below(figure, handles)
    return figure


def _doubtful(comparison: Comparison) -> list[bool]:
    """Returns, for each result, whether it is not `valid`, not `stable`, `negative` or `interrupted`."""
    none: list[Any] = [None] * len(comparison.runs)
    rows = [comparison.results.get(name, none) for name in ("valid", "stable", "negative", "interrupted")]
    return [
        valid is False or stable is False or bool(negative) or bool(interrupted)
        for valid, stable, negative, interrupted in zip(*rows, strict=True)
    ]


def _panel(axes: Axes, places: Any, comparison: Comparison, name: str, invalid: Sequence[bool]) -> None:
    values = comparison.results.get(name, [None] * len(comparison.runs))
    halves = comparison.intervals.get(name, [None] * len(values))
    lengths = [value or 0.0 for value in values]
    bars = axes.barh(places, lengths, 0.5, color=DARK)
    for bar, hidden in zip(bars, invalid, strict=True):
        if hidden:
            bar.set(facecolor="white", edgecolor=DARK, hatch="////")
    if any(half is not None for half in halves):
        widths = [np.nan if half is None else half for half in halves]
        axes.errorbar(lengths, places, xerr=widths, fmt="none", ecolor="0.45", capsize=scaled(3))
    # Labels go to the right of bars and intervals.
    beyond = [length + (half or 0.0) for length, half in zip(lengths, halves, strict=True)]
    if name == "accepted":
        offered = [value or 0.0 for value in comparison.results["offered"]]
        beyond = list(map(max, beyond, offered))
    for place, end, value in zip(places, beyond, values, strict=True):
        text = _label(value)
        axes.annotate(text, (end, place), (4, 0), textcoords="offset points", va="center", fontsize=scaled(8))
    axes.set_xlim(0, 1.3 * max(beyond) or 1.0)


def _collectives(comparison: Comparison) -> Figure:
    """Draws the bus bandwidth of runs by message size."""
    figure = new_figure((8, 4.9))
    axes = figure.subplots()
    styles = curve_styles(comparison.runs)
    for name, curve in zip(comparison.runs, comparison.collectives, strict=True):
        marker, color = styles[name]
        rates = [rate / 1e6 for _, rate in curve]
        axes.plot([size for size, _ in curve], rates, marker=marker, color=color, label=printable(name))
    size_axis(axes, sorted({size for curve in comparison.collectives for size, _ in curve}))
    top = max(rate for curve in comparison.collectives for _, rate in curve) / 1e6
    axes.set(ylabel="bus bandwidth in Mbit/s", ylim=(0, 1.15 * top))
    legend_below(figure, axes.get_lines())
    return figure


def draw_sweeps(comparison: Comparison) -> Figure:
    """Draws accepted load and latency of sweeps; each sweep has its own line style and marker fill.

    Args:
        comparison: comparison of sweeps.

    Raises:
        ParameterError: they have no points.
    """
    compared = comparison.points
    if not compared:
        raise ParameterError("sweeps must have points to be drawn, got none")
    panels = new_sweep_panels(compared, _engine(compared[0].values))
    handles = curve_handles(panels.styles)
    for number, run in enumerate(comparison.runs):
        rows = [_Side(point, number) for point in compared]
        panels.draw([row for row in rows if row.accepted is not None], number, predicted=False)
        line: dict[str, Any] = {"color": "0.3", "marker": "o", **panels.sweep_style(number)}
        handles.append(Line2D([], [], label=printable(run), markersize=scaled(5), **line))
    return panels.finish(handles, "")


class _Side:
    """One sweep's values at a compared point, with columns as attributes; `number` selects the sweep."""

    def __init__(self, point: ComparedPoint, number: int) -> None:
        self.routing, self.pattern, self.load = point.routing, point.pattern, point.load
        self.varied: Mapping[str, Any] | None = point.varied
        self._values, self._number = point.values, number

    def __getattr__(self, column: str) -> Any:
        return self._values[column][self._number]


def _label(value: float | None) -> str:
    if value is None:
        return "-"
    return number_text(value)
