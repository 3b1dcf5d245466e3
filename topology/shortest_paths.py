"""A topology whose routes come from a breadth-first search: families without a formula, and any graph."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from topology.base import Adjacency, Routers, Topology
from topology.failures import NO_FAILURE, Failure

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # importing it takes a tenth of a second: only where it is needed

_SOURCES_AT_ONCE = 512
# Up to so many, products of dense matrices take less time than it takes to import scipy.
_FEW_ROUTERS = 256


class TabledTopology(Topology):
    """Next hops and distances from tables, which take N^2 numbers each and are made when first needed."""

    @cached_property
    @abstractmethod
    def next_hop_table(self) -> npt.NDArray[np.int16]:
        """int16 array, N x N: the minimal next hop of every (source, destination); itself to itself."""

    @cached_property
    def distance_table(self) -> npt.NDArray[np.int16]:
        """int16 array, N x N: the distance of every pair: how many next hops lead from one to the other."""
        hops = self.next_hop_table
        everyone = np.arange(self.routers)
        at = np.repeat(everyone[:, None].astype(np.int16), self.routers, axis=1)
        steps = np.zeros(at.shape, np.int16)
        while (away := at != everyone).any():
            steps += away
            at = hops[at, everyone]
        return steps

    def next_hops(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> Routers:
        """Returns the minimal next hops."""
        return np.asarray(self.next_hop_table[np.asarray(sources), np.asarray(destinations)], np.int32)

    def all_next_hops(self) -> npt.NDArray[np.int16]:
        """Returns the minimal next hop of every ordered pair: int16 array, N x N, [source, destination]."""
        return self.next_hop_table.copy()

    def distances(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> npt.NDArray[np.int16]:
        """Returns the distances in hops."""
        return np.asarray(self.distance_table[np.asarray(sources), np.asarray(destinations)])

    def pairs_by_distance(self) -> dict[int, int]:
        """Returns distance -> number of ordered pairs of different routers at that distance."""
        counts = np.bincount(self.distance_table.ravel())
        return {distance: int(count) for distance, count in enumerate(counts) if distance and count}


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


def adjacency_from_links(routers: int, links: npt.NDArray[np.integer]) -> Adjacency:
    """Returns neighbour lists.

    Args:
        routers: N.
        links: integers, links x 2: the ends of every link, each link once.
    """
    both = np.concatenate([links, links[:, ::-1]]).reshape(-1, 2)
    sources, neighbours = both[np.lexsort((both[:, 1], both[:, 0]))].T
    starts = np.searchsorted(sources, np.arange(routers + 1)).astype(np.int64)
    return Adjacency(starts, neighbours.astype(np.int32))


def connected_components(topology: Topology, failure: Failure = NO_FAILURE) -> list[int]:
    """Returns the number of the connected component that each router is in, once a failure has happened.

    Routers of different components cannot reach each other by any routing.

    Args:
        topology: the graph of routers.
        failure: the links and routers that have failed; a failed router is a component by itself.

    Returns:
        One number per router; components are numbered from 0, in the order of their first routers.
    """
    starts, neighbours = topology.adjacency.starts, topology.adjacency.neighbours
    works = np.ones(len(neighbours), bool)
    works[[starts[router] + port - 1 for router, port in failure.failed_ends]] = False
    ends = np.repeat(np.arange(topology.routers), topology.degrees)[works], neighbours[works]
    first = np.arange(topology.routers)  # the first router known to be in each router's component
    while True:
        nearer = first.copy()
        np.minimum.at(nearer, ends[0], first[ends[1]])
        nearer = nearer[nearer]
        if np.array_equal(nearer, first):
            break
        first = nearer
    numbers: list[int] = np.unique(first, return_inverse=True)[1].tolist()
    return numbers
