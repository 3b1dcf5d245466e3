"""Drawing of a cyclic channel dependency on its fabric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from experiments.figures.fabric import link_lines, topology_figure
from experiments.figures.look import scaled
from experiments.figures.style import RED
from routing.deadlock.channels import Channel
from topology.base import Topology

Line = npt.NDArray[np.float64]


def cycle_figure(topology: Topology, cycle: Sequence[Channel]) -> Figure:
    """Draws a fabric with a numbered arrow for each channel of a cycle.

    Args:
        topology: graph of the routers.
        cycle: channels, each of which depends on the next, and the last on the first.
    """
    title = f"{topology.name}: cyclic dependency of {len(cycle)} channels"
    figure = topology_figure(topology, title)
    [axes] = figure.axes
    ends = [(link.a, link.b) for link in topology.link_list]
    lines = dict(zip(ends, link_lines(topology, topology.layout()), strict=True))
    for number, channel in enumerate(cycle, start=1):
        line = _line(lines, channel)
        axes.plot(line[:, 0], line[:, 1], color=RED, linewidth=2.4, zorder=2.5)
        place = len(line) // 2
        arrow = {"arrowstyle": "-|>", "color": RED, "linewidth": 0, "shrinkA": 0, "shrinkB": 7}
        axes.annotate("", line[-1], line[-2], arrowprops={**arrow, "mutation_scale": 22}, zorder=6)
        axes.annotate(
            str(number) if not channel.virtual else f"{number} ({channel.virtual})",
            line[place] if len(line) > 2 else line[0] + 0.45 * (line[1] - line[0]),
            color="white",
            fontsize=scaled(8),
            ha="center",
            va="center",
            bbox={"boxstyle": "circle,pad=0.25", "facecolor": RED, "edgecolor": "white"},
            zorder=7,
        )
    return figure


def _line(lines: Mapping[tuple[int, int], Line], channel: Channel) -> Line:
    """Returns the points of a channel's link, from its tail to its head."""
    if (channel.tail, channel.head) in lines:
        return lines[channel.tail, channel.head]
    return lines[channel.head, channel.tail][::-1]
