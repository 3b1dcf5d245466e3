"""Compact Valiant detours on ER_q, from the point of view of one router.

A packet from s whose destination is not adjacent takes the minimal next hop n. Every neighbour of s other
than n is a valid compact Valiant intermediate for it, for every destination behind n, and no tag is needed:
the neighbour's own minimal path does not come back, for s is not adjacent to the destination. So the detours
depend on n alone.

To an adjacent destination n the third vertex of the triangle over s and n is a detour of two hops (where
neither end is a quadric). Any other neighbour m is not adjacent to n, and its minimal path would come back
through s; so the packet is tagged for a neighbour r of m that is not adjacent to s. From r the minimal
path leads on to n: four hops.

Source: PolarFly (SC22), section V-B; the four-hop detours complete it for adjacent pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from topology.base import Topology


@dataclass(frozen=True)
class NearDetour:
    """A detour to an adjacent destination.

    Attributes:
        first_hop: the neighbour to which the packet goes first.
        intermediate: the router whose tag the packet carries; None for a detour that needs no tag.
    """

    first_hop: int
    intermediate: int | None


def far_detours(graph: Topology, router: int, next_hop: int) -> list[int]:
    """Returns the first hops of the three-hop detours to destinations that are not adjacent.

    Args:
        graph: a PolarFly.
        router: the source of the packets.
        next_hop: the minimal next hop toward the destinations.

    Returns:
        All neighbours of the router other than the next hop, ascending.

    Source:
        PolarFly (SC22), section V-B.
    """
    return [n for n in graph.neighbours(router).tolist() if n != next_hop]


def near_detours(graph: Topology, router: int, neighbour: int) -> Iterator[NearDetour]:
    """Yields the detours from a router to one of its neighbours.

    Args:
        graph: a PolarFly.
        router: the source of the packets.
        neighbour: their destination, adjacent to the router.

    Yields:
        The detour of two hops through the third vertex of the triangle, if there is one; then those of four
        hops, ascending by first hop and intermediate.
    """
    third, apart = split_by_adjacency(graph, router, neighbour)
    for m in third:
        yield NearDetour(m, None)
    around = {router, *graph.neighbours(router).tolist()}
    for m in apart:
        for r in graph.neighbours(m).tolist():
            if r not in around:
                yield NearDetour(m, r)


def split_by_adjacency(graph: Topology, router: int, neighbour: int) -> tuple[list[int], list[int]]:
    """Returns a router's other neighbours in two lists, by their adjacency to one of its neighbours.

    Args:
        graph: a PolarFly.
        router: the index of the router.
        neighbour: one of its neighbours.

    Returns:
        (adjacent to the neighbour, not adjacent to it), each ascending. The first list holds the third vertex
        of the triangle over both; it is empty where one of them is a quadric.
    """
    others = graph.neighbours(router)
    others = others[others != neighbour]
    adjacent = graph.distances(others, neighbour) == 1
    return others[adjacent].tolist(), others[~adjacent].tolist()
