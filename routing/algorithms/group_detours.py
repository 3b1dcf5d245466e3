"""Detours via another group of a dragonfly, for Valiant routing and UGAL by group.

A packet's intermediate router is at the far end of a link from the source's group to another group. If
groups are complete, that router is at most two hops away, so a detour has one local hop less than a detour
via a random router.

Source: Kim et al., "Technology-Driven, Highly-Scalable Dragonfly Topology" (ISCA 2008), section 4.1, whose
Valiant routing is by group; Garcia et al., "OFAR: On-the-Fly Adaptive Routing in High-Radix Networks"
(ICPP 2012), section III, on the local links that such routing overloads under adv:h.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from routing.compiler import HopBound
from routing.path_sets.hierarchical import dragonfly_of, entry_routers, hierarchical_paths
from routing.path_sets.restricted import Lengths
from routing.plan.groups import RouterView
from topology.base import Topology

# Router's view -> the routers that its packets may visit on a detour.
Intermediates = Callable[[RouterView], Sequence[int]]


def group_detours(topology: Topology, routing: str) -> tuple[Topology, HopBound, Intermediates]:
    """Returns the paths, the hop bound and the intermediate routers for detours via another group.

    Args:
        topology: a dragonfly.
        routing: the name of the routing, for error messages.

    Returns:
        The dragonfly restricted to its hierarchical paths; the maximum number of hops of packets that visit
        another group; the intermediate routers of each router.

    Raises:
        UsageError: the topology is of another family.
    """
    dragonfly = dragonfly_of(topology, routing)
    paths, entries = hierarchical_paths(dragonfly), entry_routers(dragonfly)
    everyone = np.arange(dragonfly.routers)
    to_entry = max(
        int(paths.distances(everyone[dragonfly.group_of == group][:, None], np.array(own)).max())
        for group, own in enumerate(entries)
    )
    longest = to_entry + paths.diameter

    def bound(distances: Lengths) -> Lengths:
        return np.where(distances == 0, 0, longest).astype(np.int16)

    def intermediates(view: RouterView) -> Sequence[int]:
        return entries[int(dragonfly.group_of[view.router])]

    return paths, bound, intermediates
