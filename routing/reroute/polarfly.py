"""Fast reroute of ER_q: closed-form alternates for every single link and every single switch.

For a router s that has lost its link to n, the alternates are

- to a destination behind n, at distance two: through another neighbour m that is not adjacent to n. From m
  the minimal path leads neither through s, which is not adjacent to the destination, nor through n. Three
  hops instead of two.
- to n itself: through the third vertex of the triangle over s and n, two hops. If s or n is a quadric,
  there is no triangle, and the tagged detour of four hops is used
  (`topology.families.low_diameter.polarfly_detours`).
- for a packet whose tag leads through n: the tag is replaced by that of another neighbour m, not adjacent to
  n, and the packet continues from there. It is not marked: it may meet the dead link once more.

The alternates to n itself do not help if switch n is dead, and need not. `polarlab verify --failures` checks
all single failures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice

import numpy as np
import numpy.typing as npt

from routing.plan.groups import GroupRole, RouterView, group_number
from routing.plan.model import Bucket
from routing.reroute.base import FastReroute, ProtectedGroups, alternate_bucket, failover_group
from topology.families.low_diameter.polarfly_detours import RouterDetours

# One alternate suffices for any single failure; a second one helps with some double failures.
_MAX_ALTERNATES = 2
# Four hops instead of one, if the dead link has a quadric end.
_MAX_EXTRA_HOPS = 3


def fast_reroute(view: RouterView) -> FastReroute:
    """Returns the protected groups of one router of ER_q.

    Args:
        view: the router's ports and matches; its topology is a PolarFly.

    Returns:
        Groups numbered by port, with the roles ONWARD_FAR, ONWARD_NEAR and TAGGED.
    """
    detours = RouterDetours(view.topology, view.router)
    return FastReroute(_untagged(view, detours), partial(_tagged, view, detours))


def _untagged(view: RouterView, detours: RouterDetours) -> ProtectedGroups:
    groups = []
    port_to = dict(view.neighbour_ports())
    for neighbour, port, apart in _neighbours_apart(view, detours):
        far = tuple([alternate_bucket(port_to[m], mark=True) for m in apart])
        near = _near_alternates(detours, neighbour, port_to)
        groups += [
            failover_group(group_number(GroupRole.ONWARD_FAR, port), port, far),
            failover_group(group_number(GroupRole.ONWARD_NEAR, port), port, near),
        ]
    roles = np.full(view.topology.routers, group_number(GroupRole.ONWARD_FAR))
    roles[view.topology.neighbours(view.router)] = group_number(GroupRole.ONWARD_NEAR)
    return ProtectedGroups(tuple(groups), _by_port(view, roles), _MAX_EXTRA_HOPS)


def _tagged(view: RouterView, detours: RouterDetours) -> ProtectedGroups:
    groups = []
    port_to = dict(view.neighbour_ports())
    for _, port, apart in _neighbours_apart(view, detours):
        exchanges = tuple([alternate_bucket(port_to[m], tag=m) for m in apart])
        groups.append(failover_group(group_number(GroupRole.TAGGED, port), port, exchanges))
    return ProtectedGroups(tuple(groups), _by_port(view, group_number(GroupRole.TAGGED)), 0)


def _by_port(view: RouterView, roles: npt.ArrayLike) -> tuple[int, ...]:
    """Returns the number of the group toward each router, by the first minimal port; 0 for `view.router`.

    Args:
        view: the router's ports and matches.
        roles: the number of the role's group for port 0, one for each router or one for all.
    """
    numbers = np.array(view.first_ports) + roles
    numbers[view.router] = 0
    return tuple(numbers.tolist())


def _neighbours_apart(view: RouterView, detours: RouterDetours) -> Iterator[tuple[int, int, list[int]]]:
    """Yields every neighbour, its port, and some other neighbours that are not adjacent to it.

    The others follow the neighbour in cyclic order, so that alternates around different links differ.
    """
    for neighbour, port in view.neighbour_ports():
        _, apart = detours.split(neighbour)
        first = next((place for place, m in enumerate(apart) if m > neighbour), 0)
        yield neighbour, port, (apart[first:] + apart[:first])[:_MAX_ALTERNATES]


def _near_alternates(
    detours: RouterDetours, neighbour: int, port_to: Mapping[int, int]
) -> tuple[Bucket, ...]:
    """Returns the alternates to a neighbour while the link to it is dead, with different first hops."""
    buckets = []
    for first, *_ in islice(detours.near(neighbour), _MAX_ALTERNATES):
        buckets.append(alternate_bucket(port_to[first.first_hop], mark=True, tag=first.intermediate))
    return tuple(buckets)
