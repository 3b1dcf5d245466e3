"""Figure of latencies: the share of the packets that took longer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from experiments.figures.style import DARK, legend_above, new_figure, number_text, plain_log_labels, set_title

_STYLES = ("-", "--", ":")  # of the quantiles


def draw_latency(
    latencies: npt.NDArray[np.float64],
    packets: npt.NDArray[np.float64],
    quantiles: object,
    unit: str,
    title: str,
) -> Figure:
    """Draws the share of the packets that took longer, over latency, and quantiles as vertical lines.

    Args:
        latencies: different latencies in ascending order, float64.
        packets: number of packets with each of them, float64.
        quantiles: three quantiles as attributes, as `p99_9`; None where one is not known.
        unit: unit of the latencies.
        title: title of the figure.

    Raises:
        ValueError: a number of packets is negative or infinite, or no latency is positive.
    """
    figure = new_figure((7.5, 4.2))
    axes = figure.subplots()
    if packets.sum():
        if not (np.isfinite(packets) & (packets >= 0)).all() or not (latencies > 0).any():
            raise ValueError("latencies and numbers of packets must be positive")
        slower = 1 - np.cumsum(packets) / packets.sum()
        # A log axis has no 0: the last step ends below one packet.
        axes.step(latencies, np.maximum(slower, 0.5 / packets.sum()), where="post", color=DARK)
        axes.set(xscale="log", yscale="log", ylim=(0.4 / packets.sum(), 1.5))
        shares = (name for name in vars(quantiles) if name.startswith("p"))
        for name, style in zip(shares, _STYLES, strict=True):
            if value := getattr(quantiles, name):
                label = f"{name[1:].replace('_', '.')} %: {number_text(value)} {unit}"
                axes.axvline(value, color="0.5", linestyle=style, label=label)
        legend_above(axes, columns=3)
        plain_log_labels(axes.xaxis)
    axes.set(xlabel=f"latency in {unit}", ylabel="share of the packets that took longer")
    set_title(figure, title)
    return figure
