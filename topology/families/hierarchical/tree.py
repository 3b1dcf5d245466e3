"""Balanced trees: every switch above the lowest level has the same number of switches below it.

A tree of depth d and fan-out f has f^l switches l levels below its root, for l from 0 to d - 1. The lowest
switches have the hosts. There is one path between any two switches, so the failure of a link or of an inner
switch cuts the tree.

Source: Mininet's `--topo tree,depth,fanout` (TreeTopo). The switches are numbered as in Mininet, which always
gives f hosts to each of the lowest switches.
"""

from __future__ import annotations

import numpy as np

from topology.clusters import Clusters, consecutive_clusters
from topology.families.checks import check_integer, check_routers
from topology.families.family import Family
from topology.families.hierarchical.levels import LevelledTopology
from topology.parameters import Parameter
from topology.shortest_paths import adjacency_from_links

LARGEST_DEPTH, LARGEST_FANOUT = 14, 8192


class Tree(LevelledTopology):
    """A balanced tree: N = (f^d - 1) / (f - 1) routers, N - 1 links, diameter 2 (d - 1).

    Router order: preorder, that is the root, then one subtree of the root after the other, each in preorder.

    Attributes:
        depth: d, the number of levels of switches.
        fanout: f, the number of switches below each switch above the lowest level.
        level_of: int64 array, N: 0 for the lowest switches, d - 1 for the root.
    """

    name = "tree"

    def __init__(self, depth: int, fanout: int) -> None:
        """Builds the tree.

        Args:
            depth: d, at least 2.
            fanout: f, at least 2.

        Raises:
            ParameterError: a parameter is outside its domain, or the tree has more than 16384 routers.
        """
        check_integer("depth", depth, 2, LARGEST_DEPTH)
        check_integer("fanout", fanout, 2, LARGEST_FANOUT)
        check_routers("a tree", (fanout**depth - 1) // (fanout - 1))
        self.depth, self.fanout = depth, fanout
        self.params = {"depth": depth, "fanout": fanout}
        level_of, links = np.zeros(1, np.int64), np.zeros((0, 2), np.int64)
        for level in range(1, depth):  # a new root above copies of the tree so far
            roots = 1 + np.arange(fanout) * len(level_of)
            copies = (links[None] + roots[:, None, None]).reshape(-1, 2)
            links = np.concatenate([copies, np.stack([np.zeros_like(roots), roots], axis=1)])
            level_of = np.concatenate([[level], np.tile(level_of, fanout)])
        self.level_of = level_of
        middle = (f"switches of level {level}" for level in range(1, depth - 1))
        self.level_names = ("lowest switches", *middle, "root")
        super().__init__(adjacency_from_links(len(level_of), links))

    def clusters(self) -> Clusters:
        """Returns the subtrees below the root.

        Returns:
            f clusters of (N - 1) / f routers; the root is in none.
        """
        size = (self.routers - 1) // self.fanout
        found = consecutive_clusters(self.fanout, size, f"subtrees of {size} switches")
        return Clusters(tuple(tuple(1 + one for one in members) for members in found.members), found.name)


FAMILY = Family(
    Tree,
    (
        Parameter(
            name="depth",
            type=int,
            help="levels of switches (d)",
            required=True,
            least=2,
            most=LARGEST_DEPTH,
        ),
        Parameter(
            name="fanout",
            type=int,
            help="switches below a switch (f)",
            required=True,
            least=2,
            most=LARGEST_FANOUT,
        ),
    ),
    "balanced tree: (f^d - 1) / (f - 1) routers, hosts at the lowest, at most 2 (d - 1) hops between them",
    "tree --depth 3 --fanout 2",
    "hierarchical",
)
