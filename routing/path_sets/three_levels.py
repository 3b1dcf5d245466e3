"""Hierarchical paths of three-level dragonflies: at most one link between supergroups.

Within a supergroup, paths are the hierarchical ones of a dragonfly of two levels. Between supergroups, a
packet leaves its group only if no router of the group has a link to the destination's supergroup; then it
goes to a group that has one. With l for local links, m for links between groups and g for links between
supergroups, all paths are of the form lmlglml, where each hop may be missing.

Source: Camarero, Vallejo, Beivide, "Topological Characterization of Hamming and Dragonfly Networks and Its
Implications on Routing" (TACO 2014), section 8.
"""

from __future__ import annotations

import numpy as np

from routing.path_sets.restricted import Lengths, PortMask, RestrictedTopology
from topology.families.dragonflies.dragonfly3 import Dragonfly3

_FAR = np.int16(np.iinfo(np.int16).max // 4)


def three_level_paths(dragonfly: Dragonfly3, inside: Lengths) -> RestrictedTopology:
    """Returns a three-level dragonfly restricted to its shortest hierarchical paths.

    Args:
        dragonfly: the dragonfly.
        inside: int16 array: hops of the hierarchical path between every two routers of a supergroup.
    """
    lengths, linked = _lengths(dragonfly, inside)
    group_of, supergroup_of = dragonfly.group_of, dragonfly.supergroup_of

    def port_mask(router: int) -> PortMask:
        around = dragonfly.neighbours(router)
        group, supergroup = group_of[around][:, None], supergroup_of[around][:, None]
        within = supergroup_of == supergroup_of[router]
        to_group = within & (supergroup == supergroup_of[router]) & (group == group_of)
        leaves = ~within & ~linked[group_of[router], supergroup_of]
        to_linked = leaves & (supergroup == supergroup_of[router]) & linked[group, supergroup_of]
        across = ~within & (supergroup == supergroup_of)
        allowed = (group == group_of[router]) | to_group | to_linked | across
        return np.asarray(allowed & (lengths[around] < lengths[router]))

    return RestrictedTopology(dragonfly, lengths, port_mask, dragonfly.distance_table)


def _lengths(dragonfly: Dragonfly3, inside: Lengths) -> tuple[Lengths, PortMask]:
    """Returns the hops of all hierarchical paths, and whether groups have links to supergroups.

    Args:
        dragonfly: the dragonfly.
        inside: int16 array: hops within a supergroup.

    Returns:
        The hops, int16 array, N x N; and bool array, groups x supergroups.
    """
    size, a, count = dragonfly.supergroup.routers, dragonfly.supergroup.a, dragonfly.trunking.groups
    near, far = dragonfly.supergroup.global_links.T
    near, far = np.concatenate([near, far]), np.concatenate([far, near])
    lengths = np.full((dragonfly.routers, dragonfly.routers), _FAR, np.int16)
    linked = np.zeros((dragonfly.routers // a, count), bool)
    for source in range(count):
        own = slice(source * size, (source + 1) * size)
        lengths[own, own] = inside
        for target in range(count):
            if target == source:
                continue
            gateways = dragonfly.gateways[source, target] - source * size
            entries = dragonfly.gateways[target, source] - target * size
            straight = np.full((size, size), _FAR, np.int16)
            np.minimum.at(straight, gateways, 1 + inside[entries])
            in_group = _by_local_hop(straight, a)
            has_link = np.zeros(size // a, bool)
            has_link[gateways // a] = True
            linked[source * (size // a) : (source + 1) * (size // a), target] = has_link
            to_linked = np.full((size, size), _FAR, np.int16)
            leads = has_link[far // a]
            np.minimum.at(to_linked, near[leads], 1 + in_group[far[leads]])
            found = np.where(np.repeat(has_link, a)[:, None], in_group, _by_local_hop(to_linked, a))
            lengths[own, target * size : (target + 1) * size] = found
    return lengths, linked


def _by_local_hop(straight: Lengths, a: int) -> Lengths:
    """Returns the fewest hops of a router itself, or of another router of its group after one local hop.

    Args:
        straight: int16 array, routers x destinations: hops without a local hop at first.
        a: the number of routers of a group.
    """
    nearest = straight.reshape(-1, a, straight.shape[1]).min(axis=1)
    return np.minimum(straight, np.repeat(nearest, a, axis=0) + np.int16(1))
