"""A router as a routing sees it: where its ports lead, and how packets are told apart and sent on."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cached_property

from routing.plan.model import Actions, Match, PushVlan, SetField
from routing.plan.tables import tag_of
from topology.base import Topology

_PORT_BITS = 12


class GroupRole(enum.IntEnum):
    """What a group is for: the upper bits of its number, a port being the lower ones."""

    PORT = 0  # the port alone
    ONWARD_FAR = 1  # to destinations behind the port's neighbour, with ways around
    ONWARD_NEAR = 2  # to the neighbour itself, with ways around
    TAGGED = 3  # with a tag that leads by the port, with ways around
    CHOICE_FAR = 4  # a routing's choice for destinations behind the port's neighbour
    CHOICE_NEAR = 5  # a routing's choice for the neighbour itself
    CHOICE_ANY = 6  # a routing's choice for all destinations
    CHOICE_BY_DISTANCE = 8  # a routing's choices for destinations at one distance, one after another
    PROTECTED = 1 << 16  # by some ports with some ways around, one after another


def group_number(block: GroupRole, port: int = 0) -> int:
    """Returns the number of the group for something at a port, or of a block's so many-th group."""
    return (block << _PORT_BITS) + port


@dataclass(frozen=True)
class RouterView:
    """A router as a routing sees it.

    Attributes:
        topology: the fabric's graph.
        router: which router.
        minimal_ports: the ports by which minimal routes to each router begin, in router order.
        matches: the match of packets for each router's hosts, in router order.
    """

    topology: Topology
    router: int
    minimal_ports: tuple[tuple[int, ...], ...]
    matches: tuple[Match, ...]

    @cached_property
    def first_ports(self) -> tuple[int, ...]:
        """The first of these ports, toward each router's minimal next hop."""
        return tuple(ports[0] if ports else 0 for ports in self.minimal_ports)

    def others(self) -> list[int]:
        """Returns all routers but this one."""
        return [other for other in range(self.topology.routers) if other != self.router]

    def neighbour_ports(self) -> list[tuple[int, int]]:
        """Returns (neighbour, port of the link to it) for every neighbour, dead links included."""
        neighbours = self.topology.neighbours(self.router).tolist()
        return [(neighbour, port) for port, neighbour in enumerate(neighbours, start=1)]


def push_tag(intermediate: int) -> Actions:
    """Returns the actions that tag an untagged packet, to go by way of a router first."""
    return (PushVlan(), SetField("vlan_vid", tag_of(intermediate)))
