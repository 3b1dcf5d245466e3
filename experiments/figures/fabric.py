"""Drawings of fabrics with the layout of their family (`Topology.layout`); readable in grey."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon

from experiments.figures.style import (
    DARK,
    check_figure,
    legend_below,
    new_figure,
    printable,
    save_new_figure,
    set_title,
)
from topology.addressing import switch_name
from topology.base import Topology
from topology.clusters import Clusters
from topology.layout import Layout

_FILLS = (DARK, "#7f9db9", "#ffffff")
_SHAPES = "osD^"  # the next shape is used when all fills have been used
# From light over orange to black; monotonically darker, so that it also works in grey.
HEAT = LinearSegmentedColormap.from_list("heat", ("0.88", "#f0b77f", "#c2571a", "#5a1e00", "black"))
_INCHES = 10.0  # default width; in narrower figures, routers are smaller and more often unnamed
_MAX_NAMED = 70
_MAX_LABEL = 24


def draw_topology(topology: Topology, title: str, path: Path) -> None:
    """Draws a fabric to a new file, in the format of its suffix.

    Raises:
        UsageError: the suffix is unknown, the file exists, or its folder does not exist.
        OSError: it cannot be written.
    """
    format_ = check_figure(path)
    save_new_figure(topology_figure(topology, title), path, format_)


def topology_figure(topology: Topology, title: str) -> Figure:
    """Draws a fabric.

    Args:
        topology: graph of the routers.
        title: title of the figure.
    """
    layout = topology.layout()
    width, height = np.ptp(layout.positions, axis=0)
    figure = new_figure((_INCHES, float(np.clip(10 * height / max(width, 1e-9), 4.5, 10)) + 0.8))
    axes = figure.subplots()
    draw_fabric(axes, topology, layout)
    set_title(figure, title)
    legend_below(figure, axes.get_legend_handles_labels()[0], max_columns=5, small=True)
    return figure


def draw_fabric(
    axes: Axes, topology: Topology, layout: Layout, shades: npt.NDArray[np.float64] | None = None
) -> None:
    """Draws links, routers and clusters, labelled for a legend.

    Args:
        axes: axes to draw on.
        topology: graph of the routers.
        layout: positions and kinds of the routers.
        shades: float64 array, one entry per link in the order of `link_list`: its shade, from 0 (light and
            thin) to 1 (black and thick); None to draw all links in the same style.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    share = min(1.0, figure.get_figwidth() / _INCHES)
    size = float(np.clip(share**2 * 9000 / topology.routers, 4, 160))
    _outline(axes, layout, topology.clusters())
    _draw_links(axes, topology, layout, shades)
    _draw_routers(axes, layout, size)
    if layout.highlight:
        _draw_highlight(axes, layout, *layout.highlight, size)
    if topology.routers <= share**2 * _MAX_NAMED:
        _draw_names(axes, topology, layout, size)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.margins(0.03)
    axes.autoscale_view()
    _limit_aspect(axes, layout)


def _draw_links(
    axes: Axes, topology: Topology, layout: Layout, shades: npt.NDArray[np.float64] | None
) -> None:
    lines = link_lines(topology, layout)
    if shades is None:
        thin = float(np.clip(20 / topology.links**0.5, 0.08, 1.0))
        axes.add_collection(LineCollection(lines, colors="0.35", linewidths=thin, alpha=0.6, zorder=2))
        return
    order = np.argsort(shades, kind="stable")  # dark links on top; stable, so that all machines draw the same
    width = np.clip(60 / topology.links**0.5, 0.6, 3.5) * (0.3 + 0.7 * shades[order])
    ordered = [lines[place] for place in order]
    axes.add_collection(LineCollection(ordered, colors=HEAT(shades[order]), linewidths=width, zorder=2))


