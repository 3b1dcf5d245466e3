"""Figures of simulated applications: completion by message size, and slowdown of trace messages."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.collective import size_axis
from experiments.figures.look import scaled
from experiments.figures.style import (
    DARK,
    LIGHT,
    heading,
    legend_above,
    new_panels,
    plain_log_labels,
    set_title,
)
from experiments.results.open import Simulation
from experiments.results.tables import (
    ITERATION_COLUMNS,
    ITERATIONS,
    MESSAGE_COLUMNS,
    MESSAGES,
)


def draw_application(results: Simulation) -> dict[str, Figure]:
    """Draws the figure `completion` of an application; returns no figure for synthetic packets.

    Args:
        results: the simulation.

    Raises:
        ParameterError: its table is missing or damaged.
    """
    if results.summary.collective:
        return {"completion": _collective(results)}
    return {"completion": _trace(results)} if results.summary.trace else {}


def _collective(results: Simulation) -> Figure:
    """Draws actual and ideal completion times by message size, and the slowdown."""
    collective = results.summary.collective
    assert collective is not None
    sizes = sorted(collective.sizes, key=lambda size: size.message_bytes)
    places = [size.message_bytes for size in sizes]
    figure, [left, right] = new_panels((11, 4.4))
    table = results.table(ITERATIONS, ITERATION_COLUMNS)
    left.plot(
        np.array(table["message_bytes"], float),
        np.array(table["completion_cycles"], float),
        linestyle="none",
        marker="o",
        markerfacecolor="none",
        color=DARK,
        label="one iteration",
    )
    ideal = [size.ideal_cycles for size in sizes]
    left.plot(places, ideal, marker="_", linestyle=":", color="0.5", label="ideal")
    left.set(ylabel="completion time in cycles", yscale="log")
    plain_log_labels(left.yaxis)
    legend_above(left, columns=2)
    measured = [size for size in sizes if size.slowdown is not None]
    slowdowns = [size.slowdown or 0.0 for size in measured]
    right.plot([size.message_bytes for size in measured], slowdowns, marker="o", color=DARK)
    right.axhline(1, color="0.5", linestyle=":")
    right.set(ylabel="slowdown (ideal = 1)", ylim=(0, 1.15 * max([1.0, *slowdowns])))
    for axes in (left, right):
        size_axis(axes, places)
    set_title(figure, f"{heading(results.summary)}\n{collective.ranks} ranks")
    return figure


def _trace(results: Simulation) -> Figure:
    """Draws the slowdown of messages by size, and its distribution."""
    table = results.table(MESSAGES, MESSAGE_COLUMNS)
    arrived = [place for place, text in enumerate(table["slowdown"]) if text]
    sizes = np.array(table["bytes"], float)[arrived]
    slowdowns = np.array([table["slowdown"][place] for place in arrived], float)
    figure, [left, right] = new_panels((11, 4.4))
    left.plot(sizes, slowdowns, linestyle="none", marker=".", markersize=scaled(3), color=DARK)
    left.set(xlabel="message size in bytes", ylabel="slowdown (ideal = 1)")
    _distribution(right, slowdowns)
    if arrived:
        left.set(xscale="log", yscale="log")
        plain_log_labels(left.xaxis)
        plain_log_labels(left.yaxis)
    set_title(figure, heading(results.summary))
    return figure


def _distribution(axes: Axes, slowdowns: np.ndarray) -> None:
    """Draws the cumulative distribution of slowdowns."""
    ordered = np.sort(slowdowns)
    axes.step(ordered, np.arange(1, len(ordered) + 1) / max(1, len(ordered)), where="post", color=DARK)
    axes.axvline(1, color=LIGHT, linestyle=":")
    axes.set(xlabel="slowdown (ideal = 1)", ylabel="share of messages", ylim=(0, 1.02))
