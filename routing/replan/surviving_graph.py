"""The surviving graph: the links and routers that have not failed, and minimal paths over them.

Drained links and routers work but are avoided: a path over one of them costs more than any path that
avoids them. So paths cross drained components only if there is no other path, or if the destination is a
drained router.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topology.base import Topology
from topology.drains import NO_DRAIN, Drain
from topology.failures import Failure
from topology.shortest_paths import all_distances, connected_components

# The cost of a drained link, and of entering a drained router, in hops: larger than any TTL.
_DRAINED_COST = 1024


@dataclass(frozen=True)
class SurvivingGraph:
    """A topology without the links and routers that have failed.

    Attributes:
        topology: the whole graph.
        failure: the failed links and routers.
        distances: float32, routers x routers: hops over surviving links, more over drained links and to
            drained routers; infinite if no path survives.
        drain: the drained links and routers.
    """

    topology: Topology
    failure: Failure
    distances: npt.NDArray[np.float32]
    drain: Drain = NO_DRAIN

    @property
    def hops(self) -> npt.NDArray[np.float32]:
        """float32, routers x routers: the distances in hops, without the cost of a drained destination."""
        if not self.drain.routers:
            return self.distances
        hops = self.distances.copy()
        hops[:, sorted(self.drain.routers)] -= _DRAINED_COST
        np.fill_diagonal(hops, 0)
        return hops

    @property
    def crossing(self) -> npt.NDArray[np.bool_]:
        """bool, routers x routers: whether every surviving path of a pair crosses a drained component."""
        hops = self.hops
        return np.asarray(np.isfinite(hops) & (hops >= _DRAINED_COST))

    def minimal_port_mask(self, router: int) -> npt.NDArray[np.bool_]:
        """Returns the links on which minimal paths start, like `Topology.minimal_port_mask`.

        Args:
            router: the router that the links leave, 0 .. N - 1.

        Returns:
            bool, links x routers: entry [i, d] is for link i of the router and paths to router d.
        """
        alive = ~_among(self.topology, router, self.failure.failed_ports(router))
        beyond = self.distances[self.topology.neighbours(router)] + _link_costs(
            self.topology, self.drain, router
        )
        return np.asarray(alive[:, None] & (beyond == self.distances[router]) & np.isfinite(beyond))

    def reachable(self, router: int) -> npt.NDArray[np.bool_]:
        """Returns the other routers that a path still reaches.

        Args:
            router: the router at which the paths start, 0 .. N - 1.

        Returns:
            bool, one per router; False for `router` itself.
        """
        others = np.arange(self.topology.routers) != router
        return np.asarray(np.isfinite(self.distances[router]) & others)


def surviving_graph(topology: Topology, failure: Failure, drain: Drain = NO_DRAIN) -> SurvivingGraph:
    """Returns the graph that survives a failure, with all distances.

    Args:
        topology: the whole graph.
        failure: the failed links and routers.
        drain: the drained links and routers.
    """
    if drain.any_drained:
        return SurvivingGraph(topology, failure, _costs_of_paths(topology, failure, drain), drain)
    return SurvivingGraph(topology, failure, all_distances(_surviving_links(topology, failure)))


def cut_off_pairs(topology: Topology, failure: Failure) -> list[tuple[int, int]]:
    """Returns the ordered pairs of surviving routers without a surviving path between them.

    Args:
        topology: the whole graph.
        failure: the failed links and routers.
    """
    if not failure.any_failed:
        return []
    component = connected_components(topology, failure)
    alive = [r for r in range(topology.routers) if r not in failure.failed_routers]
    return [(a, b) for a in alive for b in alive if component[a] != component[b]]


def crossing_pairs(topology: Topology, failure: Failure) -> npt.NDArray[np.bool_]:
    """Returns the ordered pairs of surviving routers with a minimal path over a failed component.

    Args:
        topology: the whole graph.
        failure: the failed links and routers.

    Returns:
        bool, routers x routers: entry [s, d] is for packets from s to d; False if s or d has failed.
    """
    failed = np.zeros(topology.routers, bool)
    failed[list(failure.failed_routers)] = True
    crosses = np.zeros((topology.routers, topology.routers), bool)
    masks = [topology.minimal_port_mask(router) for router in range(topology.routers)]
    for router, mask in enumerate(masks):
        crosses[router] = mask[_among(topology, router, failure.failed_ports(router))].any(axis=0)
    # A path crosses the failure at its first link, or on its rest from the next router.
    for _ in range(topology.diameter - 1):
        onward = [
            (mask & crosses[topology.neighbours(router)]).any(axis=0) for router, mask in enumerate(masks)
        ]
        crosses |= np.array(onward)
    return crosses & ~failed[:, None] & ~failed


def _surviving_links(topology: Topology, failure: Failure) -> npt.NDArray[np.bool_]:
    """Returns, for every two routers, whether a link between them survives: bool, routers x routers."""
    alive = np.zeros((topology.routers, topology.routers), bool)
    for link in topology.link_list:
        if failure.failed_ends.isdisjoint(link.ends):
            alive[link.a, link.b] = alive[link.b, link.a] = True
    return alive


def _link_costs(topology: Topology, drain: Drain, router: int) -> npt.NDArray[np.float32]:
    """Returns the cost, in hops, of leaving a router on each of its links: float32, links x 1."""
    neighbours = topology.neighbours(router)
    costs = np.ones((len(neighbours), 1), np.float32)
    costs[np.isin(neighbours, sorted(drain.routers))] += _DRAINED_COST
    costs[_among(topology, router, drain.link_ports.get(router, ()))] += _DRAINED_COST
    return costs


def _among(topology: Topology, router: int, ports: Collection[int]) -> npt.NDArray[np.bool_]:
    """Returns, for each link of a router in order, whether its port is among the given ones."""
    return np.isin(topology.link_ports(router), [*ports])


def _costs_of_paths(topology: Topology, failure: Failure, drain: Drain) -> npt.NDArray[np.float32]:
    """Returns the hop costs of the cheapest paths: float32, routers x routers; infinite without a path."""
    distances = np.where(np.eye(topology.routers, dtype=bool), 0, np.inf).astype(np.float32)
    links = []
    for router in range(topology.routers):
        alive = ~_among(topology, router, failure.failed_ports(router))
        if alive.any():
            costs = _link_costs(topology, drain, router)
            links.append((router, topology.neighbours(router)[alive], costs[alive]))
    shorter = True
    while shorter:
        shorter = False
        for router, neighbours, costs in links:
            shorter_distances = np.minimum(distances[router], (distances[neighbours] + costs).min(axis=0))
            if (shorter_distances < distances[router]).any():
                distances[router] = shorter_distances
                shorter = True
    return distances
