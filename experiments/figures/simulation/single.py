"""Figures of one simulation, drawn only from its files; readable in grey."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.events import draw_course
from experiments.figures.latency import draw_latency
from experiments.figures.links import draw_links
from experiments.figures.look import scaled
from experiments.figures.simulation.application import draw_application
from experiments.figures.style import (
    DARK,
    LIGHT,
    legend_above,
)
from experiments.results.open import Simulation
from experiments.results.tables import (
    HOP_COLUMNS,
    HOPS,
    PERIOD_COLUMNS,
    PERIODS,
)


def draw_simulation(results: Simulation) -> dict[str, Figure]:
    """Draws a simulation of one seed; returns name -> figure.

    Figures are `throughput` (over the window, and packets by hops), `latency` (distribution), `links` (loads
    on a drawing of the fabric, and sorted) and, for applications, `completion` (actual and ideal).

    Args:
        results: the simulation.

    Raises:
        ParameterError: the results are incomplete or damaged.
    """
    return {
        "throughput": draw_course(results, _periods, _hops),
        "latency": draw_latency(results),
        "links": draw_links(results),
        **draw_application(results),
    }


def _periods(axes: Axes, results: Simulation) -> None:
    """Draws the accepted load of each period of the window, and the offered load."""
    summary, table = results.summary, results.table(PERIODS, PERIOD_COLUMNS)
    edges = np.array([summary.warmup_cycles, *map(int, table["end_cycle"])])
    accepted = [float(value or 0) for value in table["accepted"]]
    if accepted:
        label = f"accepted {summary.accepted:.4f}"
        axes.stairs(accepted, edges, baseline=None, label=label, color=DARK, linewidth=1.5, zorder=3)
    axes.axhline(
        summary.offered, color=LIGHT, linewidth=4.0, label=f"offered {summary.offered:.4f}", zorder=1
    )
    top = max([summary.offered, *accepted, 1e-3])
    axes.set(xlabel="cycle", ylabel="fraction of the injection capacity", ylim=(0, 1.15 * top))
    legend_above(axes, columns=2)


def _hops(axes: Axes, results: Simulation) -> None:
    table = results.table(HOPS, HOP_COLUMNS)
    taken, packets = np.array(table["hops"], int), np.array(table["packets"], float)
    bars = axes.bar(taken, packets, 0.6, color=DARK, edgecolor=DARK)
    axes.bar_label(bars, [f"{int(count)}" for count in packets], padding=2, fontsize=scaled(8))
    axes.set(xlabel="links between routers", ylabel="packets in the window")
    axes.set_xticks(taken)
    axes.set_ylim(0, 1.15 * max(packets.max(initial=0), 1))
    axes.ticklabel_format(axis="y", style="plain")
