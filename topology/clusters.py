"""Clusters: sets of routers that belong together in the structure of a graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Clusters:
    """Disjoint clusters of a topology's routers: supernodes, groups, or the fans around a quadric.

    Attributes:
        members: the routers of each cluster, in the cluster's own order. A router belongs to at most one
            cluster; PolarFly's quadrics, for example, belong to none.
        name: a plural noun phrase for legends, as `supernodes of 8 routers`; empty without clusters.
    """

    members: tuple[tuple[int, ...], ...] = ()
    name: str = ""

    def in_order(self, routers: int) -> list[int]:
        """Returns all routers, cluster by cluster.

        Args:
            routers: N, the number of routers of the topology.

        Returns:
            Every router 0 .. N - 1 once; those that belong to no cluster come last, ascending.
        """
        clustered = [router for cluster in self.members for router in cluster]
        return clustered + sorted(set(range(routers)).difference(clustered))

    def are_apart(
        self, a: npt.NDArray[np.integer], b: npt.NDArray[np.integer], routers: int
    ) -> npt.NDArray[np.bool_]:
        """Returns whether the routers of each pair do not belong to the same cluster.

        Args:
            a: a router of each pair, integers of any shape.
            b: the other, integers of the same shape.
            routers: N, the number of routers of the topology.

        Returns:
            Boolean array of this shape; True of a pair with a router that belongs to no cluster.
        """
        numbers = np.full(routers, -1)
        for number, cluster in enumerate(self.members):
            numbers[list(cluster)] = number
        return np.asarray((numbers[a] != numbers[b]) | (numbers[a] < 0))

    def equal_partition(self, routers: int) -> tuple[tuple[int, ...], ...]:
        """Returns the clusters if they divide all routers into sets of equal size.

        Args:
            routers: N, the number of routers of the topology.

        Returns:
            The members of each cluster; empty if a router belongs to no cluster or if sizes differ.
        """
        sizes = {len(cluster) for cluster in self.members}
        covers_all = sum(len(cluster) for cluster in self.members) == routers
        return self.members if covers_all and len(sizes) == 1 else ()


def consecutive_clusters(count: int, size: int, name: str) -> Clusters:
    """Returns clusters of consecutive routers.

    Args:
        count: the number of clusters.
        size: the number of routers of each cluster.
        name: a plural noun phrase for legends.

    Returns:
        Clusters of which number i has the routers i x size .. (i + 1) x size - 1.
    """
    return Clusters(tuple(tuple(range(i * size, (i + 1) * size)) for i in range(count)), name)
