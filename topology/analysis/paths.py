"""Triangles, and numbers of simple paths of a length, both counted one by one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from topology.base import Topology


def triangles(topology: Topology) -> Iterator[tuple[int, int, int]]:
    """Yields every triangle of a graph once.

    Args:
        topology: the graph; parallel links make no triangles of their own.

    Yields:
        Three routers that are adjacent to one another, ascending.
    """
    around = [set(topology.neighbours(router).tolist()) for router in range(topology.routers)]
    for a in range(topology.routers):
        for b in sorted(other for other in around[a] if other > a):
            yield from ((a, b, c) for c in sorted(around[a] & around[b]) if c > b)


def simple_paths(topology: Topology, longest: int) -> npt.NDArray[np.int64]:
    """Returns the number of simple paths between all pairs of routers, by lengths.

    The paths are followed one by one: about N k'^longest steps.

    Args:
        topology: the graph.
        longest: the length of the longest paths that are counted, in links; at least 1.

    Returns:
        int64 array, (longest + 1) x N x N: entry [l, s, d] is the number of paths of l links from s to d on
        which no router occurs twice.
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
