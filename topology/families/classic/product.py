"""Cartesian products of graphs: distances, next hops and counts by formulas.

A router of the product of n graphs is a tuple of n coordinates, one vertex of each graph. A link changes one
coordinate along an edge of its graph, so distances are sums over the coordinates, and a shortest path changes
them in any order.

Source: Imrich, Klavzar, "Product Graphs" (distances); Camarero, Vallejo, Beivide, "Topological
Characterization of Hamming and Dragonfly Networks and Its Implications on Routing" (TACO 2014)
(Hamming graphs as products of complete graphs, and dimension order routing).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from topology.base import Adjacency, Routers, Topology
from topology.clusters import Clusters, consecutive_clusters
from topology.layout import Layout, Positions, circle
from topology.shortest_paths import adjacency_from_links

# The most routers of a copy that `_turned` turns; with more, some links are close to others at any angle.
_MAX_TURNED = 100


@dataclass(frozen=True)
class Factor:
    """A factor graph, given by its tables.

    Attributes:
        distances: int64 array, k x k: the distance between each pair of its k vertices.
        steps: int64 array, k x k, indexed [source, destination]: the lowest-numbered next vertex on a
            shortest path.
    """

    distances: npt.NDArray[np.int64]
    steps: npt.NDArray[np.int64]

    @property
    def order(self) -> int:
        """k, the number of vertices."""
        return len(self.distances)


def complete_factor(order: int) -> Factor:
    """Returns a complete graph.

    Args:
        order: k, the number of vertices, at least 2.
    """
    vertex = np.arange(order)
    apart = (vertex[:, None] != vertex).astype(np.int64)
    return Factor(apart, np.broadcast_to(vertex, (order, order)))


def ring_factor(order: int) -> Factor:
    """Returns a ring; for two vertices, a single link.

    Args:
        order: k, the number of vertices, at least 2.
    """
    vertex = np.arange(order)
    ahead = (vertex - vertex[:, None]) % order
    up, down = (vertex[:, None] + 1) % order, (vertex[:, None] - 1) % order
    onward = np.where(2 * ahead < order, up, np.where(2 * ahead > order, down, np.minimum(up, down)))
    return Factor(np.minimum(ahead, order - ahead), np.where(ahead == 0, vertex, onward))


class CartesianProduct(Topology):
    """A Cartesian product of graphs.

    Router order: by coordinates, the first one most significant. A minimal next hop corrects one of the
    coordinates that differ.

    Attributes:
        factors: the graph of each dimension.
        shape: the number of vertices of each graph.
    """

    def __init__(self, factors: Sequence[Factor]) -> None:
        """Builds the product.

        Args:
            factors: the graph of each dimension, at least one.
        """
        self.factors = tuple(factors)
        self.shape = tuple(factor.order for factor in factors)

    @property
    def routers(self) -> int:
        """N, the product of the orders of the factors."""
        return math.prod(self.shape)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """For each dimension, the increase of a router's index when its coordinate increases by one."""
        return tuple(math.prod(self.shape[place + 1 :]) for place in range(len(self.shape)))

    @cached_property
    def coordinates(self) -> npt.NDArray[np.int64]:
        """int64 array, N x dimensions: the coordinates of each router."""
        return np.stack(np.unravel_index(np.arange(self.routers), self.shape), axis=1).astype(np.int64)

    @cached_property
    def adjacency(self) -> Adjacency:
        """The neighbour lists of all routers."""
        links = []
        for place, factor in enumerate(self.factors):
            edges = np.argwhere(np.triu(factor.distances == 1))
            first = np.flatnonzero(self.coordinates[:, place] == 0)
            ends = first[:, None, None] + edges * self.strides[place]
            links.append(ends.reshape(-1, 2))
        return adjacency_from_links(self.routers, np.concatenate(links))

    def next_hops(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> Routers:
        """Returns the minimal next hop of each pair of routers: the lowest one on a shortest path.

        Args:
            sources: routers, integers of any shape.
            destinations: routers, integers of a shape that broadcasts with that of the sources.

        Returns:
            int32 array of the broadcast shape.
        """
        source, destination = np.broadcast_arrays(np.asarray(sources), np.asarray(destinations))
        hops = np.full(source.shape, self.routers, np.int64)
        for place, factor in enumerate(self.factors):
            here, there = self.coordinates[source, place], self.coordinates[destination, place]
            onward = source + (factor.steps[here, there] - here) * self.strides[place]
            hops = np.where(here != there, np.minimum(hops, onward), hops)
        return np.where(source == destination, source, hops).astype(np.int32)

    def distances(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> npt.NDArray[np.int16]:
        """Returns the distance of each pair of routers, the sum of the distances of their coordinates.

        Args:
            sources: routers, integers of any shape.
            destinations: routers, integers of a shape that broadcasts with that of the sources.

        Returns:
            int16 array of the broadcast shape, in hops.
        """
        source, destination = np.asarray(sources), np.asarray(destinations)
        total: npt.NDArray[np.int64] = np.zeros(np.broadcast_shapes(source.shape, destination.shape), int)
        for place, factor in enumerate(self.factors):
            total = (
                total
                + factor.distances[self.coordinates[source, place], self.coordinates[destination, place]]
            )
        return np.asarray(total, np.int16)

    def pairs_by_distance(self) -> dict[int, int]:
        """Returns the number of ordered pairs of different routers at each distance.

        Returns:
            Distance in hops -> number of pairs, for every distance that occurs.
        """
        counts = np.ones(1, np.int64)
        for factor in self.factors:
            counts = np.convolve(counts, np.bincount(factor.distances.ravel()))
        return {distance: int(count) for distance, count in enumerate(counts) if distance and count}

    def minimal_port_mask(self, router: int) -> npt.NDArray[np.bool_]:
        """Returns, for each destination, the links of a router on which shortest paths start.

        Args:
            router: the router that forwards packets.

        Returns:
            bool array, links x N: entry [i, d] is true if a shortest path to d starts with link i.
        """
        here, around = self.coordinates[router], self.coordinates[self.neighbours(router)]
        changed = (around != here).argmax(axis=1)
        mask = np.empty((len(around), self.routers), bool)
        for place, dimension in enumerate(changed.tolist()):
            table, goals = self.factors[dimension].distances, self.coordinates[:, dimension]
            mask[place] = table[around[place, dimension], goals] < table[here[dimension], goals]
        return mask

    def clusters(self) -> Clusters:
        """Returns the sets of routers that share the first coordinate.

        Returns:
            As many clusters as the first dimension has vertices; none for a single factor.
        """
        if len(self.shape) == 1:
            return Clusters()
        size = self.routers // self.shape[0]
        return consecutive_clusters(
            self.shape[0], size, f"sets of {size} routers with the same first coordinate"
        )

    def layout(self) -> Layout:
        """Returns nested circles: one level for each dimension, the first one outermost.

        Returns:
            A layout with one kind of routers.
        """
        positions = nested_circles(self.shape)
        return Layout(positions, np.zeros(self.routers, np.int64), ("routers",))


def nested_circles(shape: Sequence[int]) -> Positions:
    """Returns the positions of the routers of a product on nested circles.

    Args:
        shape: the size of each dimension; the first one has the largest circle.

    Returns:
        float64 array, N x 2; the largest distance from the origin is 1.
    """
    positions = np.zeros((1, 2))
    for size in reversed(shape):
        # Neighbours on the circle are 2 sin(pi / size) apart, and the circles inside should not touch.
        scaled = _turned(positions, size) * 0.62 * math.sin(math.pi / size)
        positions = (circle(size)[:, None, :] + scaled).reshape(-1, 2)
        positions /= np.hypot(*positions.T).max()
    return positions


def _turned(positions: Positions, size: int) -> Positions:
    """Rotates the drawing of a subgraph so that the links between its copies on a circle stay apart.

    A link joins corresponding routers of two copies. The angle maximises the smallest distance between links.

    Args:
        positions: float64 array, routers of one copy x 2.
        size: the number of copies, equally spaced on the circle.

    Returns:
        The rotated positions; unchanged for a single router, or for more than `_MAX_TURNED`.
    """
    if not 1 < len(positions) <= _MAX_TURNED:
        return positions
    # The normals of all directions of links between copies. A link's distance from the parallel link through
    # the centre of its copy is the projection of its router's position on the normal.
    normals = np.pi * np.arange(size) / size + np.pi / 2
    turns = np.linspace(0, np.pi, 90, endpoint=False)
    gaps = []
    for turn in turns:
        across = positions @ np.stack([np.cos(normals - turn), np.sin(normals - turn)])
        gaps.append(np.diff(np.sort(across, axis=0), axis=0).min())
    turn = turns[int(np.argmax(np.round(gaps, 9)))]
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    return np.asarray(positions @ rotation)
