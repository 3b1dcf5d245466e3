"""Layouts: positions of a fabric's routers in a drawing, and the kind of each router.

Nothing is drawn here. A family lays out its own members (`Topology.layout`); a graph without a structure of
its own is laid out by path lengths or forces, or on a circle if that would take too long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.float64]

# Layout by path lengths takes a second for this many routers; layout by forces takes ten.
MAX_BY_PATHS = 150
MAX_BY_FORCES = 500


@dataclass(frozen=True)
class Layout:
    """Positions and kinds of the routers in a drawing.

    Attributes:
        positions: float64, N x 2, in arbitrary units; x to the right, y upward.
        kind: int64, N: the index in `kinds` of each router's kind.
        kinds: the names of the kinds, for a legend.
        highlight: a router to emphasise and its caption; None for none.
        rows: whether routers lie in horizontal rows, where straight links would overlap.

    Examples:
        >>> import numpy as np
        >>> line = Layout(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0, 1]), ("leaves", "spines"))
        >>> [line.kinds[kind] for kind in line.kind]
        ['leaves', 'spines']
    """

    positions: Positions
    kind: npt.NDArray[np.int64]
    kinds: tuple[str, ...]
    highlight: tuple[int, str] | None = None
    rows: bool = False


def circle(count: int, radius: float = 1.0, turn: float = 0.25) -> Positions:
    """Returns equally spaced points on a circle around the origin, clockwise.

    Args:
        count: the number of points.
        radius: the radius of the circle.
        turn: the position of the first point, as a fraction of a turn counterclockwise from the right; 0.25
            is the top.

    Returns:
        float64 array, count x 2.
    """
    angle = 2 * np.pi * (turn - np.arange(count) / max(count, 1))
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def on_circles(groups: int, size: int) -> Positions:
    """Returns the points of groups whose centres lie on a circle, each group on a circle of its own.

    Args:
        groups: the number of groups, at least 2.
        size: the number of points of each group.

    Returns:
        float64 array, (groups x size) x 2, group by group.
    """
    # Neighbours on the circle are 2 sin(pi / groups) apart.
    around_centre = circle(size, 0.72 * float(np.sin(np.pi / groups)))
    return (circle(groups)[:, None, :] + around_centre).reshape(-1, 2)


def in_rows(rows: Sequence[Sequence[int]], routers: int, width: float, apart: float) -> Positions:
    """Returns positions in horizontal rows, from the top.

    Args:
        rows: the routers of each row, from the left; each row is spread over the whole width.
        routers: N, the number of routers.
        width: the width of the rows.
        apart: the distance between two rows.

    Returns:
        float64 array, N x 2; routers in no row are at the origin.
    """
    positions = np.zeros((routers, 2))
    for place, row in enumerate(rows):
        step = width / max(len(row), 1)
        x = (np.arange(len(row)) + 0.5) * step
        positions[list(row)] = np.stack([x, np.full(len(row), -place * apart)], axis=1)
    return positions


def unstructured_layout(routers: int, links: Iterable[tuple[int, int]]) -> Layout:
    """Returns a layout of a connected graph without a structure of its own.

    Up to 150 routers are laid out by path lengths (Kamada and Kawai), up to 500 by forces (Fruchterman and
    Reingold), more on a circle.

    Args:
        routers: N, the number of routers.
        links: the two ends of every link.

    Returns:
        A layout with one kind of routers; deterministic for a given graph.
    """
    kinds = ("routers",)
    if routers > MAX_BY_FORCES:
        return Layout(circle(routers), np.zeros(routers, np.int64), kinds)
    import networkx as nx  # importing it takes a third of a second

    graph = nx.Graph(links)
    if routers <= MAX_BY_PATHS:
        by_router = nx.kamada_kawai_layout(graph, pos=nx.circular_layout(sorted(graph)))
    else:
        by_router = nx.spring_layout(graph, seed=1, iterations=200)
    positions = np.array([by_router[router] for router in range(routers)], float)
    return Layout(positions, np.zeros(routers, np.int64), kinds)
