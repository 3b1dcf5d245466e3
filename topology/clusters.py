"""Clusters: sets of routers that the structure of a graph groups together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Clusters:
    """Disjoint clusters of a topology's routers: supernodes, groups, or the fans around a quadric.

    Attributes:
        members: the routers of each cluster, in the cluster's order. A router belongs to at most one
            cluster; PolarFly's quadrics, for example, belong to none.
        name: a plural noun phrase for legends (`supernodes of 8 routers`); empty without clusters.

    Examples:
        >>> pairs = Clusters(((2, 3), (0, 1)), "pairs")
        >>> pairs.in_order(5)
        [2, 3, 0, 1, 4]
    """

    members: tuple[tuple[int, ...], ...] = ()
    name: str = ""

    def in_order(self, routers: int) -> list[int]:
        """Returns all routers, cluster by cluster.

        Args:
            routers: N, the number of routers of the topology.

        Returns:
            Every router 0 .. N - 1 once; routers outside all clusters come last, ascending.
        """
        clustered = [router for cluster in self.members for router in cluster]
        return clustered + sorted(set(range(routers)).difference(clustered))

    def are_apart(
        self, a: npt.NDArray[np.integer], b: npt.NDArray[np.integer], routers: int
    ) -> npt.NDArray[np.bool_]:
        """Returns whether the two routers of each pair belong to different clusters.

        Args:
            a: the first router of each pair, integers of any shape.
            b: the second router of each pair, integers of the same shape.
            routers: N, the number of routers of the topology.

        Returns:
            Boolean array of this shape; true if either router belongs to no cluster.
        """
        numbers = np.full(routers, -1)
        for number, cluster in enumerate(self.members):
            numbers[list(cluster)] = number
        return np.asarray((numbers[a] != numbers[b]) | (numbers[a] < 0))

    def equal_partition(self, routers: int) -> tuple[tuple[int, ...], ...]:
        """Returns the clusters if they partition the routers into sets of equal size.

        Args:
            routers: N, the number of routers of the topology.

        Returns:
            The members of each cluster; empty if a router belongs to no cluster or the sizes differ.
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
        Clusters; number i has the routers i x size .. (i + 1) x size - 1.

    Examples:
        >>> consecutive_clusters(2, 3, "groups of 3 routers").members
        ((0, 1, 2), (3, 4, 5))
    """
    return Clusters(tuple(tuple(range(i * size, (i + 1) * size)) for i in range(count)), name)
