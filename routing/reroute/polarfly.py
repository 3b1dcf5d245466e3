"""Ways around a dead link or switch of ER_q, known in every switch beforehand.

For a router s that has lost its link to n:

- to a destination behind n, two hops away: by way of another neighbour m that is not adjacent to n. From m
  the minimal path leads neither through s, which is not adjacent to the destination, nor through n. Three
  hops in place of two.
- to n itself: by way of the third vertex of the triangle over s and n, two hops; where s or n is a quadric
  there is no triangle, and the detour of four hops with a tag (`topology.families.polarfly_detours`) is
  taken.
- with a tag that leads by way of n: the tag is exchanged for that of another neighbour m, not adjacent to
  n, and the packet goes on from there. It is not marked: it may meet the dead link once more.

Those to n do not help where n itself is dead, and need not. So every single link and every single switch
may fail; `polarlab verify --failures` walks them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from routing.plan.groups import GroupRole, RouterView, group_number, push_tag
from routing.plan.model import Bucket, SetField
from routing.plan.tables import tag_of
from routing.reroute.base import MARK, FastReroute, ProtectedGroups, by_port, failover_group
from topology.families.polarfly import PolarFly
from topology.families.polarfly_detours import near_detours, split_by_adjacency

# Ways around that a group knows: one is enough for any single failure, another for some of two.
_WAYS = 2
# 7 hops are unavoidable where a detour of four meets a dead link at a quadric.
MOST_HOPS = 3


def fast_reroute(view: RouterView) -> FastReroute:
    """Returns the ways around of one router of ER_q."""
    return FastReroute(_untagged(view), partial(_tagged, view))


def _untagged(view: RouterView) -> ProtectedGroups:
    groups = []
    port_to = dict(view.neighbour_ports())
    for neighbour, port, apart in _neighbours_apart(view):
        far = tuple(by_port(port_to[m], (MARK,)) for m in apart)
        near = _around_to(view, neighbour, port_to)
        groups += [
            failover_group(group_number(GroupRole.ONWARD_FAR, port), port, far),
            failover_group(group_number(GroupRole.ONWARD_NEAR, port), port, near),
        ]
    # A neighbour is reached as one only over its own link.
    toward = [
        group_number(GroupRole.ONWARD_NEAR if port == port_to.get(other) else GroupRole.ONWARD_FAR, port)
        for other, port in enumerate(view.first_ports)
    ]
    toward[view.router] = 0
    return ProtectedGroups(tuple(groups), tuple(toward), MOST_HOPS)


def _tagged(view: RouterView) -> ProtectedGroups:
    groups = []
    port_to = dict(view.neighbour_ports())
    for _, port, apart in _neighbours_apart(view):
        ways = tuple(by_port(port_to[m], (SetField("vlan_vid", tag_of(m)),)) for m in apart)
        groups.append(failover_group(group_number(GroupRole.TAGGED, port), port, ways))
    toward = [group_number(GroupRole.TAGGED, port) for port in view.first_ports]
    toward[view.router] = 0
    return ProtectedGroups(tuple(groups), tuple(toward), 0)


def _neighbours_apart(view: RouterView) -> Iterator[tuple[int, int, list[int]]]:
    """Yields every neighbour, its port, and some other neighbours that are not adjacent to it.

    The others begin behind it in order, so that the traffic of different dead links goes different ways.
    """
    for neighbour, port in view.neighbour_ports():
        _, apart = split_by_adjacency(_polarfly(view), view.router, neighbour)
        first = next((place for place, m in enumerate(apart) if m > neighbour), 0)
        yield neighbour, port, (apart[first:] + apart[:first])[:_WAYS]


def _polarfly(view: RouterView) -> PolarFly:
    assert isinstance(view.topology, PolarFly)
    return view.topology


def _around_to(view: RouterView, neighbour: int, port_to: Mapping[int, int]) -> tuple[Bucket, ...]:
    """Returns the ways around to a neighbour whose link is dead, by different first hops."""
    ways: dict[int, Bucket] = {}
    for detour in near_detours(_polarfly(view), view.router, neighbour):
        if detour.first_hop in ways:
            continue
        if len(ways) == _WAYS:
            break
        tag = () if detour.intermediate is None else push_tag(detour.intermediate)
        ways[detour.first_hop] = by_port(port_to[detour.first_hop], (MARK, *tag))
    return tuple(ways.values())
