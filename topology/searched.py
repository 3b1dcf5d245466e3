"""A topology whose routes come from a breadth-first search: families without a formula, and any graph."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from topology.graph import Adjacency
from topology.tabled import TabledTopology


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
        starts, neighbours = self.adjacency.starts, self.adjacency.neighbours
        joined = np.zeros((self.routers, self.routers), np.float32)
        joined[np.repeat(np.arange(self.routers), np.diff(starts)), neighbours] = 1
        distances = np.where(np.eye(self.routers, dtype=bool), 0, -1).astype(np.int16)
        frontier = np.eye(self.routers, dtype=np.float32)
        hops = 0
        while (distances < 0).any():
            hops += 1
            new = (frontier @ joined > 0) & (distances < 0)
            distances[new] = hops
            frontier = new.astype(np.float32)
        return distances

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
