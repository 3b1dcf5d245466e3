"""Up*/down* paths of any graph: toward a root, then away from it, and never toward it again.

Links are ordered by a breadth-first search from a root: the end nearer to the root is up; if both are equally
near, the one with the lower index. If a path that only goes down leads to a packet's destination, the packet
takes the shortest such path; otherwise it goes up, toward the nearest router from which such a path exists.
This does not depend on how the packet has arrived, so rules by destination are sufficient.

Source: M. D. Schroeder et al., "Autonet: A High-Speed, Self-Configuring Local Area Network Using
Point-to-Point Links" (IEEE JSAC 9, 1991), section 6.6.4.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from routing.path_sets.restricted import Lengths, PathSet, PortMask, RestrictedTopology
from topology.base import MAX_ROUTERS, Topology
from topology.errors import ParameterError
from topology.parameters import Parameter

NAME = "up-down"
ROOT = Parameter(
    name="root",
    type=int,
    help="number of the switch at the root, from 1",
    least=1,
    most=MAX_ROUTERS,
    default_text="a switch with the smallest mean distance",
)
_NO_PATH = np.int16(np.iinfo(np.int16).max // 2)


def up_down_paths(topology: Topology, root: int | None = None) -> RestrictedTopology:
    """Returns a topology restricted to its up*/down* paths.

    Args:
        topology: any connected graph.
        root: number of the switch at the root, from 1; None for the one with the smallest mean distance, then
            the most links, then the lowest number.

    Raises:
        ParameterError: the root is not a switch of the topology.
    """
    if root is not None and root > topology.routers:
        raise ParameterError(f"root of {NAME} must be 1 to {topology.routers}, got {root}")
    rank = _ranks(topology, central_router(topology) if root is None else root - 1)
    down = _down_lengths(topology, rank)
    lengths = _lengths(topology, rank, down)

    def port_mask(router: int) -> PortMask:
        around = topology.neighbours(router)
        descends = rank[around][:, None] > rank[router]
        goes_down = down[router] < _NO_PATH
        by_down = descends & (down[around] < down[router])
        by_up = ~descends & (lengths[around] < lengths[router])
        return np.asarray(np.where(goes_down, by_down, by_up))

    return RestrictedTopology(topology, lengths, port_mask)


def central_router(topology: Topology) -> int:
    """Returns the router with the smallest mean distance to others; of several, the one with the most links.

    Args:
        topology: any connected graph.
    """
    everyone = np.arange(topology.routers)
    sums = topology.distances(everyone[:, None], everyone).sum(axis=1, dtype=np.int64)
    return int(np.lexsort((everyone, -topology.degrees, sums))[0])


def _ranks(topology: Topology, root: int) -> npt.NDArray[np.int64]:
    """Returns the position of each router in the breadth-first order from the root, which has position 0."""
    away = topology.distances(root, np.arange(topology.routers)).astype(np.int64)
    ranks = np.empty(topology.routers, np.int64)
    ranks[np.lexsort((np.arange(topology.routers), away))] = np.arange(topology.routers)
    return ranks


def _down_lengths(topology: Topology, rank: npt.NDArray[np.int64]) -> Lengths:
    """Returns, for each [source, destination], the hops of the shortest path that only goes down.

    Without such a path, the entry is _NO_PATH.
    """
    down = np.full((topology.routers, topology.routers), _NO_PATH, np.int16)
    for router in np.argsort(-rank).tolist():  # routers below have been processed
        around = topology.neighbours(router)
        below = around[rank[around] > rank[router]]
        if len(below):
            down[router] = np.minimum(down[below].min(axis=0) + 1, _NO_PATH)
        down[router, router] = 0
    return down


def _lengths(topology: Topology, rank: npt.NDArray[np.int64], down: Lengths) -> Lengths:
    """Returns, for each [source, destination], the hops of the path: only down if possible, else up first."""
    lengths = down.copy()
    for router in np.argsort(rank).tolist()[1:]:  # routers above have been processed; the root reaches all
        around = topology.neighbours(router)
        above = around[rank[around] < rank[router]]
        up = lengths[above].min(axis=0) + 1
        lengths[router] = np.where(down[router] < _NO_PATH, down[router], up)
    return lengths


PATHS = PathSet(
    up_down_paths,
    "toward a root, then away from it, on any graph",
    "Schroeder et al., JSAC 1991",
    parameters=(ROOT,),
)
