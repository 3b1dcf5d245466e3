"""Compact Valiant detours on an expanded PolarFly, as seen by one router, found by distances alone.

A packet from s to d starts its detour at a neighbour m of s that is as far from d as s. Neighbours that are
nearer to d are on shortest paths, and from farther ones a shortest path may lead back through s. In ER_q, all
neighbours but the minimal next hop are as far from d as s if d is not adjacent, and the third vertex of a
triangle is if d is adjacent, so these are the detours of `polarfly_detours`.

An adjacent destination n also has detours of four hops through routers r that are two hops from both s and n.
No common neighbour of s and n may be adjacent to r, because paths to and from r could then both lead through
it.

Source: PolarFly (SC22), section VII-B, applied to the graphs of section VI; the four-hop detours complete it
for adjacent pairs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from topology.base import Topology


class ExpandedDetours:
    """For one router of a graph, detours to every destination."""

    def __init__(self, graph: Topology, router: int) -> None:
        """Prepares the detours of a router.

        Args:
            graph: the graph.
            router: the source of the packets.
        """
        self._graph = graph
        self._everyone = np.arange(graph.routers)
        self._neighbours = graph.neighbours(router)
        self._away = graph.distances(router, self._everyone)
        self._from_neighbours = graph.distances(self._neighbours[:, None], self._everyone)

    def first_hops(self, destination: int) -> list[int]:
        """Returns the neighbours through which detours lead that have one hop more than shortest paths.

        Args:
            destination: another router.

        Returns:
            The neighbours that are as far from the destination as the router itself, ascending.
        """
        equal = self._from_neighbours[:, destination] == self._away[destination]
        return list(self._neighbours[equal].tolist())

    def intermediates(self, neighbour: int) -> list[int]:
        """Returns the routers through which detours of four hops lead to a neighbour.

        Args:
            neighbour: one of the router's neighbours.

        Returns:
            Routers at distance two from both, ascending.
        """
        onward: npt.NDArray[np.int16] = self._graph.distances(neighbour, self._everyone)
        common = self._from_neighbours[self._from_neighbours[:, neighbour] == 1]
        fit = (self._away == 2) & (onward == 2) & ~(common == 1).any(axis=0)
        return list(np.flatnonzero(fit).tolist())
