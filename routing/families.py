"""Topology families with their own fast reroute or detours: one registry line for each, by family name.

A family without an entry in `REROUTES` gets loop-free alternates, which are found by search in any graph. A
family without an entry in `DETOURS` cannot use the routings that need them (compact Valiant and UGAL_PF).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from routing.reroute.base import RerouteMaker
from topology.base import Topology
from topology.errors import UsageError
from topology.families.low_diameter.polarfly_detours import NearDetour, RouterDetours
from topology.plugins import Places


class DetoursOfRouter(Protocol):
    """The detours of one router: for each neighbour, the detours that avoid the link to that neighbour."""

    def far(self, next_hop: int, /) -> Sequence[int]:
        """Returns the first hops of untagged detours to the routers behind a minimal next hop."""

    def near(self, neighbour: int, /) -> Iterable[tuple[NearDetour, ...]]:
        """Returns the detours to a neighbour: for each first hop, a tuple of detours that start with it."""


@dataclass(frozen=True)
class FamilyDetours:
    """For each link of a router, the detours that avoid it, for all destinations behind the link.

    Such detours need a fast reroute with one set of groups per port (GroupRole ONWARD_FAR, ONWARD_NEAR and
    TAGGED).

    Attributes:
        of_router: (topology, router) -> the router's detours.
        max_hops: entry d is the maximum number of hops of a detour between routers at distance d, for d from
            0 to the diameter.
    """

    of_router: Callable[[Topology, int], DetoursOfRouter]
    max_hops: tuple[int, ...]


# Family -> function that builds the fast reroute of a router.
REROUTES = Places[RerouteMaker]({"polarfly": "routing.reroute.polarfly:fast_reroute"})

# Family -> its detours.
DETOURS: Mapping[str, FamilyDetours] = {
    "polarfly": FamilyDetours(RouterDetours, max_hops=(0, 4, 3)),
}

# Graphs, by their `geometry`, whose detours are searched (`topology.families.low_diameter.expanded_detours`);
# entry d is the maximum number of hops of a detour between routers at distance d.
SEARCHED_DETOURS: Mapping[str, tuple[int, ...]] = {"expanded polarfly": (0, 4, 3, 4)}

# Routing that needs the detours of a family -> an alternative for any graph.
_ANY_GRAPH: Mapping[str, str] = {"ugal-pf": "ugal, which adapts on any graph"}


def reroute_maker(topology: Topology) -> RerouteMaker:
    """Returns the function that builds the fast reroute of each router of a topology.

    Args:
        topology: any connected topology; entries are found by its `geometry`.
    """
    if topology.geometry in REROUTES:
        return REROUTES[topology.geometry]
    from routing.reroute.loop_free_alternates import AlternateSearch

    return AlternateSearch(topology).fast_reroute


def detours_of(topology: Topology, routing: str) -> FamilyDetours:
    """Returns the detours of a topology's family.

    Args:
        topology: the topology; entries are found by its `geometry`.
        routing: the name of the routing that needs them, for error messages.

    Raises:
        UsageError: the family has no entry in `DETOURS`.
    """
    if topology.geometry not in DETOURS:
        families = " or ".join(sorted(DETOURS))
        other = _ANY_GRAPH.get(routing.partition(":")[0], "valiant, which works on any graph")
        raise UsageError(f"topology for {routing} must be {families}, got {topology.geometry}; try {other}")
    return DETOURS[topology.geometry]
