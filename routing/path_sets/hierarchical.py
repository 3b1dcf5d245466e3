"""Hierarchical paths of dragonflies: at most one global link, with local hops before and after it.

Within a group, paths are the shortest paths of the group. Between groups, a packet goes to a router with a
link to the destination's group, over that link, and on to the destination. Shortest paths may also take two
global links without a local link in between; hierarchical paths do not.

Source: "Topological Characterization of Hamming and Dragonfly Networks and Its Implications on Routing"
(TACO 2014), section 7; Kim et al., "Technology-Driven, Highly-Scalable Dragonfly Topology" (ISCA 2008),
section 4.1.
"""

from __future__ import annotations

import numpy as np

from routing.path_sets.restricted import Lengths, PathSet, PortMask, RestrictedTopology
from routing.path_sets.three_levels import three_level_paths
from topology.base import Topology
from topology.errors import UsageError
from topology.families.dragonflies.dragonfly import Dragonfly
from topology.families.dragonflies.dragonfly3 import Dragonfly3
from topology.shortest_paths import all_distances

NAME = "hierarchical"
_FAR = np.int16(np.iinfo(np.int16).max // 4)


def hierarchical_paths(topology: Topology, own_links_first: bool = False) -> RestrictedTopology:
    """Returns a dragonfly restricted to its shortest hierarchical paths.

    Args:
        topology: a dragonfly of two levels, or of three unless `own_links_first`.
        own_links_first: whether routers with links to the destination's group use only those; otherwise they
            also send to neighbours whose link ends at the destination.

    Raises:
        UsageError: the topology is of another family.
    """
    if isinstance(topology, Dragonfly3) and not own_links_first:
        return three_level_paths(topology, _lengths(topology.supergroup))
    dragonfly = dragonfly_of(topology, NAME)
    lengths = _lengths(dragonfly)
    group_of = dragonfly.group_of

    def port_mask(router: int) -> PortMask:
        around = dragonfly.neighbours(router)
        groups = group_of[around][:, None]
        allowed = (groups == group_of[router]) | (groups == group_of[None, :])
        if own_links_first:
            beyond = (groups != group_of[router]) & (groups == group_of[None, :])
            allowed &= beyond | ~beyond.any(axis=0)
        return np.asarray(allowed & (lengths[around] < lengths[router]))

    return RestrictedTopology(dragonfly, lengths, port_mask)


def entry_routers(dragonfly: Dragonfly) -> list[list[int]]:
    """Returns, for each group, the routers of other groups at the far ends of its global links.

    Args:
        dragonfly: the dragonfly.

    Returns:
        One list for each group: routers, ascending.
    """
    entries: list[set[int]] = [set() for _ in range(int(dragonfly.group_of.max()) + 1)]
    for a, b in dragonfly.global_links.tolist():
        entries[dragonfly.group_of[a]].add(b)
        entries[dragonfly.group_of[b]].add(a)
    return list(map(sorted, entries))


def dragonfly_of(topology: Topology, routing: str) -> Dragonfly:
    """Returns a topology if it is a dragonfly.

    Args:
        topology: the topology.
        routing: the name of the routing that needs one, for error messages.

    Raises:
        UsageError: the topology is of another family.
    """
    if isinstance(topology, Dragonfly):
        return topology
    raise UsageError(
        f"topology for {routing} must be dragonfly, whose groups are joined by global links, got "
        f"{topology.name}; try min or up-down, which work on any graph"
    )


def _lengths(dragonfly: Dragonfly) -> Lengths:
    """Returns the hops of the hierarchical path between every two routers."""
    inside = _distances_inside_groups(dragonfly)
    members = [np.flatnonzero(dragonfly.group_of == group) for group in range(dragonfly.group_of.max() + 1)]
    lengths = inside.copy()
    for ends in dragonfly.global_links.tolist():
        for near, far in (ends, ends[::-1]):
            sources, destinations = members[dragonfly.group_of[near]], members[dragonfly.group_of[far]]
            block = np.ix_(sources, destinations)
            by_link = inside[sources, near][:, None] + 1 + inside[far, destinations][None, :]
            lengths[block] = np.minimum(lengths[block], by_link)
    return lengths


def _distances_inside_groups(dragonfly: Dragonfly) -> Lengths:
    """Returns the distances within groups; between groups, a number larger than any path."""
    linked = np.zeros((dragonfly.routers, dragonfly.routers), bool)
    linked[np.repeat(np.arange(dragonfly.routers), dragonfly.degrees), dragonfly.adjacency.neighbours] = True
    linked &= dragonfly.group_of[:, None] == dragonfly.group_of[None, :]
    found = all_distances(linked)
    return np.where(np.isinf(found), _FAR, found).astype(np.int16)


PATHS = PathSet(
    hierarchical_paths,
    "at most one global link, with local hops before and after (dragonfly, dragonfly3)",
    "Kim et al., ISCA 2008, section 4.1",
    families=("dragonfly", "dragonfly3"),
)
