"""The surviving graph: the links and routers that have not failed, and minimal paths over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topology.base import Topology
from topology.failures import Failure
from topology.shortest_paths import all_distances


@dataclass(frozen=True)
class SurvivingGraph:
    """A topology without the links and routers that have failed.

    Attributes:
        topology: the whole graph.
        failure: the failed links and routers.
        distances: float32, routers x routers: hops over surviving links; infinite where no path survives.
    """

    topology: Topology
    failure: Failure
    distances: npt.NDArray[np.float32]

    def minimal_port_mask(self, router: int) -> npt.NDArray[np.bool_]:
        """Returns the ports that begin minimal paths, as `Topology.minimal_port_mask` for the whole graph.

        Args:
            router: the router that the ports belong to, 0 .. N - 1.

        Returns:
            bool, ports x routers: entry [i, d] is for port i + 1 and paths to router d.
        """
        alive = np.ones(int(self.topology.degrees[router]), bool)
        alive[[port - 1 for port in self.failure.failed_ports(router)]] = False
        beyond = self.distances[self.topology.neighbours(router)] + 1
        return np.asarray(alive[:, None] & (beyond == self.distances[router]) & np.isfinite(beyond))

    def reachable(self, router: int) -> npt.NDArray[np.bool_]:
        """Returns the other routers to which a path survives.

        Args:
            router: the router at which the paths begin, 0 .. N - 1.

        Returns:
            bool, one per router; False for `router` itself.
        """
        others = np.arange(self.topology.routers) != router
        return np.asarray(np.isfinite(self.distances[router]) & others)


def surviving_graph(topology: Topology, failure: Failure) -> SurvivingGraph:
    """Returns the graph that survives a failure, with all its distances.

    Args:
        topology: the whole graph.
        failure: the failed links and routers.
    """
    return SurvivingGraph(topology, failure, all_distances(_surviving_links(topology, failure)))


def crossing_pairs(topology: Topology, failure: Failure) -> npt.NDArray[np.bool_]:
    """Returns the ordered pairs of surviving routers that have a minimal path over a failed element.

    Args:
        topology: the whole graph.
        failure: the failed links and routers.

    Returns:
        bool, routers x routers: entry [s, d] is for packets from s to d; False where s or d has failed.
    """
    failed = np.zeros(topology.routers, bool)
    failed[list(failure.failed_routers)] = True
    crosses = np.zeros((topology.routers, topology.routers), bool)
    masks = [topology.minimal_port_mask(router) for router in range(topology.routers)]
    for router, mask in enumerate(masks):
        failed_ports = [port - 1 for port in failure.failed_ports(router)]
        crosses[router] = mask[failed_ports].any(axis=0)
    # A path crosses the failure if it does so at its first link or from its next router on.
    for _ in range(topology.diameter - 1):
        onward = [
            (mask & crosses[topology.neighbours(router)]).any(axis=0) for router, mask in enumerate(masks)
        ]
        crosses |= np.array(onward)
    return crosses & ~failed[:, None] & ~failed


def _surviving_links(topology: Topology, failure: Failure) -> npt.NDArray[np.bool_]:
    """Returns whether a link survives between each two routers: bool, routers x routers."""
    alive = np.zeros((topology.routers, topology.routers), bool)
    for link in topology.link_list:
        if failure.failed_ends.isdisjoint(link.ends):
            alive[link.a, link.b] = alive[link.b, link.a] = True
    return alive
