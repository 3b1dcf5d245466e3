"""Dimension-order paths of Hamming graphs, tori and hypercubes: one dimension after the other.

A packet corrects its first coordinate, then the second, and so on; in a ring it goes the shorter way round,
and of two equal ones always the same. Every pair has one path, which is a shortest one.

Source: Dally and Towles, Principles and Practices of Interconnection Networks, section 8.4.2.
"""

from __future__ import annotations

import numpy as np

from routing.path_sets.restricted import PortMask, RestrictedTopology
from topology.base import Topology
from topology.errors import UsageError
from topology.families.classic.product import CartesianProduct

NAME = "dor"


def dimension_order_paths(topology: Topology) -> RestrictedTopology:
    """Returns a product of complete graphs or rings with its dimension-order paths.

    Args:
        topology: a Hamming graph (hyperx), a torus or a hypercube.

    Raises:
        UsageError: the topology is of another family.
    """
    if not isinstance(topology, CartesianProduct):
        raise UsageError(
            f"the topology of {NAME} must be hyperx, torus or hypercube, whose routers have coordinates, got "
            f"{topology.name}; try min, or up-down, which any graph has"
        )
    everyone = np.arange(topology.routers)
    coordinates = topology.coordinates
    lengths = topology.distances(everyone[:, None], everyone).astype(np.int16)

    def port_mask(router: int) -> PortMask:
        # A link changes one coordinate; that which differs first is to be corrected first.
        dimensions = (coordinates[topology.neighbours(router)] != coordinates[router]).argmax(axis=1)
        first = (coordinates != coordinates[router]).argmax(axis=1)
        mask = topology.minimal_port_mask(router) & (dimensions[:, None] == first[None, :])
        chosen = np.zeros(mask.shape, bool)
        found = np.flatnonzero(mask.any(axis=0))
        chosen[mask.argmax(axis=0)[found], found] = True
        return chosen

    return RestrictedTopology(topology, lengths, port_mask)
