"""Dimension-order paths of Hamming graphs, tori and hypercubes: one dimension after another.

A packet corrects its first coordinate, then the second, and so on. In a ring it takes the shorter direction;
if both are equal, always the same one. Every pair has exactly one path, which is a shortest path.

Source: Dally and Towles, Principles and Practices of Interconnection Networks, section 8.4.2.
"""

from __future__ import annotations

import numpy as np

from routing.path_sets.restricted import PathSet, PortMask, RestrictedTopology
from topology.base import Topology
from topology.errors import UsageError
from topology.families.classic.product import CartesianProduct

NAME = "dor"


def dimension_order_paths(topology: Topology) -> RestrictedTopology:
    """Returns a product of complete graphs or rings restricted to its dimension-order paths.

    Args:
        topology: a Hamming graph (hyperx), a torus or a hypercube.

    Raises:
        UsageError: the topology is of another family.
    """
    if not isinstance(topology, CartesianProduct):
        raise UsageError(
            f"topology for {NAME} must be hyperx, torus or hypercube, whose routers have coordinates, got "
            f"{topology.name}; try min or up-down, which work on any graph"
        )
    everyone = np.arange(topology.routers)
    coordinates = topology.coordinates
    lengths = topology.distances(everyone[:, None], everyone).astype(np.int16)

    def port_mask(router: int) -> PortMask:
        # A link changes one coordinate; the first one that differs must be corrected first.
        dimensions = (coordinates[topology.neighbours(router)] != coordinates[router]).argmax(axis=1)
        first = (coordinates != coordinates[router]).argmax(axis=1)
        mask = topology.minimal_port_mask(router) & (dimensions[:, None] == first[None, :])
        chosen = np.zeros(mask.shape, bool)
        found = np.flatnonzero(mask.any(axis=0))
        chosen[mask.argmax(axis=0)[found], found] = True
        return chosen

    return RestrictedTopology(topology, lengths, port_mask)


PATHS = PathSet(
    dimension_order_paths,
    "one dimension after another (hyperx, torus, hypercube)",
    "Dally and Towles, section 8.4.2",
    shortest=True,
    families=("hyperx", "torus", "hypercube"),
)
