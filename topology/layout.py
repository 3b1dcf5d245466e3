"""Where a drawing puts a fabric's routers: positions, what kind of router each is, and clusters to outline.

Pure: nothing is drawn here. Families say how their own members are laid out (`Topology.layout`); what has no
structure of its own is laid out by forces, or on a circle where that would take too long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.float64]

# Laying out by path lengths takes a second at so many routers; by forces, ten.
MOST_BY_PATHS = 150
MOST_BY_FORCES = 500


@dataclass(frozen=True)
class Layout:
    """A drawing's plan.

    Attributes:
        positions: float64, N x 2.
        kind: int64, N: the place of each router's kind in `kinds`.
        kinds: their names.
        highlight: a router that stands out, and its caption; None for none.
        rows: whether routers lie in horizontal rows, where links would cover one another.
    """

    positions: Positions
    kind: npt.NDArray[np.int64]
    kinds: tuple[str, ...]
    highlight: tuple[int, str] | None = None
    rows: bool = False


def circle(count: int, radius: float = 1.0, turn: float = 0.25) -> Positions:
    """Returns points on a circle around the origin, clockwise; `turn` is where the first is."""
    angle = 2 * np.pi * (turn - np.arange(count) / max(count, 1))
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def in_rows(rows: Sequence[Sequence[int]], routers: int, width: float, apart: float) -> Positions:
    """Returns positions in horizontal rows from the top, each spread over the whole width."""
    positions = np.zeros((routers, 2))
    for place, row in enumerate(rows):
        step = width / max(len(row), 1)
        x = (np.arange(len(row)) + 0.5) * step
        positions[list(row)] = np.stack([x, np.full(len(row), -place * apart)], axis=1)
    return positions


def free_layout(routers: int, links: Iterable[tuple[int, int]]) -> Layout:
    """Returns a layout of a graph without structure of its own, given the ends of its links."""
    kinds = ("routers",)
    if routers > MOST_BY_FORCES:
        return Layout(circle(routers), np.zeros(routers, np.int64), kinds)
    import networkx as nx  # only here: importing it takes a third of a second

    graph = nx.Graph(links)
    if routers <= MOST_BY_PATHS:
        found = nx.kamada_kawai_layout(graph, pos=nx.circular_layout(sorted(graph)))
    else:
        found = nx.spring_layout(graph, seed=1, iterations=200)
    positions = np.array([found[router] for router in range(routers)], float)
    return Layout(positions, np.zeros(routers, np.int64), kinds)
