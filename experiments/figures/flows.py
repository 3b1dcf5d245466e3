"""Figure of TCP flows: slowdown by flow size."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from experiments.figures.style import (
    DARK,
    LIGHT,
    heading,
    legend_above,
    new_figure,
    plain_log_labels,
    set_title,
)
from experiments.results.flows.statistics import FLOW_COLUMNS, FLOWS
from experiments.results.open import Run

NONE_COMPLETED = "no flow of the measurement window completed"
_BINS_PER_DECADE = 2
# Minimum ratio between an end of an axis and the middle of its values.
_MIN_SPAN = 2.0
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B"))

Values = npt.NDArray[np.float64]


def draw_flows(run: Run) -> Figure:
    """Draws the slowdown of every measured flow, and quantiles by size.

    Args:
        run: run of TCP flows.

    Raises:
        ParameterError: its table is missing or damaged.
    """
    flows, summary = run.summary.flows, run.summary
    assert flows is not None
    table = run.table(FLOWS, FLOW_COLUMNS)
    begin_s, end_s = summary.warmup_s, summary.warmup_s + summary.measured_s
    times, sizes = np.array(table["time_s"], float), np.array(table["bytes"], float)
    slowdowns = np.array([value or "nan" for value in table["slowdown"]], float)
    kept = (begin_s <= times) & (times < end_s) & ~np.isnan(slowdowns)
    sizes, slowdowns = sizes[kept], slowdowns[kept]
    figure = new_figure((8.5, 4.6))
    axes = figure.subplots()
    if len(sizes):
        _curves(axes, sizes, slowdowns)
    else:
        axes.text(0.5, 0.5, NONE_COMPLETED, transform=axes.transAxes, ha="center", va="center")
        axes.set(xticks=(), yticks=())
    axes.set(xlabel="flow size", ylabel="slowdown")
    of_sizes = (flows.flow_sizes or flows.flow_file or "").rpartition("/")[2]
    load = "" if summary.load is None else f" at load {summary.load:g}"
    completed = f"{flows.completed} of {flows.started} completed"
    set_title(figure, f"{heading(summary)}\n{of_sizes} flows{load}, {flows.tcp}: {completed}")
    return figure


def _curves(axes: Axes, sizes: Values, slowdowns: Values) -> None:
    """Draws all flows and their quantiles; both axes span at least a factor of four."""
    # If all flows have one size, larger markers stay visible behind the quantiles.
    size = 3 if len(np.unique(sizes)) > 1 else 9
    axes.plot(sizes, slowdowns, linestyle="none", marker=".", color=LIGHT, markersize=size, label="one flow")
    _quantiles(axes, sizes, slowdowns)
    axes.axhline(1, color="0.5", linewidth=0.8, linestyle=":")
    axes.set(xscale="log", yscale="log", xlim=_limits(sizes), ylim=_limits(np.append(slowdowns, 1.0)))
    axes.xaxis.set_major_formatter(lambda size, _position: _size_text(size))
    axes.xaxis.set_minor_formatter(NullFormatter())
    if sizes.max() < _MIN_SPAN**2 * sizes.min():  # the limits may not include a power of ten
        axes.set_xticks(sorted({float(sizes.min()), float(sizes.max())}))
    plain_log_labels(axes.yaxis)
    legend_above(axes, columns=3)


def _limits(values: Values) -> tuple[float, float]:
    """Returns limits of a logarithmic axis: all values and a margin, but at least a factor of four."""
    least, most = float(values.min()), float(values.max())
    margin = max((most / least) ** 0.05, _MIN_SPAN / np.sqrt(most / least), 1.0)
    return least / margin, most * margin


def _quantiles(axes: Axes, sizes: Values, slowdowns: Values) -> None:
    """Draws the quantiles of each size bin at the geometric mean of its sizes."""
    bins = np.floor(np.log10(sizes) * _BINS_PER_DECADE)
    parts = [bins == number for number in np.unique(bins)]
    places = [np.exp(np.log(sizes[part]).mean()) for part in parts]
    for fraction, marker, style in ((0.5, "o", "-"), (0.99, "^", "--")):
        values = [np.quantile(slowdowns[part], fraction, method="inverted_cdf") for part in parts]
        axes.plot(places, values, color=DARK, marker=marker, linestyle=style, label=f"p{fraction * 100:g}")


def _size_text(size: float) -> str:
    unit, name = next(((unit, name) for unit, name in _UNITS if size >= unit), _UNITS[-1])
    return f"{size / unit:g} {name}"
