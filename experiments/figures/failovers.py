"""Figure of a series of failovers: cumulative distributions of silences and losses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.look import scaled
from experiments.figures.style import (
    DARK,
    ORANGE,
    legend_above,
    new_panels,
    number_text,
    set_title,
)
from experiments.results.failover import Distribution, FailoverSeries
from experiments.results.open import Failovers
from experiments.results.text import parameters
from topology.errors import ParameterError

_FAILED, _NOISE, _RESTORED = ORANGE, "0.55", DARK


def draw_series(results: Failovers) -> dict[str, Figure]:
    """Draws a series of failovers; returns name -> figure.

    Args:
        results: the series.

    Raises:
        ParameterError: its files are damaged, or no failover is complete.
    """
    return {"failovers": draw_failovers(results.summary)}


def draw_failovers(series: FailoverSeries) -> Figure:
    """Draws a series of failovers.

    Args:
        series: its result.

    Raises:
        ParameterError: no failover is complete.
    """
    if not series.seeds:
        raise ParameterError("the series was interrupted before its first failover was complete")
    figure, [silence, losses] = new_panels((11, 5), sharey=True)
    _curve(silence, series.silence_before_ms, "before the failure", _NOISE, ":")
    _curve(silence, series.gap_ms, "during the failure", _FAILED, "-")
    silence.set_xlabel("longest silence of a watched pair [ms]")
    silence.set_xlim(left=0)
    _curve(losses, series.lost_at_restore, "after the restoration", _RESTORED, "--")
    _curve(losses, series.packets_lost, "total", _FAILED, "-")
    losses.set_xlabel(f"probes lost, of about {series.packets_sent // len(series.seeds):,} per failover")
    silence.set_ylabel("fraction of failovers")
    silence.set_ylim(0, 1.02)
    for axes in (silence, losses):
        axes.grid(color="0.9", linewidth=0.6)
        axes.set_axisbelow(True)
        legend_above(axes)
    set_title(figure, _title(series))
    return figure


def _curve(axes: Axes, values: Distribution | None, name: str, color: str, style: str) -> None:
    """Draws the empirical cumulative distribution of values, with a point at the median."""
    if values is None:
        return
    steps, fractions = steps_of(values.values)
    label = f"{name}: median {number_text(values.p50)}, max {number_text(values.max)}"
    axes.plot(steps, fractions, drawstyle="steps-post", color=color, linestyle=style, label=label)
    axes.plot([values.p50], [0.5], marker="o", markersize=scaled(4), color=color)


def steps_of(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Returns the steps of an empirical cumulative distribution: values, and fractions from 0 to 1.

    Args:
        values: at least one value.
    """
    ordered, counts = np.unique(np.array(values, float), return_counts=True)
    fractions = np.concatenate([[0.0], np.cumsum(counts) / len(values)])
    return [float(ordered[0]), *ordered.tolist()], fractions.tolist()


def _title(series: FailoverSeries) -> str:
    failing = series.fail.replace("random-", "a random ") if series.fail else "the busiest link"
    if series.kill_controller:
        failing += " and the controller"
    fabric = f"{series.name} ({parameters(series.params)}), {series.routing}"
    repairs = ", ".join(f"{who} {count}" for who, count in series.repaired_by.items())
    count = f"{len(series.seeds)} failovers"
    if series.interrupted:
        count = f"interrupted, {len(series.seeds)} of {series.asked} failovers"
    return f"{fabric}: {count} of {failing}, repaired by: {repairs}"
