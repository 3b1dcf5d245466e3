"""Topology families with a fast reroute or detours of their own: one registry line each, by family name.

A family without an entry in `REROUTES` gets loop-free alternates, which are searched for in any graph. A
family without an entry in `DETOURS` cannot be routed by the routings that need them (compact Valiant and
UGAL_PF).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from routing.reroute import polarfly
from routing.reroute.base import RerouteMaker
from routing.reroute.loop_free_alternates import AlternateSearch
from topology.base import Topology
from topology.errors import UsageError
from topology.families.low_diameter.polarfly_detours import NearDetour, RouterDetours


class DetoursOfRouter(Protocol):
    """The detours of one router around the link to each of its neighbours."""

    def far(self, next_hop: int, /) -> Sequence[int]:
        """Returns the neighbours by which packets to any destination behind the next hop may go untagged."""

    def near(self, neighbour: int, /) -> Iterable[tuple[NearDetour, ...]]:
        """Returns the detours to a neighbour, in a tuple for each first hop."""


@dataclass(frozen=True)
class FamilyDetours:
    """The detours around the links of a router, which are the same for all destinations behind a link.

    They need a fast reroute with groups per port (GroupRole ONWARD_FAR, ONWARD_NEAR and TAGGED).

    Attributes:
        of_router: (topology, router) -> the router's detours.
        max_hops: the most hops of a detour, by the distance of the pair from 0 to the diameter.
    """

    of_router: Callable[[Topology, int], DetoursOfRouter]
    max_hops: tuple[int, ...]


# Family -> maker of its routers' fast reroute.
REROUTES: Mapping[str, RerouteMaker] = {
    "polarfly": polarfly.fast_reroute,
}

# Family -> its detours.
DETOURS: Mapping[str, FamilyDetours] = {
    "polarfly": FamilyDetours(RouterDetours, max_hops=(0, 4, 3)),
}


# Routings that need the detours of a family -> what does the same on any graph.
_ANY_GRAPH: Mapping[str, str] = {"ugal-pf": "ugal, which adapts on any graph"}


def reroute_maker(topology: Topology) -> RerouteMaker:
    """Returns the function that makes the fast reroute of each router of a topology.

    Args:
        topology: any connected topology; entries are found by its `geometry`.
    """
    if topology.geometry in REROUTES:
        return REROUTES[topology.geometry]
    return AlternateSearch(topology).fast_reroute


def detours_of(topology: Topology, routing: str) -> FamilyDetours:
    """Returns the detours of a topology's family.

    Args:
        topology: the topology; entries are found by its `geometry`.
        routing: the name of the routing that needs them, for the error message.

    Raises:
        UsageError: the family has no entry in `DETOURS`.
    """
    if topology.geometry not in DETOURS:
        families = " or ".join(sorted(DETOURS))
        other = _ANY_GRAPH.get(routing.partition(":")[0], "valiant, which works on any graph")
        raise UsageError(
            f"the topology of {routing} must be {families}, got {topology.geometry}; try {other}"
        )
    return DETOURS[topology.geometry]
