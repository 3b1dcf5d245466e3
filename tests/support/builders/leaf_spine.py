"""A leaf-spine fabric for tests: only its leaves have hosts, as in fat trees and Megafly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from topology.shortest_paths import SearchedTopology, adjacency_from_links


class LeafSpine(SearchedTopology):
    """A complete bipartite graph of leaves (routers 0 .. leaves - 1) and spines, hosts at the leaves only."""

    name = "leafspine"

    def __init__(self, leaves: int = 4, spines: int = 2) -> None:
        self.leaves = leaves
        self.params = {"leaves": leaves, "spines": spines}
        pairs = [(leaf, leaves + spine) for leaf in range(leaves) for spine in range(spines)]
        super().__init__(adjacency_from_links(leaves + spines, np.array(pairs)))

    def host_counts(self, hosts_per_router: int) -> npt.NDArray[np.int64]:
        """Returns `hosts_per_router` for every leaf and 0 for every spine."""
        return np.where(np.arange(self.routers) < self.leaves, hosts_per_router, 0)
