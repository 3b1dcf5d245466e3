"""Resilience: links fail in random order until the graph is disconnected; distances up to then.

Every link is equally likely to fail next; parallel links fail individually. Consider the spanning tree of the
links that fail last (a maximum spanning tree by failure time). The graph is disconnected as soon as the first
link of this tree fails.

Source: Slim Fly (SC14), section III-D; PolarFly (SC22), section IX-B and Fig 14: 100 runs, and the distances
of the run with the median share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from topology.base import Topology
from topology.shortest_paths import adjacency_from_links, counted_pairs

_MIN_RUNS = 6  # fewer runs cannot bound the median with 95 % confidence
Ends = npt.NDArray[np.int64]


class Distances(NamedTuple):
    """Distances in a graph after some of its links have failed.

    Attributes:
        share: the share of failed links, 0 to 1.
        diameter: the largest distance between two routers, in hops.
        average_path_length: the mean distance between two different routers, in hops.
    """

    share: float
    diameter: int
    average_path_length: float


@dataclass(frozen=True)
class Resilience:
    """Shares of failed links that disconnect a graph, over several random orders of failure (runs).

    Attributes:
        shares: float array, one entry per run, ascending: the share of failed links that disconnects the
            graph.
        order: int array, one entry per link: link numbers in the order of failure in the median run.
    """

    shares: npt.NDArray[np.float64]
    order: npt.NDArray[np.int64]

    @property
    def median(self) -> float:
        """The median over all runs of the share of failed links that disconnects the graph.

        For an even number of runs, it is the lower of the two middle shares.
        """
        return float(self.shares[(len(self.shares) - 1) // 2])

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % confidence interval of the median, by order statistics; None with fewer than 6 runs.

        The median lies outside the range of all n runs with probability 2^(1 - n), over 5 % for n < 6.
        """
        runs = len(self.shares)
        if runs < _MIN_RUNS:
            return None
        reach = 1.96 * runs**0.5 / 2
        low = max(math.floor(runs / 2 - reach) - 1, 0)
        high = min(math.ceil(runs / 2 + reach), runs - 1)
        return float(self.shares[low]), float(self.shares[high])

    def connected(self, share: float) -> float:
        """Returns the share of runs in which the graph stays connected after a share of its links has failed.

        Args:
            share: the share of failed links, 0 to 1; it is rounded to whole links, as in `distances_after`.

        Returns:
            The share of the runs, 0 to 1.
        """
        failed = round(share * len(self.order))
        # A run's share includes the failure that disconnects its graph, so the graph stays connected if fewer
        # links have failed. Adding half a link makes the comparison safe against rounding.
        return float(np.mean(self.shares * len(self.order) > failed + 0.5))


def link_ends(topology: Topology) -> Ends:
    """Returns the two ends of each link.

    Args:
        topology: the graph.

    Returns:
        int64 array, links x 2; a pair of routers with parallel links occurs once per link.
    """
    sources = np.repeat(np.arange(topology.routers), topology.degrees)
    neighbours = topology.adjacency.neighbours.astype(np.int64)
    return np.stack([sources, neighbours], axis=1)[sources < neighbours]


def resilience(topology: Topology, runs: int = 100, seed: int = 1) -> Resilience:
    """Returns the shares of failed links that disconnect a graph, over random orders of failure.

    Args:
        topology: the graph, connected, of at least 2 routers.
        runs: the number of orders, at least 1.
        seed: seed of the random generator.
    """
    ends, orders = link_ends(topology), failure_orders(topology, runs, seed)
    survived = np.array([survived_failures(topology.routers, ends, order) for order in orders])
    ranked = np.argsort(survived, kind="stable")
    return Resilience((survived[ranked] + 1) / len(ends), orders[int(ranked[(runs - 1) // 2])])


def failure_orders(topology: Topology, runs: int, seed: int = 1) -> list[npt.NDArray[np.int64]]:
    """Returns random orders in which the links of a graph fail.

    Args:
        topology: the graph.
        runs: the number of orders, at least 1.
        seed: seed of the random generator; `resilience` uses the same orders for the same seed.

    Returns:
        For each run an int array with one entry per link: link numbers in the order of failure.
    """
    random = np.random.default_rng(seed)
    return [random.permutation(topology.links) for _ in range(runs)]


def survived_failures(routers: int, ends: Ends, order: npt.NDArray[np.int64]) -> int:
    """Returns how many links can fail, in a given order, before a failure disconnects the graph.

    Args:
        routers: N, the number of routers of a connected graph, at least 2.
        ends: int array, links x 2: the ends of the links.
        order: int array, one entry per link: link numbers in the order of failure.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import minimum_spanning_tree

    # Links that fail late get small weights. The matrix would add up the weights of parallel links, so it
    # contains only the last of them to fail.
    weight = np.empty(len(order))
    weight[order] = np.arange(len(order), 0, -1)
    by_weight = np.argsort(weight)
    _, first = np.unique(ends[by_weight] @ np.array([routers, 1]), return_index=True)
    last = by_weight[first]
    matrix = csr_matrix((weight[last], (ends[last, 0], ends[last, 1])), shape=(routers, routers))
    return len(order) - int(minimum_spanning_tree(matrix).data.max())


def distances_after(
    topology: Topology, order: npt.NDArray[np.int64], shares: npt.ArrayLike
) -> list[Distances]:
    """Returns, for each share of failed links, the distances in the graph that remains.

    Args:
        topology: the graph.
        order: int array, one entry per link: link numbers in the order of failure (`Resilience.order`).
        shares: the shares of failed links, each 0 to 1.

    Returns:
        The distances for every share that leaves the graph connected.
    """
    ends = link_ends(topology)
    survived = survived_failures(topology.routers, ends, order)
    everyone = np.arange(topology.routers)
    results = []
    for share in np.asarray(shares, float).tolist():
        failed = round(share * len(order))
        if failed > survived:
            continue
        left = adjacency_from_links(topology.routers, ends[order[failed:]])
        counts = counted_pairs(left, everyone)
        mean = sum(distance * count for distance, count in counts.items()) / sum(counts.values())
        results.append(Distances(share, max(counts), mean))
    return results
