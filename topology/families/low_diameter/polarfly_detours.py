"""Compact Valiant detours on ER_q, as seen by one router.

A packet from s to a destination that is not adjacent takes the minimal next hop n. Every neighbour of s other
than n is a valid compact Valiant intermediate, for every destination behind n, and needs no tag: the
neighbour's own minimal path does not return to s, because s is not adjacent to the destination. The detours
therefore depend on n alone.

For an adjacent destination n, the third vertex of the triangle over s and n is a detour of two hops (if
neither end is a quadric). Any other neighbour m is not adjacent to n, and its minimal path would return
through s; so the packet is tagged for a neighbour r of m that is not adjacent to s. From r the minimal path
leads to n: four hops.

Source: PolarFly (SC22), section VII-B; the four-hop detours complete it for adjacent pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from topology.base import Topology


@dataclass(frozen=True, slots=True)
class NearDetour:
    """A detour to an adjacent destination.

    Attributes:
        first_hop: the neighbour to which the packet goes first.
        intermediate: the router of the packet's tag; None for a detour without a tag.
    """

    first_hop: int
    intermediate: int | None


class RouterDetours:
    """For one router of a PolarFly, the detours that avoid its link to a given neighbour."""

    def __init__(self, graph: Topology, router: int) -> None:
        """Prepares the detours of a router.

        Args:
            graph: a PolarFly.
            router: the source of the packets.
        """
        self._graph = graph
        self._router = router
        self._neighbours: list[int] = graph.neighbours(router).tolist()
        self._through: dict[int, tuple[NearDetour, ...]] = {}
        self._splits: dict[int, tuple[list[int], list[int]]] = {}

    def far(self, next_hop: int) -> list[int]:
        """Returns the first hops of the three-hop detours to destinations that are not adjacent.

        Args:
            next_hop: the minimal next hop toward the destinations.

        Returns:
            All neighbours of the router other than the next hop, ascending.

        Source:
            PolarFly (SC22), section VII-B.
        """
        return [n for n in self._neighbours if n != next_hop]

    def near(self, neighbour: int) -> Iterator[tuple[NearDetour, ...]]:
        """Yields the detours to a neighbour of the router.

        Args:
            neighbour: the destination of the packets.

        Yields:
            One tuple of detours for each first hop: first the two-hop detour through the third vertex of the
            triangle, if there is one; then four-hop detours, ascending by first hop and intermediate. Calls
            for different neighbours yield the same tuple object for the same first hop.
        """
        third, apart = self.split(neighbour)
        for m in third:
            yield (NearDetour(m, None),)
        yield from filter(None, map(self.through, apart))

    def through(self, first_hop: int) -> tuple[NearDetour, ...]:
        """Returns the four-hop detours that have a given first hop.

        Args:
            first_hop: a neighbour of the router.

        Returns:
            One detour for each neighbour of `first_hop` that is not adjacent to the router, ascending.
        """
        if first_hop not in self._through:
            beyond = [r for r in self._graph.neighbours(first_hop).tolist() if r not in self._around]
            self._through[first_hop] = tuple(NearDetour(first_hop, r) for r in beyond)
        return self._through[first_hop]

    def split(self, neighbour: int) -> tuple[list[int], list[int]]:
        """Splits the router's other neighbours by whether they are adjacent to `neighbour`.

        Args:
            neighbour: one of the router's neighbours.

        Returns:
            (routers adjacent to `neighbour`, routers not adjacent to it), each ascending. The first list has
            at most one router, the third vertex of the triangle with the router and `neighbour`; it is empty
            if one of these two is a quadric.
        """
        if neighbour not in self._splits:
            third = self._thirds.get(neighbour)
            apart = [n for n in self._neighbours if n not in (neighbour, third)]
            self._splits[neighbour] = [] if third is None else [third], apart
        return self._splits[neighbour]

    @cached_property
    def _around(self) -> frozenset[int]:
        return frozenset((self._router, *self._neighbours))

    @cached_property
    def _thirds(self) -> dict[int, int]:
        """Neighbour -> third vertex of the triangle over the router and this neighbour, if there is one."""
        neighbours = self._graph.neighbours(self._router)
        adjacent = self._graph.distances(neighbours[:, None], neighbours[None, :]) == 1
        ends = (neighbours[places].tolist() for places in adjacent.nonzero())
        return dict(zip(*ends, strict=True))
