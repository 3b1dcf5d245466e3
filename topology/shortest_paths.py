"""Shortest paths from tables and by search: topologies without a formula, and connected components.

`TabledTopology` looks up next hops and distances in tables of all pairs. `SearchedTopology` computes these
tables by search, from the neighbour lists alone.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from topology.base import Adjacency, Routers, Topology
from topology.failures import NO_FAILURE, Failure

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # importing it takes a tenth of a second

_SOURCES_AT_ONCE = 512
# Up to this size, products of dense matrices take less time than importing scipy.
_FEW_ROUTERS = 256


class TabledTopology(Topology):
    """A topology with tables of all pairs: N^2 entries each, computed on first use."""

    @cached_property
    @abstractmethod
    def next_hop_table(self) -> npt.NDArray[np.int16]:
        """int16 array, N x N: the minimal next hop of every [source, destination]; itself on the diagonal."""

    @cached_property
    def distance_table(self) -> npt.NDArray[np.int16]:
        """int16 array, N x N: the distance of every pair, counted along the next hops."""
        hops = self.next_hop_table
        everyone = np.arange(self.routers)
        reached = np.repeat(everyone[:, None].astype(np.int16), self.routers, axis=1)
        steps = np.zeros(reached.shape, np.int16)
        while (away := reached != everyone).any():
            steps += away
            reached = hops[reached, everyone]
        return steps

    def next_hops(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> Routers:
        """Returns the minimal next hop of each pair of routers from the table.

        Args:
            sources: routers, integers of any shape.
            destinations: routers, integers of a shape that broadcasts with that of the sources.

        Returns:
            int32 array of the broadcast shape.
        """
        return np.asarray(self.next_hop_table[np.asarray(sources), np.asarray(destinations)], np.int32)

    def all_next_hops(self) -> npt.NDArray[np.int16]:
        """Returns a copy of the table of next hops.

        Returns:
            int16 array, N x N, indexed [source, destination].
        """
        return self.next_hop_table.copy()

    def distances(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> npt.NDArray[np.int16]:
        """Returns the distance of each pair of routers from the table.

        Args:
            sources: routers, integers of any shape.
            destinations: routers, integers of a shape that broadcasts with that of the sources.

        Returns:
            int16 array of the broadcast shape, in hops.
        """
        return np.asarray(self.distance_table[np.asarray(sources), np.asarray(destinations)])

    def pairs_by_distance(self) -> dict[int, int]:
        """Counts the ordered pairs of different routers at each distance, without building a table.

        Returns:
            Distance in hops -> number of pairs, for every distance that occurs.
        """
        return dict(self._pairs_by_distance)

    @cached_property
    def _pairs_by_distance(self) -> dict[int, int]:
        return self.pairs_among(np.arange(self.routers))

    def pairs_among(self, routers: npt.NDArray[np.int64]) -> dict[int, int]:
        """Returns the number of ordered pairs of the given routers at each distance.

        Args:
            routers: indices of the routers, each once.

        Returns:
            Distance in hops -> number of pairs, for every distance that occurs.
        """
        return counted_pairs(self.adjacency, routers)


class SearchedTopology(TabledTopology):
    """A connected graph given by its neighbour lists; all shortest paths are minimal routes.

    The minimal next hop is the first neighbour on a shortest path; `minimal_port_mask` includes all of them.

    Examples:
        >>> import numpy as np
        >>> class Ring(SearchedTopology):
        ...     name = "ring"
        ...     def __init__(self, length):
        ...         self.params = {"length": length}
        ...         links = [(router, (router + 1) % length) for router in range(length)]
        ...         super().__init__(adjacency_from_links(length, np.array(links)))
        >>> Ring(6), Ring(6).diameter
        (<ring length=6: 6 routers, 6 links>, 3)
    """

    def __init__(self, adjacency: Adjacency) -> None:
        """Creates the topology.

        Args:
            adjacency: the neighbour lists of a connected graph, as returned by `adjacency_from_links`.
        """
        self._adjacency = adjacency

    @property
    def adjacency(self) -> Adjacency:
        """The neighbour lists of all routers."""
        return self._adjacency

    @cached_property
    def distance_table(self) -> npt.NDArray[np.int16]:
        """int16 array, N x N: the distance of every ordered pair."""
        return all_distances(self._matrix()).astype(np.int16)

    def _matrix(self) -> csr_matrix | npt.NDArray[np.bool_]:
        starts, neighbours = self.adjacency.starts, self.adjacency.neighbours
        if self.routers <= _FEW_ROUTERS:
            linked = np.zeros((self.routers, self.routers), bool)
            linked[np.repeat(np.arange(self.routers), self.degrees), neighbours] = True
            return linked
        from scipy.sparse import csr_matrix

        ones = np.ones(len(neighbours), np.int8)
        return csr_matrix((ones, neighbours, starts), shape=(self.routers, self.routers))

    @cached_property
    def next_hop_table(self) -> npt.NDArray[np.int16]:
        """int16 array, N x N: the first neighbour on a shortest path of every [source, destination]."""
        distances = self.distance_table
        hops = np.empty((self.routers, self.routers), np.int16)
        for router in range(self.routers):
            around = self.neighbours(router)
            nearer = distances[around] < distances[router]
            hops[router] = around[nearer.argmax(axis=0)]
            hops[router, router] = router
        return hops

    def minimal_port_mask(self, router: int) -> npt.NDArray[np.bool_]:
        """Returns, for each destination, the links of a router on which shortest paths start.

        Args:
            router: the router that forwards packets.

        Returns:
            bool array, links x N: entry [i, d] is true if a shortest path to d starts with link i.
        """
        return np.asarray(self.distance_table[self.neighbours(router)] < self.distance_table[router])


def all_distances(adjacency_matrix: csr_matrix | npt.NDArray[np.bool_]) -> npt.NDArray[np.float32]:
    """Returns the distances between all pairs of routers of a graph.

    Args:
        adjacency_matrix: N x N, symmetric, dense or sparse; a non-zero entry is a link.

    Returns:
        float32 array, N x N, in hops; infinite for pairs without a path.
    """
    if isinstance(adjacency_matrix, np.ndarray) and len(adjacency_matrix) <= _FEW_ROUTERS:
        return _distances_by_levels(adjacency_matrix)
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    matrix = csr_matrix(adjacency_matrix)
    routers = matrix.shape[0]
    distances = np.empty((routers, routers), np.float32)
    # The search takes 8 bytes per pair, so it runs for a limited number of sources at a time.
    for first in range(0, routers, _SOURCES_AT_ONCE):
        sources = np.arange(first, min(first + _SOURCES_AT_ONCE, routers))
        distances[sources] = dijkstra(matrix, unweighted=True, indices=sources)
    return distances


def load_search_library(routers: int) -> None:
    """Imports the library that `all_distances` needs, if the graph is large enough to need it.

    Args:
        routers: number of routers of the graph.
    """
    if routers > _FEW_ROUTERS:
        import scipy.sparse.csgraph  # noqa: F401


def _distances_by_levels(adjacency_matrix: npt.NDArray[np.bool_]) -> npt.NDArray[np.float32]:
    steps = adjacency_matrix.astype(np.float32)
    newest = np.eye(len(adjacency_matrix), dtype=bool)
    distances = np.where(newest, 0, np.inf).astype(np.float32)
    level = 0
    while newest.any():
        level += 1
        newest = (newest.astype(np.float32) @ steps > 0) & np.isinf(distances)
        distances[newest] = level
    return distances


def adjacency_from_links(routers: int, links: npt.NDArray[np.integer]) -> Adjacency:
    """Returns the neighbour lists of a graph.

    Args:
        routers: N, the number of routers.
        links: integers, links x 2: the two ends of every link. Each link occurs once; a pair of routers that
            occurs several times has that many parallel links.

    Returns:
        Neighbour lists that contain every link in both directions.

    Examples:
        Two parallel links:

        >>> import numpy as np
        >>> adjacency_from_links(2, np.array([[0, 1], [0, 1]])).neighbours.tolist()
        [1, 1, 0, 0]
    """
    both = np.concatenate([links, links[:, ::-1]]).reshape(-1, 2)
    sources, neighbours = both[np.lexsort((both[:, 1], both[:, 0]))].T
    starts = np.searchsorted(sources, np.arange(routers + 1)).astype(np.int64)
    return Adjacency(starts, neighbours.astype(np.int32))


def host_pairs_by_distance(topology: Topology) -> dict[int, int]:
    """Returns, by distance, the number of ordered pairs of different routers that have hosts.

    Args:
        topology: the graph of routers; its `host_counts` defines which of them have hosts.

    Returns:
        Distance in hops -> number of pairs, for every distance that occurs; empty if fewer than two routers
        have hosts.
    """
    hosting = np.flatnonzero(topology.host_counts(1))
    if isinstance(topology, TabledTopology):
        return topology.pairs_among(hosting)
    counts: npt.NDArray[np.int64] = np.zeros(topology.routers, np.int64)
    for first in range(0, len(hosting), _SOURCES_AT_ONCE):
        sources = hosting[first : first + _SOURCES_AT_ONCE]
        reached = topology.distances(sources[:, None], hosting)
        counts += np.bincount(reached.ravel(), minlength=len(counts))
    return {distance: int(count) for distance, count in enumerate(counts) if distance and count}


def counted_pairs(adjacency: Adjacency, among: npt.NDArray[np.int64]) -> dict[int, int]:
    """Returns the number of ordered pairs of different routers at each distance, found with sets of sources.

    After step d, every router has the set of sources within d hops, one bit per source: the union of its own
    set and its neighbours' sets of step d - 1. This takes less time and memory than a table of all pairs.

    Args:
        adjacency: the neighbour lists of a connected graph of N routers.
        among: int64 array: the routers whose pairs are counted, each once.

    Returns:
        Distance in hops -> number of pairs, for every distance that occurs.
    """
    routers = len(adjacency.starts) - 1
    counts: dict[int, int] = {}
    for first in range(0, len(among), _SOURCES_AT_ONCE):
        sources = among[first : first + _SOURCES_AT_ONCE]
        word, bit = np.divmod(np.arange(len(sources)), 64)
        reached = np.zeros((routers, int(word[-1]) + 1), np.uint64)
        reached[sources, word] = np.uint64(1) << bit.astype(np.uint64)
        pairs, all_pairs = len(sources), len(sources) * len(among)
        for distance in range(1, routers):
            if pairs == all_pairs:
                break
            around = np.bitwise_or.reduceat(reached[adjacency.neighbours], adjacency.starts[:-1], axis=0)
            reached |= around
            known = int(np.bitwise_count(reached[among]).sum())
            if known > pairs:
                counts[distance] = counts.get(distance, 0) + known - pairs
            pairs = known
    return dict(sorted(counts.items()))


def connected_components(topology: Topology, failure: Failure = NO_FAILURE) -> list[int]:
    """Returns the index of each router's connected component after a failure.

    No routing can connect routers of different components.

    Args:
        topology: the graph of routers.
        failure: the links and routers that have failed; a failed router forms its own component.

    Returns:
        One index per router; components are counted from 0, in the order of their first routers.
    """
    neighbours = topology.adjacency.neighbours
    works = np.ones(len(neighbours), bool)
    works[[topology.link_numbers[end] for end in failure.failed_ends]] = False
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
