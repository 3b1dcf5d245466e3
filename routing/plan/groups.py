"""Group numbers, and the ports and matches of one router from which a routing builds its rules and groups."""

from __future__ import annotations

import enum
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from routing.plan.columns import distinct_buckets
from routing.plan.model import Actions, Group, Match, PushVlan, SetField
from routing.plan.port_sets import PortSets, port_sets
from routing.plan.tables import router_of_tag, tag_of
from topology.base import Topology
from topology.ports import MAX_LINK_PORT

_PORT_BITS = MAX_LINK_PORT.bit_length()
_DIGEST_MASK = (1 << 29) - 1


class GroupRole(enum.IntEnum):
    """The purpose of a group: the upper bits of its number. The lower ones are a port or sequence number.

    Examples:
        A routing numbers its own groups by a role of its own:

        >>> from enum import IntEnum
        >>> class Role(IntEnum):
        ...     TO_ROUTER = GroupRole.OWN
        >>> group_number(Role.TO_ROUTER, 5)
        4194309
    """

    PORT = 0  # output to the port, without any alternate
    ONWARD_FAR = 1  # to destinations behind the port's neighbour, with alternates
    ONWARD_NEAR = 2  # to the port's neighbour itself, with alternates
    TAGGED = 3  # packets whose tag leads to this port, with alternates
    CHOICE_FAR = 4  # a routing's choice of path to destinations behind the port's neighbour
    CHOICE_NEAR = 5  # a routing's choice of path to the port's neighbour itself
    CHOICE_ANY = 6  # a routing's choice of path to all destinations
    CHOICE_BY_DISTANCE = 8  # a routing's choices of path to destinations at one distance, in sequence
    CHOICE_BY_COLOUR = 9  # a routing's choices of detour to destinations of one colour, in sequence
    FIRST_UNTAGGED = 10  # first hops that only packets of the router's own hosts take, in sequence
    FIRST_TAGGED = 11  # the same for packets that get a tag
    OWN = 1 << 10  # the first of the roles, up to AFTER_TAG, that a routing may define
    AFTER_TAG = 1 << 15  # sets of ports for packets whose tag has been popped, in sequence
    PROTECTED = 1 << 16  # a set of minimal ports with a set of alternates, in sequence
    SHARED = 1 << 17  # a set of minimal ports while others are drained, by a digest of the set


def group_number(role: int, port: int = 0) -> int:
    """Returns the number of a group on its switch.

    Args:
        role: the purpose of the group: a GroupRole, or a number from GroupRole.OWN on.
        port: the port that the group is for, 1 to 4095; or its sequence number, from 0, for roles that number
            their groups in sequence.

    Returns:
        The OpenFlow group id, unique on the switch.

    Examples:
        >>> group_number(GroupRole.PORT, 5), group_number(GroupRole.TAGGED, 5)
        (5, 12293)
    """
    return (role << _PORT_BITS) + port


def shared_group_number(ports: Iterable[int]) -> int:
    """Returns the number of the group that divides packets evenly among some ports.

    It depends only on the ports, so a group with this number has the same buckets in all plans and never
    changes while rules use it.

    Args:
        ports: the ports, 1 to 4095.

    Returns:
        The OpenFlow group id, one of 2^29: a hash of the set of ports.
    """
    return group_number(GroupRole.SHARED) + (zlib.crc32(repr(sorted(ports)).encode()) & _DIGEST_MASK)


@dataclass(frozen=True)
class RouterView:
    """One router's ports toward all other routers, and the matches for their hosts.

    Attributes:
        topology: the fabric's graph.
        router: the router, 0 .. N - 1.
        matches: for each router of the fabric, in router order, the match for packets to its hosts.

    Examples:
        >>> view = RouterView(make_topology("polarfly", {"q": 2}), 2, matches=())
        >>> view.others(), view.neighbour_ports()
        ([0, 1, 3, 4, 5, 6], [(3, 1), (6, 2)])
        >>> view.first_ports
        (2, 1, 0, 1, 2, 1, 2)
    """

    topology: Topology
    router: int
    matches: tuple[Match, ...]

    @cached_property
    def port_sets(self) -> PortSets:
        """The ports on which minimal paths to each router of the fabric start."""
        return port_sets(self.topology, self.router)

    @cached_property
    def minimal_ports(self) -> tuple[tuple[int, ...], ...]:
        """For each router, in router order, the ports on which minimal paths to it start; () for itself."""
        return tuple(map(self.port_sets.sets().__getitem__, self.port_sets.codes.tolist()))

    @cached_property
    def first_ports(self) -> tuple[int, ...]:
        """The first minimal port toward each router, in router order; 0 for the router itself."""
        return tuple(self.port_sets.first_ports().tolist())

    def others(self) -> list[int]:
        """Returns all routers but this one, ascending."""
        return [other for other in range(self.topology.routers) if other != self.router]

    def neighbour_ports(self) -> list[tuple[int, int]]:
        """Returns (neighbour, port of the link to it) for every link, ascending by neighbour."""
        neighbours = self.topology.neighbours(self.router).tolist()
        return list(zip(neighbours, self.topology.link_ports(self.router).tolist(), strict=True))


def push_tag(intermediate: int) -> Actions:
    """Returns the actions that tag an untagged packet for an intermediate router.

    Args:
        intermediate: the router that the packet visits before its destination.

    Examples:
        >>> push_tag(4)
        (PushVlan(), SetField(field='vlan_vid', value=4101))
    """
    return (PushVlan(), SetField("vlan_vid", tag_of(intermediate)))


def pushed_tags(*groups: Sequence[Group]) -> Iterator[int]:
    """Yields the intermediate router of every tag that buckets or candidates of the groups push.

    Args:
        *groups: groups of one or several switches.

    Yields:
        Router indices, repeated if several buckets push the same tag.
    """
    buckets = distinct_buckets(groups)
    for actions in {id(bucket.actions): bucket.actions for bucket in buckets}.values():
        yield from tags_pushed_by(actions)


def tags_pushed_by(actions: Actions) -> list[int]:
    """Returns the routers named by the tags that a list of actions pushes.

    Args:
        actions: the actions of a bucket.
    """
    if PushVlan() not in actions:
        return []
    return [
        router_of_tag(action.value)
        for action in actions
        if isinstance(action, SetField) and action.field == "vlan_vid"
    ]
