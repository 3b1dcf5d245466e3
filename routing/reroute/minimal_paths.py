"""Minimal paths between all pairs of routers, one per pair, and the routers that they visit."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from routing.path_sets.restricted import RestrictedTopology
from topology.base import Topology

Mask = npt.NDArray[np.bool_]
Hops = npt.NDArray[np.int16]
Numbers = npt.NDArray[np.intp]

_MAX_BYTES = 1 << 28


class MinimalPaths:
    """The minimal paths of a topology.

    Attributes:
        topology: the topology.
        everyone: int16 array, N: all routers.
        next_hops: int16 array, N x N: the next hop of the path for each [source, destination].
        next_hops_toward: the same, transposed: [destination, source].
        distances: int16 array, N x N: the hops between routers.
        least_hops: int16 array, N x N: the least hops after which a path from a source visits a router.
        diameter: the largest distance.
    """

    def __init__(self, topology: Topology) -> None:
        """Computes the next hops and distances of all pairs.

        Args:
            topology: any connected topology.
        """
        self.topology = topology
        self.everyone = np.arange(topology.routers, dtype=np.int16)
        self.next_hops = topology.all_next_hops()
        self.next_hops_toward = np.ascontiguousarray(self.next_hops.T)  # [destination, source]
        self.distances = topology.distances(self.everyone[:, None], self.everyone).astype(np.int16)
        self.least_hops = topology.least_hops if isinstance(topology, RestrictedTopology) else self.distances
        self.diameter = int(self.distances.max())

    def paths_from(self, origins: Numbers) -> list[npt.NDArray[np.int16]]:
        """Returns the routers on one minimal path from each origin to every router.

        Args:
            origins: first routers of the paths.

        Returns:
            Arrays that broadcast to origins x routers: the first routers of the paths, the last ones, and the
            routers reached after each hop in between.
        """
        paths = [origins.astype(np.int16)[:, None], self.everyone[None, :]]
        if self._tables_fit:
            return [*paths, *(table[origins] for table in self._after_hops)]
        at = self.next_hops[origins]
        for hop in range(1, self.diameter):
            at = at if hop == 1 else self.next_hops[at, self.everyone]
            paths.append(at)
        return paths

    def paths_to(self, targets: Numbers) -> list[npt.NDArray[np.int16]]:
        """Returns the routers on one minimal path from every router to each target.

        Args:
            targets: last routers of the paths.

        Returns:
            Arrays that broadcast to targets x routers, as in `paths_from`.
        """
        paths = [self.everyone[None, :], targets.astype(np.int16)[:, None]]
        if self._tables_fit:
            return [*paths, *(table[targets] for table in self._after_hops_toward)]
        at = self.next_hops_toward[targets]
        for hop in range(1, self.diameter):
            at = at if hop == 1 else self.next_hops_toward[targets[:, None], at]
            paths.append(at)
        return paths

    @property
    def _tables_fit(self) -> bool:
        """Whether tables of the routers on all paths fit into memory; otherwise paths are recomputed."""
        return self.next_hops.nbytes * self.diameter <= _MAX_BYTES

    @cached_property
    def _after_hops(self) -> list[npt.NDArray[np.int16]]:
        """One table for each hop but the last: [source, destination] -> the router reached by that hop.

        The tables are cached because all neighbours of a router need the paths from it.
        """
        tables = [self.next_hops][: self.diameter - 1]
        while len(tables) < self.diameter - 1:
            tables.append(np.take_along_axis(self.next_hops, tables[-1].astype(np.intp), axis=0))
        return tables

    @cached_property
    def _after_hops_toward(self) -> list[npt.NDArray[np.int16]]:
        """The tables of `_after_hops`, transposed: [destination, source]."""
        tables = [self.next_hops_toward][: self.diameter - 1]
        while len(tables) < self.diameter - 1:
            tables.append(np.take_along_axis(self.next_hops_toward, tables[-1].astype(np.intp), axis=1))
        return tables


def avoid(paths: list[npt.NDArray[np.int16]], unwanted: int | npt.NDArray[np.int16]) -> Mask:
    """Returns, for each path, whether it avoids a router.

    Args:
        paths: the paths, as returned by `MinimalPaths.paths_from`.
        unwanted: the router, or an array of routers that broadcasts to the paths.
    """
    avoids = np.ones(np.broadcast_shapes(*(routers.shape for routers in paths)), bool)
    for routers in paths:
        avoids &= routers != unwanted
    return avoids
