"""Results side by side: runs, simulations and failovers as bars, sweeps as curves; readable in grey."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from experiments.comparison.model import ComparedPoint, Comparison
from experiments.comparison.runs import SIMULATIONS
from experiments.comparison.sweeps import SIMULATED_KIND as SIMULATED_SWEEPS
from experiments.figures.collective import size_axis
from experiments.figures.flow_classes import compared_classes, draw_classes_compared
from experiments.figures.style import (
    DARK,
    INVALID,
    LIGHT,
    UNSTABLE,
    check_figure,
    cross_out,
    crossed_handle,
    legend_below,
    new_figure,
    number_text,
    plain_log_labels,
    printable,
    save_new_figure,
    set_title,
)
from experiments.figures.sweeps.axes import Axis, axis_of, curve_styles
from experiments.results.text import hosts_text, parameters
from experiments.spec.options import SIMULATED_SWEEP, SWEEP
from topology.errors import ParameterError

# Results that are drawn as bars: their name, and the unit of the axis.
_RUNS = (
    ("accepted", "of the injection capacity"),
    ("loss", "of what was sent"),
    ("latency_p99_ms", "ms, 99th percentile"),
)
_SIMULATIONS = (
    ("accepted", "of the injection capacity"),
    ("loss", "of what was sent"),
    ("latency_p99_cycles", "cycles, 99th percentile"),
)
_FAILOVERS = (
    ("packets_lost", "probes"),
    ("gap_ms", "longest silence in ms"),
    ("repaired_ms", "ms until all were heard"),
)
# Panels by the kind of the results, and the meaning of hatched bars; others are failovers.
_PANELS = {"runs": (_RUNS, INVALID), SIMULATIONS: (_SIMULATIONS, UNSTABLE)}
_OF_FAILOVERS = (_FAILOVERS, "result negative or interrupted")
_MOST_LABEL = 28  # characters of a line
_LINES: tuple[Any, ...] = ("-", "--", ":", "-.")


def draw_comparison(comparison: Comparison, path: Path) -> None:
    """Draws results side by side into a new file.

    Of runs and simulations offered and accepted traffic, loss and latency, of collectives their bandwidth
    over message size, of TCP flows their slowdown by class of sizes; of sweeps accepted traffic
    and latency over offered; of failovers losses and silences.

    Raises:
        UsageError: the file exists, has no folder, or does not end with .png or .svg.
        OSError: it cannot be written.
    """
    format_ = check_figure(path)
    save_new_figure(comparison_figure(comparison), path, format_)


def comparison_figure(comparison: Comparison) -> Figure:
    """Returns the figure of results side by side.

    Args:
        comparison: the results.

    Raises:
        ParameterError: sweeps have no points.
    """
    if comparison.kind in ("sweeps", SIMULATED_SWEEPS):
        figure = _sweeps(comparison)
    elif compared_classes(comparison):
        figure = draw_classes_compared(comparison)
    elif comparison.collectives and all(comparison.collectives):
        figure = _collectives(comparison)
    else:
        figure = _bars(comparison, *_PANELS.get(comparison.kind, _OF_FAILOVERS))
    set_title(figure, _title(comparison))
    return figure


def _title(comparison: Comparison) -> str:
    """Returns the settings that all results share, for a title."""
    same = comparison.same
    words = [f"{len(comparison.runs)} {comparison.kind}"]
    if "name" in same:
        shown = f" ({parameters(same['params'])})" if "params" in same else ""
        words.append(f"{same['name']}{shown}")
    words += [hosts_text(same.get("name", ""), same["hosts"])] if "hosts" in same else []
    words += [f"links of {same['link_rate_bps'] / 1e6:g} Mbit/s"] if "link_rate_bps" in same else []
    words += [str(same["routing"])] if "routing" in same else []
    words += [f"{same['pattern']} traffic"] if same.get("pattern") else []
    return ", ".join(words)


def _bars(comparison: Comparison, panels: Sequence[tuple[str, str]], doubt: str) -> Figure:
    """Draws a bar for each result in each of some panels; those of doubtful results are hatched."""
    count = len(comparison.runs)
    figure = new_figure((11, 2.3 + 0.45 * count))
    places = np.arange(count)[::-1]
    labels = [textwrap.fill(printable(run), _MOST_LABEL) for run in comparison.runs]
    invalid = _doubtful(comparison)
    handles: list[Any] = []
    for axes, (name, unit) in zip(figure.subplots(1, len(panels), sharey=True), panels, strict=True):
        if name == "accepted":
            offered = [value or 0.0 for value in comparison.results["offered"]]
            axes.barh(places, offered, 0.8, color=LIGHT)
            handles += [Patch(color=LIGHT, label="offered"), Patch(color=DARK, label="accepted")]
        _panel(axes, places, comparison, name, invalid)
        axes.set_title(name.replace("_", " "))
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
        handles.append(Line2D([], [], color="0.45", label="95 % confidence interval over seeds"))
    legend_below(figure, handles)
    return figure


def _doubtful(comparison: Comparison) -> list[bool]:
    """Returns, for each result, whether its bar is hatched: not valid or stable, negative, or interrupted."""
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
        widths = [half or 0.0 for half in halves]
        axes.errorbar(lengths, places, xerr=widths, fmt="none", ecolor="0.45", capsize=3)
    # Beside the longer of the bars and the ends of the intervals.
    beyond = [length + (half or 0.0) for length, half in zip(lengths, halves, strict=True)]
    if name == "accepted":
        offered = [value or 0.0 for value in comparison.results["offered"]]
        beyond = list(map(max, beyond, offered))
    for place, end, value in zip(places, beyond, values, strict=True):
        text = _label(value)
        axes.annotate(text, (end, place), (4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_xlim(0, 1.3 * max(beyond) or 1.0)


_MARKERS = "osD^vPX*"


def _collectives(comparison: Comparison) -> Figure:
    """Draws the runs' bus bandwidth over message size."""
    figure = new_figure((8, 4.9))
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
    legend_below(figure, axes.get_lines())
    return figure


