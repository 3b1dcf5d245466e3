"""Figure of latencies: the share of the packets that took longer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from experiments.figures.style import DARK, legend_above, new_figure, number_text, plain_log_labels, set_title

_QUANTILES = (("p50", "50 %", "-"), ("p99", "99 %", "--"), ("p99_9", "99.9 %", ":"))


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
        quantiles: the quantiles as attributes, as `p99`; None where one is not known.
        unit: unit of the latencies.
        title: title of the figure.
    """
    figure = new_figure((7.5, 4.2))
    axes = figure.subplots()
    if packets.sum():
        slower = 1 - np.cumsum(packets) / packets.sum()
        # A log axis has no 0: the last step ends below one packet.
        axes.step(latencies, np.maximum(slower, 0.5 / packets.sum()), where="post", color=DARK)
        axes.set(xscale="log", yscale="log", ylim=(0.4 / packets.sum(), 1.5))
        for name, share, style in _QUANTILES:
            value = getattr(quantiles, name)
            if value:
                label = f"{share}: {number_text(value)} {unit}"
                axes.axvline(value, color="0.5", linestyle=style, label=label)
        legend_above(axes, columns=3)
        plain_log_labels(axes.xaxis)
    axes.set(xlabel=f"latency in {unit}", ylabel="share of the packets that took longer")
    set_title(figure, title)
    return figure
