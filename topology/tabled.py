"""A topology that reads its next hops and distances off tables of all pairs."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np
import numpy.typing as npt

from topology.base import Routers, Topology


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
