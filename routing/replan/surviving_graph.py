"""Minimal routes in what failures leave of a fabric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topology.base import Topology
from topology.failures import Failure
from topology.shortest_paths import all_distances


@dataclass(frozen=True)
class SurvivingGraph:
    """What a failure leaves of a fabric.

    Attributes:
        topology: the fabric's graph while nothing is broken.
        failure: what is broken.
        distances: float32, routers x routers: over what is left; infinite without a path.
    """

    topology: Topology
    failure: Failure
    distances: npt.NDArray[np.float32]

    def shortest(self, router: int) -> npt.NDArray[np.bool_]:
        """Returns by which ports of a router shortest paths lead to which routers: bool, ports x routers."""
        alive = np.ones(int(self.topology.degrees[router]), bool)
        alive[[port - 1 for port in self.failure.failed_ports(router)]] = False
        beyond = self.distances[self.topology.neighbours(router)] + 1
        return np.asarray(alive[:, None] & (beyond == self.distances[router]) & np.isfinite(beyond))


def surviving_graph(topology: Topology, failure: Failure) -> SurvivingGraph:
    """Returns what a failure leaves of a fabric."""
    return SurvivingGraph(topology, failure, all_distances(_alive_links(topology, failure)))


def crossing_pairs(topology: Topology, failure: Failure) -> npt.NDArray[np.bool_]:
    """Returns for which ordered pairs some minimal path crosses what has failed, and is not to or from it.

    Returns:
        bool, routers x routers: row s, column d.
    """
    dead = np.zeros(topology.routers, bool)
    dead[list(failure.failed_routers)] = True
    crosses = np.zeros((topology.routers, topology.routers), bool)
    masks = [topology.minimal_port_mask(router) for router in range(topology.routers)]
    for router, mask in enumerate(masks):
        dead_ports = [port - 1 for port in failure.failed_ports(router)]
        crosses[router] = mask[dead_ports].any(axis=0)
    for _ in range(topology.diameter - 1):
        onward = [
            (mask & crosses[topology.neighbours(router)]).any(axis=0) for router, mask in enumerate(masks)
        ]
        crosses |= np.array(onward)
    return crosses & ~dead[:, None] & ~dead


def _alive_links(topology: Topology, failure: Failure) -> npt.NDArray[np.bool_]:
    alive = np.zeros((topology.routers, topology.routers), bool)
    for link in topology.link_list:
        if failure.failed_ends.isdisjoint(link.ends):
            alive[link.a, link.b] = alive[link.b, link.a] = True
    return alive
