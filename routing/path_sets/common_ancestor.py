"""Paths of trees through a nearest common ancestor: up over any link, then down to the destination.

In a fat tree, a Megafly and the two-level trees, all shortest paths between routers with hosts are of this
kind: up, in a Megafly over one global link, and down. The path set therefore contains all shortest paths.

Source: F. Petrini and M. Vanneschi, "k-ary n-trees: High Performance Networks for Massively Parallel
Architectures" (IPPS 1997); Shpiner et al., "Dragonfly+: Low Cost Topology for Scaling Datacenters"
(HiPINEB 2017).
"""

from __future__ import annotations

from routing.path_sets.restricted import PathSet
from topology.base import Topology
from topology.errors import UsageError

NAME = "nca"


def common_ancestor_paths(topology: Topology) -> Topology:
    """Returns the topology itself, after checking that it has levels.

    Args:
        topology: a topology whose routers have levels (`level_of`): a fat tree, a Megafly, an orthogonal
            fat tree, a multi-layer full mesh or a tree.

    Raises:
        UsageError: the topology is of another family.
    """
    if not hasattr(topology, "level_of"):
        raise UsageError(
            f"topology for {NAME} must be fat-tree, megafly, orthogonal-fat-tree, multi-layer-full-mesh or "
            f"tree, whose routers have levels, got {topology.name}; try min or up-down, which work on any "
            "graph"
        )
    return topology


PATHS = PathSet(
    common_ancestor_paths,
    "up to a nearest common ancestor over any link, then down (networks with levels)",
    "Petrini and Vanneschi, IPPS 1997",
    shortest=True,
    families=("fat-tree", "megafly", "orthogonal-fat-tree", "multi-layer-full-mesh", "tree"),
)
