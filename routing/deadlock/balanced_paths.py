"""Shortest paths balanced over the links, as in the first half of DFSSSP.

Every host has a tree of shortest paths from all routers; the trees are built one after another. Among the
shortest paths to a host, a router takes the first one whose links have the smallest total weight. Then the
weight of every link of the tree grows by the number of packets that it carries. Hosts of one router therefore
have different trees.

Source: Domke, Hoefler, Nagel, "Deadlock-Free Oblivious Routing for Arbitrary Topologies" (IPDPS 2011),
section II; Hoefler, Schneider, Lumsdaine, "Optimized Routing for Large-Scale InfiniBand Networks" (HOTI
2009), from which the weights are taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from routing.deadlock.channels import Numbers
from topology.base import Topology

_END = -1


def balanced_paths(topology: Topology, hosts: int) -> Numbers:
    """Returns the paths from every router with hosts to every host of another router.

    Args:
        topology: the graph, connected.
        hosts: p, the number of hosts at each router that has any, at least 1.

    Returns:
        int64 array, paths x hops: the numbers of the directed links of each path (`Channels` with one virtual
        channel), padded with -1; ascending by the router of the destination.
    """
    trees = _Trees(topology, hosts)
    sources = np.flatnonzero(topology.host_counts(hosts))
    paths = [
        _paths(tree, trees.heads, sources[sources != destination])
        for destination in sources.tolist()
        for tree in trees.to(destination)
    ]
    hops = max((one.shape[1] for one in paths), default=0)
    filled = [np.pad(one, ((0, 0), (0, hops - one.shape[1])), constant_values=_END) for one in paths]
    return np.concatenate(filled) if filled else np.empty((0, 0), np.int64)


def _paths(tree: Numbers, heads: Numbers, sources: Numbers) -> Numbers:
    """Returns the directed links of the paths from given routers to the root of a tree, padded with _END.

    Args:
        tree: int64 array, N: the link on which each router sends; _END for the root.
        heads: int64 array: the router at the end of each directed link.
        sources: the routers.
    """
    links = tree[sources]
    columns = []
    while (links != _END).any():
        columns.append(links)
        links = np.where(links == _END, _END, tree[heads[links]])
    return np.stack(columns, axis=1) if columns else np.empty((len(sources), 0), np.int64)


class _Ring(NamedTuple):
    """The routers at one distance from a destination, and their links toward it.

    Attributes:
        routers: int64 array, ascending.
        links: int64 array of directed links, grouped by router, in the order of `routers`.
        starts: int64 array: index in `links` of the first link of each router.
        owners: int64 array: for each link, the index of its router in `routers`.
    """

    routers: Numbers
    links: Numbers
    starts: Numbers
    owners: Numbers


class _Trees:
    """Trees of shortest paths, each of which avoids links that earlier trees use heavily.

    Attributes:
        heads: int64 array: the router at the end of each directed link.
    """

    def __init__(self, topology: Topology, hosts: int) -> None:
        """Starts with all weights at zero.

        Args:
            topology: the graph, connected.
            hosts: p, the number of hosts at each router that has any, at least 1.
        """
        self._topology = topology
        self._hosts = topology.host_counts(hosts).astype(np.int64)
        self._tails = np.repeat(np.arange(topology.routers), topology.degrees)
        self.heads = topology.adjacency.neighbours.astype(np.int64)
        self._weights = np.zeros(len(self.heads), np.int64)

    def to(self, destination: int) -> list[Numbers]:
        """Returns a tree for each host of a router: an int64 array (N) of the links on which routers send.

        Args:
            destination: the router.
        """
        rings = self._rings(destination)
        return [self._tree(rings) for _ in range(int(self._hosts[destination]))]

    def _rings(self, destination: int) -> list[_Ring]:
        """Returns one ring for each distance 1, 2, ... from a router, with all routers at that distance."""
        routers = np.arange(self._topology.routers)
        distances = self._topology.distances(routers, destination).astype(np.int64)
        nearer = np.flatnonzero(distances[self.heads] == distances[self._tails] - 1)
        rings = []
        for distance in range(1, int(distances.max()) + 1):
            links = nearer[distances[self._tails[nearer]] == distance]
            own, starts, owners = np.unique(self._tails[links], return_index=True, return_inverse=True)
            rings.append(_Ring(own, links, starts, owners.ravel()))
        return rings

    def _tree(self, rings: list[_Ring]) -> Numbers:
        """Returns one tree, and increases the weight of each of its links by the packets that it carries."""
        tree = np.full(self._topology.routers, _END, np.int64)
        costs = np.zeros(self._topology.routers, np.int64)
        for ring in rings:
            own = costs[self.heads[ring.links]] + self._weights[ring.links]
            least = np.minimum.reduceat(own, ring.starts)
            costs[ring.routers] = least
            cheapest = np.flatnonzero(own == least[ring.owners])
            _, first = np.unique(ring.owners[cheapest], return_index=True)
            tree[ring.routers] = ring.links[cheapest[first]]
        packets = self._hosts.copy()
        for ring in reversed(rings):
            links = tree[ring.routers]
            self._weights[links] += packets[ring.routers]  # no two routers send on the same link
            np.add.at(packets, self.heads[links], packets[ring.routers])
        return tree
