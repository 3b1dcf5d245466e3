"""Orders of channels that certify deadlock freedom: every dependency leads to a channel of a higher rank.

A connected routing function is deadlock-free if its channel dependency graph is acyclic. A graph is acyclic
if and only if its channels can be numbered so that all dependencies ascend.

Source: Dally and Seitz (IEEE Trans. Computers C-36, 1987), theorem 1; the order by rounds is due to Kahn
(Communications of the ACM 5, 1962).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from routing.deadlock.channels import Numbers
from routing.deadlock.dependency_graph import DependencyGraph


class Successors(NamedTuple):
    """The dependencies of a graph: channel c depends on the channels heads[starts[c]:starts[c + 1]].

    Attributes:
        starts: int64 array, channels + 1.
        heads: int64 array, one entry for each dependency.
    """

    starts: Numbers
    heads: Numbers

    def counts(self, channels: Numbers) -> Numbers:
        """Returns the number of successors of each given channel.

        Args:
            channels: int64 array of channels.
        """
        return np.asarray(self.starts[channels + 1] - self.starts[channels], np.int64)

    def of(self, channels: Numbers) -> Numbers:
        """Returns the successors of the given channels, with repetitions.

        Args:
            channels: int64 array of channels.
        """
        counts = self.counts(channels)
        places = np.arange(counts.sum()) + np.repeat(
            self.starts[channels] - (counts.cumsum() - counts), counts
        )
        return np.asarray(self.heads[places], np.int64)


def successors(graph: DependencyGraph) -> Successors:
    """Returns the successors of all channels.

    Args:
        graph: the channel dependency graph.
    """
    starts = np.searchsorted(graph.tails, np.arange(len(graph.channels) + 1))
    return Successors(starts.astype(np.int64), graph.heads)


def ascending_ranks(graph: DependencyGraph) -> Numbers | None:
    """Returns an order of the channels in which all dependencies ascend.

    Args:
        graph: the channel dependency graph.

    Returns:
        int64 array: the rank of each channel, from 0: the length of the longest chain of dependencies leading
        to it. None if the graph has a cycle.
    """
    after = successors(graph)
    waiting_for = np.bincount(graph.heads, minlength=len(graph.channels))
    ranks = np.zeros(len(graph.channels), np.int64)
    ready = np.flatnonzero(waiting_for == 0)
    ordered, rank = 0, 0
    while len(ready):
        ranks[ready] = rank
        ordered += len(ready)
        reached, times = np.unique(after.of(ready), return_counts=True)
        waiting_for[reached] -= times
        ready, rank = reached[waiting_for[reached] == 0], rank + 1
    return ranks if ordered == len(graph.channels) else None


def channels_in_cycles(graph: DependencyGraph) -> Numbers:
    """Returns the channels that are on a cycle of dependencies, ascending.

    Args:
        graph: the channel dependency graph.
    """
    from scipy.sparse import csr_matrix  # slow to import
    from scipy.sparse.csgraph import connected_components

    count = len(graph.channels)
    edges = csr_matrix((np.ones(len(graph.tails), np.int8), (graph.tails, graph.heads)), (count, count))
    _, component = connected_components(edges, connection="strong")
    inside = component[graph.tails] == component[graph.heads]
    return np.unique(graph.tails[inside])
