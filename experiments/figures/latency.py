"""Figure of latencies: the share of packets that took longer."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from experiments.figures.style import (
    DARK,
    heading,
    legend_above,
    new_figure,
    number_text,
    plain_log_labels,
    set_title,
)
from experiments.results.open import Run, Simulation
from experiments.results.tables import LATENCY, LATENCY_CYCLES

_STYLES = ("-", "--", ":")  # line styles of quantiles


def draw_latency(run: Run | Simulation) -> Figure:
    """Draws the share of packets that took longer than a latency, and quantiles as vertical lines.

    Args:
        run: run or simulation of one seed.

    Raises:
        ValueError: a number of packets is negative or infinite, or no latency is positive.
    """
    unit = run.summary.engine.unit
    key = f"latency_{unit}"
    table = run.table(LATENCY if unit == "ms" else LATENCY_CYCLES, (key, "packets"))
    latencies, packets = np.array(table[key], float), np.array(table["packets"], float)
    quantiles = getattr(run.summary, key)
    figure = new_figure((7.5, 4.2))
    axes = figure.subplots()
    if packets.sum():
        if not (np.isfinite(packets) & (packets >= 0)).all() or not (latencies > 0).any():
            raise ValueError("latencies and numbers of packets must be positive")
        slower = 1 - np.cumsum(packets) / packets.sum()
        # A log axis cannot show 0, so the last step ends below the share of one packet.
        axes.step(latencies, np.maximum(slower, 0.5 / packets.sum()), where="post", color=DARK)
        axes.set(xscale="log", yscale="log", ylim=(0.4 / packets.sum(), 1.5))
        shares = (name for name in vars(quantiles) if name.startswith("p"))
        for name, style in zip(shares, _STYLES, strict=True):
            if value := getattr(quantiles, name):
                label = f"{name[1:].replace('_', '.')} %: {number_text(value)} {unit}"
                axes.axvline(value, color="0.5", linestyle=style, label=label)
        legend_above(axes, columns=3)
        plain_log_labels(axes.xaxis)
    axes.set(xlabel=f"latency in {unit}", ylabel="share of packets that took longer")
    set_title(figure, heading(run.summary))
    return figure
