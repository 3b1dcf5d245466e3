"""Minimal paths between all pairs of routers, one each, and the routers that they visit."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from topology.base import Topology

Mask = npt.NDArray[np.bool_]
Hops = npt.NDArray[np.int16]
Numbers = npt.NDArray[np.intp]

_MOST_BYTES = 1 << 28


class MinimalPaths:
    """The minimal paths of a topology.

    Attributes:
        topology: the topology.
        everyone: all routers.
        next_hops: the minimal next hops, source by destination.
        next_hops_toward: the same, destination by source.
        distances: the hops between routers.
        diameter: the most hops.
    """

    def __init__(self, topology: Topology) -> None:
        """Prepares the tables of all pairs.

        Args:
            topology: any connected topology.
        """
        self.topology = topology
        self.everyone = np.arange(topology.routers, dtype=np.int16)
        self.next_hops = topology.all_next_hops()
        self.next_hops_toward = np.ascontiguousarray(self.next_hops.T)  # [destination, source]
        self.distances = topology.distances(self.everyone[:, None], self.everyone).astype(np.int16)
        self.diameter = int(self.distances.max())

    def paths_from(self, origins: Numbers) -> list[npt.NDArray[np.int16]]:
        """Returns the routers on one minimal path from each of some routers to each router.

        Args:
            origins: first routers of the paths.

        Returns:
            Arrays that broadcast to origins x routers: the first routers of the paths, the last ones, and
            those that the paths have reached after each hop between.
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
        """Returns the routers on one minimal path from each router to each of some routers.

        Args:
            targets: last routers of the paths.

        Returns:
            Arrays that broadcast to targets x routers, as of `paths_from`.
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
        """Whether there is memory for the routers on all paths; else those of a few are followed anew."""
        return self.next_hops.nbytes * self.diameter <= _MOST_BYTES

    @cached_property
    def _after_hops(self) -> list[npt.NDArray[np.int16]]:
        """The routers that paths have reached after each hop between, source by destination.

        A router is the neighbour of many others, which all ask for its paths.
        """
        tables = [self.next_hops][: self.diameter - 1]
        while len(tables) < self.diameter - 1:
            tables.append(np.take_along_axis(self.next_hops, tables[-1].astype(np.intp), axis=0))
        return tables

    @cached_property
    def _after_hops_toward(self) -> list[npt.NDArray[np.int16]]:
        """The same, destination by source."""
        tables = [self.next_hops_toward][: self.diameter - 1]
        while len(tables) < self.diameter - 1:
            tables.append(np.take_along_axis(self.next_hops_toward, tables[-1].astype(np.intp), axis=1))
        return tables


def avoid(paths: list[npt.NDArray[np.int16]], unwanted: int | npt.NDArray[np.int16]) -> Mask:
    """Returns for each path whether it does not visit a router.

    Args:
        paths: the paths, as of `MinimalPaths.paths_from`.
        unwanted: the router, or routers in an array that broadcasts to the paths.
    """
    avoids = np.ones(np.broadcast_shapes(*(routers.shape for routers in paths)), bool)
    for routers in paths:
        avoids &= routers != unwanted
    return avoids