def _sweeps(comparison: Comparison) -> Figure:
    """Draws accepted traffic and latency of all sweeps over the offered load, or over another varied option.

    Each sweep has a line style.
    """
    points = comparison.points
    if not points:
        raise ParameterError("sweeps must have points to be drawn, got none")
    simulated = comparison.kind == SIMULATED_SWEEPS
    unit, doubt = ("cycles", UNSTABLE) if simulated else ("ms", INVALID)
    axis = axis_of(points, SIMULATED_SWEEP if simulated else SWEEP)
    patterns = list(dict.fromkeys(axis.panel(point) for point in points))
    styles = curve_styles(axis.curve(point) for point in points)
    figure = new_figure((max(7.5, 1.2 + 3.1 * len(patterns)), 7.0))
    panels = figure.subplots(2, len(patterns), sharex=True, sharey="row", squeeze=False)
    for pattern, accepted, latency in zip(patterns, panels[0], panels[1], strict=True):
        latency.set(xlabel=axis.label, yscale="log")
        for name, look in styles.items():
            chosen = [p for p in points if (axis.curve(p), axis.panel(p)) == (name, pattern)]
            for number in range(len(comparison.runs)):
                _curve(accepted, chosen, "accepted", number, axis, look)
                _curve(latency, chosen, f"latency_mean_{unit}", number, axis, look)
        accepted.set_title(printable(pattern), parse_math=False)
        accepted.set(ylim=(0, 1.03), **({} if axis.key else {"xlim": (0, 1.03)}))
        plain_log_labels(latency.yaxis)
    panels[0][0].set_ylabel("accepted")
    panels[1][0].set_ylabel(f"mean latency in {unit}")
    handles = [
        Line2D([], [], marker=marker, color=color, label=printable(name), linestyle="none")
        for name, (marker, color) in styles.items()
    ]
    handles += [
        Line2D([], [], color="0.3", linestyle=_LINES[number % len(_LINES)], label=printable(run))
        for number, run in enumerate(comparison.runs)
    ]
    if any(good is False for point in points for good in _good(point)):
        handles.append(crossed_handle(doubt))
    legend_below(figure, handles)
    return figure


def _curve(
    axes: Axes,
    points: Sequence[ComparedPoint],
    name: str,
    number: int,
    axis: Axis,
    look: tuple[str, str],
) -> None:
    """Draws a curve of one sweep; points that are not valid are crossed out.

    A point that does not depend on what is on the x axis is a level line.
    """
    marker, color = look
    line: dict[str, Any] = {"color": color, "linestyle": _LINES[number % len(_LINES)]}
    curve: list[tuple[float, float, bool | None]] = []
    for point in points:
        value = point.values[name][number]
        place = axis.place(point, point.values["offered"][number])
        if value is not None and place is not None:
            curve.append((place, value, _good(point)[number]))
        elif value is not None and axis.key:
            axes.plot(axis.span, (value, value), linewidth=1.0, **line)
    curve.sort()
    if curve:
        axes.plot([x for x, _, _ in curve], [y for _, y, _ in curve], marker=marker, markersize=5, **line)
        cross_out(axes, [(x, y) for x, y, valid in curve if not valid], marker, color)


def _good(point: ComparedPoint) -> Sequence[bool | None]:
    """Returns whether a point is valid, or stable if it was simulated, in each sweep."""
    return point.values["valid"] if "valid" in point.values else point.values["stable"]


def _label(value: float | None) -> str:
    if value is None:
        return "-"
    return number_text(value)
