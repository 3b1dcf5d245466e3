"""Minimal routes in what failures leave of a fabric.

Routes that are still shortest stay as the topology's formula has them, so that few rules differ from the
unbroken plan's.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from controller.failures import Failure
from topology.graph import Topology


def remaining_next_hops(topology: Topology, failure: Failure) -> npt.NDArray[np.int32]:
    """Returns the next hop of every ordered pair of routers over what a failure leaves.

    Returns:
        int32, routers x routers: row s, column d. Where a failure leaves no path, and on the diagonal, it is
        as without failures.
    """
    next_hops = topology.all_next_hops().astype(np.int32)
    if not failure.breaks_something:
        return next_hops
    alive = _alive_links(topology, failure)
    distances = _distances(alive)
    everyone = np.arange(topology.routers)
    kept = alive[everyone[:, None], next_hops] & (distances[next_hops, everyone] + 1 == distances)
    wanting = ~kept & np.isfinite(distances) & (distances > 0)
    for router in np.flatnonzero(wanting.any(axis=1)).tolist():
        around = topology.neighbours(router)
        # Nearer to the destination, and over a link that lives; the first of these.
        nearer = alive[router, around][:, None] & (distances[around] + 1 == distances[router])
        chosen = around[nearer.argmax(axis=0)]
        next_hops[router, wanting[router]] = chosen[wanting[router]]
    return next_hops


def remaining_distances(topology: Topology, failure: Failure) -> npt.NDArray[np.float64]:
    """Returns the distance of every ordered pair over what a failure leaves; infinite without a path."""
    return _distances(_alive_links(topology, failure))


def displaced_routes(
    topology: Topology, failure: Failure, next_hops: npt.NDArray[np.int32]
) -> npt.NDArray[np.bool_]:
    """Returns for which ordered pairs a failure has changed next hop or distance, where it leaves a path."""
    if not failure.breaks_something:
        return np.zeros((topology.routers, topology.routers), bool)
    everyone = np.arange(topology.routers)
    before = topology.distances(everyone[:, None], everyone[None, :])
    now = remaining_distances(topology, failure)
    changed = (now != before) | (next_hops != topology.all_next_hops())
    return np.asarray(np.isfinite(now) & changed)


def crossing_pairs(topology: Topology, failure: Failure) -> npt.NDArray[np.bool_]:
    """Returns for which ordered pairs the minimal path crosses what has failed, and is not to or from it.

    Returns:
        bool, routers x routers: row s, column d.
    """
    next_hops = topology.all_next_hops()
    dead = np.zeros(topology.routers, bool)
    dead[list(failure.dead_routers)] = True
    alive = _alive_links(topology, failure)
    everyone = np.arange(topology.routers)
    crosses = np.zeros_like(alive)
    at = np.repeat(everyone[:, None], topology.routers, axis=1)
    for _ in range(topology.diameter):
        onward = next_hops[at, everyone]
        crosses |= ~alive[at, onward] & (at != everyone)
        at = np.where(at == everyone, at, onward)
    return crosses & ~dead[:, None] & ~dead


def _alive_links(topology: Topology, failure: Failure) -> npt.NDArray[np.bool_]:
    alive = np.zeros((topology.routers, topology.routers), bool)
    for link in topology.link_list:
        if (link.a, link.port_a) not in failure.dead_ends and (link.b, link.port_b) not in failure.dead_ends:
            alive[link.a, link.b] = alive[link.b, link.a] = True
    return alive


def _distances(alive: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    routers = len(alive)
    distances = np.where(np.eye(routers, dtype=bool), 0.0, np.inf)
    reached = np.eye(routers, dtype=bool)
    links = alive.astype(np.float32)
    hops = 0
    while True:
        hops += 1
        new = (reached.astype(np.float32) @ links > 0) & ~reached
        if not new.any():
            return distances
        distances[new] = hops
        reached |= new
