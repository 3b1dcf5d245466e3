"""Figure of replications: values by seed, mean and confidence interval."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from experiments.figures.flow_classes import QUANTILES, draw_class_panel
from experiments.figures.look import scaled
from experiments.figures.style import (
    DARK,
    INTERVAL,
    LIGHT,
    cross_out,
    crossed_handle,
    heading,
    legend_below,
    new_panels,
    set_title,
)
from experiments.results.metrics import In, metrics
from experiments.results.open import Run, Simulation
from experiments.results.parts.replications import Interval
from experiments.results.tables import reporting_corruption

_MIN_SPAN, _MIN_PANEL = 0.1, 1.6
_MAX_SEEDS = 6  # largest number of labels below an axis


def draw_seed(run: Run | Simulation) -> dict[str, Figure]:
    """Draws a run or simulation of one seed; returns name -> figure.

    Args:
        run: the run or simulation.

    Raises:
        ParameterError: the results are incomplete or damaged.
    """
    with reporting_corruption(run.folder):
        figures: dict[str, Figure] = resolve_name(run.kind.draw_seed)(run)
    return figures


def draw_seeds(run: Run | Simulation) -> dict[str, Figure]:
    """Draws a run or simulation; returns name -> figure.

    Names of a replication's figures start with its folder; the figure `replications` shows means over all
    seeds, with intervals.

    Args:
        run: the run or simulation.

    Raises:
        ParameterError: the results are incomplete or damaged.
    """
    runs = run.replications
    for one in runs:
        one.check()  # draw nothing if a replication is damaged
    figures = {
        f"{one.folder.relative_to(run.folder) / name}": figure
        for one in runs
        for name, figure in draw_seed(one).items()
    }
    return figures | draw_replications(run)


def draw_replications(run: Run | Simulation) -> dict[str, Figure]:
    """Draws the figure `replications` of several seeds; returns no figure for one seed.

    Args:
        run: the run or simulation.

    Raises:
        ParameterError: the results are incomplete or damaged.
    """
    summary: Any = run.summary
    repeat, engine = summary.repeat, summary.engine
    drawn = metrics(engine, In.PANEL)
    panels = [(interval, one) for one in drawn if (interval := getattr(repeat, one.key, None))]
    if repeat is None or not panels:
        return {}
    runs: Any = run.replications
    sound = [not engine.is_doubtful(one.summary) for one in runs]
    quantiles = QUANTILES if getattr(summary, "flows", None) else ()
    widths = [1.0] * len(panels) + [2.0] * len(quantiles)
    inches = (2.9 * len(panels) + 4.4 * len(quantiles) + 0.6, 4.2)
    figure, places = new_panels(inches, widths, least=_MIN_PANEL)
    for axes, (interval, metric) in zip(places, panels, strict=False):
        _panel(axes, interval, [str(seed) for seed in repeat.seeds], sound)
        axes.set(xlabel="seed", ylabel=metric.label)
        if metric.key == "loss":
            axes.set_ylim(bottom=0)
    for axes, (quantile, name) in zip(places[len(panels) :], quantiles, strict=True):
        draw_class_panel(axes, runs, quantile)
        axes.set(xlabel="flow size", ylabel=f"slowdown, {name}")
    _legend(figure, "" if all(sound) else engine.doubt)
    set_title(figure, heading(summary))
    return {"replications": figure}


def _panel(axes: Axes, interval: Interval, seeds: list[str], valid: list[bool]) -> None:
    """Draws the value of each seed, and the mean with its interval."""
    values = interval.values
    # If a replication lacks the value, the others can no longer be assigned to seeds.
    named = len(values) == len(seeds)
    places = [float(place) for place in range(len(values))]
    if interval.ci95 is not None:
        low, high = interval.mean - interval.ci95, interval.mean + interval.ci95
        axes.axhspan(low, high, color=LIGHT, alpha=0.5, zorder=0)
    axes.axhline(interval.mean, color=DARK, linewidth=1.2)
    axes.plot(places, values, "o", color=DARK, markersize=scaled(5))
    if named:
        cross_out(axes, [(x, y) for x, y, v in zip(places, values, valid, strict=True) if not v], "o", DARK)
    every = -(-len(values) // _MAX_SEEDS)
    axes.set_xticks(places[::every], seeds[::every] if named else [""] * len(places[::every]))
    axes.set_xlim(-0.6, len(values) - 0.4)
    axes.margins(y=0.2)
    if max(values) == min(values):  # otherwise the axis would show rounding errors
        axes.set_ylim(interval.mean - _MIN_SPAN, interval.mean + max(_MIN_SPAN, abs(interval.mean)))


def _legend(figure: Figure, doubt: str) -> None:
    handles = [
        Line2D([], [], marker="o", color=DARK, linestyle="none", label="one seed"),
        Line2D([], [], color=DARK, label="mean"),
        Patch(color=LIGHT, alpha=0.5, label=f"{INTERVAL} of the mean"),
    ]
    legend_below(figure, [*handles, *([crossed_handle(doubt)] if doubt else [])])