def _draw_routers(axes: Axes, layout: Layout, size: float) -> None:
    """Draws the routers; each kind has its own fill."""
    for place, name in enumerate(layout.kinds):
        chosen = layout.positions[layout.kind == place]
        axes.scatter(
            chosen[:, 0],
            chosen[:, 1],
            s=size,
            c=_FILLS[place % len(_FILLS)] if len(layout.kinds) > 1 else _FILLS[1],
            marker=_SHAPES[place // len(_FILLS) % len(_SHAPES)],
            edgecolors=DARK,
            linewidths=0.6,
            zorder=3,
            clip_on=False,
            label=f"{len(chosen)} {name}",
        )


def _draw_highlight(axes: Axes, layout: Layout, router: int, role: str, size: float) -> None:
    """Draws a ring around the highlighted router."""
    x, y = layout.positions[router]
    axes.scatter(
        x,
        y,
        s=3 * size,
        facecolors="none",
        edgecolors="black",
        linewidths=1.4,
        zorder=4,
        clip_on=False,
        label=f"{switch_name(router)}, {role}",
    )


def _draw_names(axes: Axes, topology: Topology, layout: Layout, size: float) -> None:
    """Draws each router's switch name and, if it differs, its name in the graph's file."""
    for router, (x, y) in enumerate(layout.positions):
        dark = len(layout.kinds) > 1 and layout.kind[router] % len(_FILLS) == 0
        color = "white" if dark else "black"
        axes.text(x, y, switch_name(router), fontsize=5.5, ha="center", va="center", color=color, zorder=5)
        if topology.labels and topology.labels[router] != str(router + 1):
            axes.annotate(
                printable(topology.labels[router][:_MAX_LABEL]),
                (x, y),
                xytext=(0, -(size**0.5)),
                textcoords="offset points",
                ha="center",
                va="top",
                fontsize=6,
                parse_math=False,
            )


def _limit_aspect(axes: Axes, layout: Layout) -> None:
    """Widens the narrower side of a drawing if routers are nearly in a line."""
    least = 0.3 * float(np.ptp(layout.positions, axis=0).max())
    for limits, set_limits in ((axes.get_xlim(), axes.set_xlim), (axes.get_ylim(), axes.set_ylim)):
        if limits[1] - limits[0] < least:
            middle = (limits[0] + limits[1]) / 2
            set_limits(middle - least / 2, middle + least / 2)


def link_lines(topology: Topology, layout: Layout) -> list[npt.NDArray[np.float64]]:
    """Returns the points of each link's line, in the order of the topology's links.

    Links within a row are curved, long ones more than short ones; parallel links curve to both sides.
    """
    lines = []
    along = np.linspace(0, 1, 16)[:, None]
    for link in topology.link_list:
        a, b = layout.positions[link.a], layout.positions[link.b]
        in_row = layout.rows and a[1] == b[1]
        bend = -0.16 if in_row else 0.0
        if link.copy:
            bend += 0.06 * (link.copy // 2) * (-1) ** link.copy
        if not bend:
            lines.append(np.stack([a, b]))
            continue
        across = np.array([a[1] - b[1], b[0] - a[0]]) * (np.sign(b[0] - a[0]) if in_row else 1)
        lines.append(a + (b - a) * along + across * bend * 4 * along * (1 - along))
    return lines


def _outline(axes: Axes, layout: Layout, clusters: Clusters) -> None:
    """Outlines the clusters: as bands for layouts in rows, otherwise as rings."""
    for number, cluster in enumerate(clusters.members):
        points = layout.positions[list(cluster)]
        label = f"{len(clusters.members)} {clusters.name}" if number == 0 else None
        shape: Polygon | Circle
        if layout.rows:
            shape = Polygon(_hull(points, 0.4, 0.03 * float(np.ptp(layout.positions[:, 0]))), closed=True)
        else:
            centre = points.mean(axis=0)
            radius = 1.25 * float(np.hypot(*(points - centre).T).max())
            shape = Circle((float(centre[0]), float(centre[1])), radius)
        shape.set(facecolor=("0.94", "0.88")[number % 2], edgecolor="0.7", zorder=1, label=label)
        axes.add_patch(shape)


def _hull(points: npt.NDArray[np.float64], beside: float, beyond: float) -> npt.NDArray[np.float64]:
    """Returns a float64 array, 4 x 2: the corners of a band around points in rows.

    The top and bottom sides are as wide as the highest and lowest row, plus `beside`; `beyond` is the margin
    above and below.
    """
    x, y = points.T
    corners = []
    for height, sign in ((y.max(), 1), (y.min(), -1)):
        here = x[y == height]
        left, right = here.min() - beside, here.max() + beside
        corners += [(edge, height + sign * beyond) for edge in ((left, right), (right, left))[sign < 0]]
    return np.array(corners)
