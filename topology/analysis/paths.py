"""Triangles, and the numbers of simple paths by length, both by enumeration."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from topology.base import Topology


def triangles(topology: Topology) -> Iterator[tuple[int, int, int]]:
    """Yields every triangle of a graph once.

    Args:
        topology: the graph; parallel links form no additional triangles.

    Yields:
        Three mutually adjacent routers, ascending.
    """
    around = [set(topology.neighbours(router).tolist()) for router in range(topology.routers)]
    for a in range(topology.routers):
        for b in sorted(other for other in around[a] if other > a):
            yield from ((a, b, c) for c in sorted(around[a] & around[b]) if c > b)


def simple_paths(topology: Topology, longest: int) -> npt.NDArray[np.int64]:
    """Returns the number of simple paths of each length between all pairs of routers.

    Every path is enumerated, in about N k'^longest steps.

    Args:
        topology: the graph.
        longest: the largest length to count, in links; at least 1.

    Returns:
        int64 array, (longest + 1) x N x N: entry [l, s, d] is the number of paths of l links from s to d that
        visit no router twice.
    """
    around = [topology.neighbours(router).tolist() for router in range(topology.routers)]
    counts = np.zeros((longest + 1, topology.routers, topology.routers), np.int64)

    def follow(path: list[int]) -> None:
        counts[len(path) - 1, path[0], path[-1]] += 1
        if len(path) <= longest:
            for router in around[path[-1]]:
                if router not in path:
                    follow([*path, router])

    for router in range(topology.routers):
        follow([router])
    return counts
