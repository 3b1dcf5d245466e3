"""A topology whose routes come from a breadth-first search: families without a formula, and any graph."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from topology.base import Adjacency
from topology.tabled import TabledTopology

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # importing it takes a tenth of a second: only where it is needed

_SOURCES_AT_ONCE = 512
# Up to so many, products of dense matrices take less time than it takes to import scipy.
_FEW_ROUTERS = 256


class SearchedTopology(TabledTopology):
    """A connected graph by its neighbour lists, in which all shortest paths are used.

    Where one next hop is asked for, it is the first neighbour's.
    """

    def __init__(self, adjacency: Adjacency) -> None:
        """Takes the neighbour lists of a connected graph."""
        self._adjacency = adjacency

    @property
    def adjacency(self) -> Adjacency:
        """The neighbour lists."""
        return self._adjacency

    @cached_property
    def distance_table(self) -> npt.NDArray[np.int16]:
        """int16 array, N x N: the distance of every ordered pair."""
        return all_distances(self._matrix()).astype(np.int16)

    def parts(self) -> npt.NDArray[np.int32]:
        """Returns the number of the connected part that each router is in: int32 array, N, from 0."""
        from scipy.sparse.csgraph import connected_components

        return np.asarray(connected_components(self._matrix(), directed=False)[1])

    def _matrix(self) -> csr_matrix:
        from scipy.sparse import csr_matrix

        starts, neighbours = self.adjacency.starts, self.adjacency.neighbours
        ones = np.ones(len(neighbours), np.int8)
        return csr_matrix((ones, neighbours, starts), shape=(self.routers, self.routers))

    @cached_property
    def next_hop_table(self) -> npt.NDArray[np.int16]:
        """int16 array, N x N: the first neighbour on a shortest path of every pair."""
        distances = self.distance_table
        hops = np.empty((self.routers, self.routers), np.int16)
        for router in range(self.routers):
            around = self.neighbours(router)
            nearer = distances[around] < distances[router]
            hops[router] = around[nearer.argmax(axis=0)]
            hops[router, router] = router
        return hops

    def minimal_port_mask(self, router: int) -> npt.NDArray[np.bool_]:
        """Returns by which ports of `router` shortest paths lead to which routers: bool, ports x N."""
        return np.asarray(self.distance_table[self.neighbours(router)] < self.distance_table[router])


def all_distances(joined: csr_matrix | npt.NDArray[np.bool_]) -> npt.NDArray[np.float32]:
    """Returns the hops between all pairs of a graph, given its adjacency matrix; infinite without a path.

    Returns:
        float32, N x N. Searched a few hundred sources at a time: the search itself takes 8 bytes a pair.
    """
    if isinstance(joined, np.ndarray) and len(joined) <= _FEW_ROUTERS:
        return _distances_by_levels(joined)
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    matrix = csr_matrix(joined)
    routers = matrix.shape[0]
    found = np.empty((routers, routers), np.float32)
    for first in range(0, routers, _SOURCES_AT_ONCE):
        sources = np.arange(first, min(first + _SOURCES_AT_ONCE, routers))
        found[sources] = dijkstra(matrix, unweighted=True, indices=sources)
    return found


def _distances_by_levels(joined: npt.NDArray[np.bool_]) -> npt.NDArray[np.float32]:
    steps = joined.astype(np.float32)
    newest = np.eye(len(joined), dtype=bool)
    found = np.where(newest, 0, np.inf).astype(np.float32)
    distance = 0
    while newest.any():
        distance += 1
        newest = (newest.astype(np.float32) @ steps > 0) & np.isinf(found)
        found[newest] = distance
    return found


def from_links(routers: int, links: npt.NDArray[np.integer]) -> Adjacency:
    """Returns neighbour lists.

    Args:
        routers: N.
        links: integers, links x 2: the ends of every link, each link once.
    """
    both = np.concatenate([links, links[:, ::-1]]).reshape(-1, 2)
    sources, neighbours = both[np.lexsort((both[:, 1], both[:, 0]))].T
    starts = np.searchsorted(sources, np.arange(routers + 1)).astype(np.int64)
    return Adjacency(starts, neighbours.astype(np.int32))
