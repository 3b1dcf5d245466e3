"""Multi-layer full meshes: layers of fully connected leaves whose links go through shared spines.

Each of l layers has h + 1 leaves. For every two positions i and j of a layer there is one spine, which has a
link to the leaves i and j of every layer. Leaves at different positions are connected by one path of two
hops, through the spine of both positions; leaves at the same position in different layers have h such paths.

Source: Fujitsu Laboratories' multi-layer full mesh (2014), as described in Kathareios, Minkenberg, Prisacari,
Rodriguez, Hoefler, "Cost-Effective Diameter-Two Topologies: Analysis and Evaluation" (SC15):
with l = h, R = 3 h (h + 1) / 2 routers of radix 2 h.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from topology.clusters import Clusters, consecutive_clusters
from topology.families.checks import check_integer, check_routers
from topology.families.family import Family, Member
from topology.families.hierarchical.levels import LevelledTopology
from topology.layout import Layout, circle
from topology.parameters import Parameter, Value
from topology.shortest_paths import adjacency_from_links

LARGEST_H = 180  # for one layer


class MultiLayerFullMesh(LevelledTopology):
    """A multi-layer full mesh: l (h + 1) leaves and h (h + 1) / 2 spines, diameter 2 between leaves.

    Router order: leaf i of layer c has index c (h + 1) + i; the spines follow, by their two positions. A full
    mesh has h hosts at each leaf.

    Attributes:
        h: the number of links of a leaf.
        layers: l, the number of layers.
        level_of: int64 array, N: 0 for leaves, 1 for spines.
    """

    name = "multi-layer-full-mesh"
    level_names = ("leaves", "spines")

    def __init__(self, h: int, layers: int | None = None) -> None:
        """Builds the graph.

        Args:
            h: the number of links of a leaf, at least 2.
            layers: l, at least 1; by default h.

        Raises:
            ParameterError: a parameter is outside its domain, or the graph has more than 16384 routers.
        """
        check_integer("h", h, 2)
        self.h, self.layers = h, h if layers is None else layers
        check_integer("layers", self.layers, 1)
        leaves = self.layers * (h + 1)
        low, high = np.triu_indices(h + 1, 1)
        check_routers("a multi-layer-full-mesh", leaves + len(low))
        params: dict[str, Value] = {"h": h, "layers": self.layers}
        self.params = params
        self.level_of = np.repeat([0, 1], [leaves, len(low)])
        spine = np.tile(leaves + np.arange(len(low)), self.layers)
        first = np.repeat(np.arange(self.layers) * (h + 1), len(low))
        links = [np.stack([first + np.tile(place, self.layers), spine], axis=1) for place in (low, high)]
        super().__init__(adjacency_from_links(leaves + len(low), np.concatenate(links)))

    def clusters(self) -> Clusters:
        """Returns the leaves of each layer.

        Returns:
            l clusters of h + 1 routers; the spines are in none.
        """
        return consecutive_clusters(self.layers, self.h + 1, f"layers of {self.h + 1} leaves")

    def layout(self) -> Layout:
        """Returns the leaves of each layer on a circle, around a circle of the spines.

        Returns:
            A layout whose kinds are spines and leaves.
        """
        layers, size = self.layers, self.h + 1
        spines = self.routers - layers * size
        around = circle(size, 0.6 * min(np.sin(np.pi / layers), 0.5))
        leaves = (circle(layers)[:, None, :] + around).reshape(-1, 2)
        return Layout(np.concatenate([leaves, circle(spines, 0.35)]), 1 - self.level_of, ("spines", "leaves"))


def _members() -> Iterator[Member]:
    """Yields the meshes of h layers, whose spines have 2 h links, with h hosts at each leaf."""
    for h in range(2, LARGEST_H + 1):
        yield Member({"h": h}, 2 * h, 3 * h * (h + 1) // 2, h, h * (h + 1))


FAMILY = Family(
    MultiLayerFullMesh,
    (
        Parameter(name="h", type=int, help="links of a leaf", required=True, least=2, most=LARGEST_H),
        Parameter(name="layers", type=int, help="layers of h + 1 leaves", least=1, default_text="h"),
    ),
    "full meshes over shared spines: l (h + 1) + h (h + 1) / 2 routers, 2 hops between leaves",
    "multi-layer-full-mesh --h 4",
    "hierarchical",
    members=_members,
)
