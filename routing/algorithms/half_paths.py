"""Detours of four colours as the paper gives them: a first half, a middle router of one class, a second half.

Minimal paths of four-color use the first or the second half of the order of links
(`routing.path_sets.coloured`). A detour consists of both: a minimal path of the first half to a middle router
in a third group, and a minimal path of the second half on to the destination. Source and destination
determine the class of the middle router; a class contains a fourth of all routers. In the labels of that
module, for a source xP and a destination whose gateways in the second half are eB, the class is (1-x)A if
e = x, else xB.

Source: Camarero, Vallejo, Beivide, "Topological Characterization of Hamming and Dragonfly Networks and Its
Implications on Routing" (TACO 2014), section 6.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from routing.algorithms.colour_detours import Span
from routing.algorithms.first_hops import Gateways
from routing.path_sets.coloured import ColouredDragonfly
from routing.path_sets.restricted import Lengths

# A dragonfly with more groups is divided into parts of _PART groups; all destinations of a part share their
# middle routers, which lie outside of it.
_MAX_GROUPS = 16
_PART = 3


@dataclass(frozen=True)
class HalfPaths:
    """The middle routers that sources may choose, and the gateways to which these routers send packets.

    Attributes:
        coloured: a dragonfly with four colours under the paper's rule.
        distances: int16 array, N x N: hops of the minimal path for every [source, destination].
    """

    coloured: ColouredDragonfly
    distances: Lengths

    def span(self, destination: int) -> Span:
        """Returns the set of destinations that share their middle routers with a destination.

        Args:
            destination: the destination.

        Returns:
            The index of the destination's set of groups as `part`; the e of the gateways eB in the second
            half as `colour`; and -1.
        """
        return self._spans[destination]

    @cached_property
    def _spans(self) -> list[Span]:
        of = self.coloured
        number, letter = np.divmod(of.colour, 2)
        gateways = np.where(letter, number, 1 - number).tolist()
        parts = self._parts[of.dragonfly.group_of].tolist()
        return [Span(part, gateway, -1) for part, gateway in zip(parts, gateways, strict=True)]

    def intermediates(self, router: int, span: Span) -> list[int]:
        """Returns the middle routers, ascending: all of one class in third groups.

        Args:
            router: the source.
            span: destinations, in groups other than the source's.
        """
        of = self.coloured
        number = int(of.colour[router]) // 2
        middle = 2 * (1 - number) if span.colour == number else 2 * number + 1
        groups = of.dragonfly.group_of
        third = (groups != groups[router]) & (self._parts[groups] != span.part)
        chosen: list[int] = np.flatnonzero(third & (of.colour == middle)).tolist()
        return chosen

    def weights(self, _router: int, _span: Span, intermediates: Sequence[int]) -> list[int]:
        """Returns the weights of middle routers: all are equal.

        Args:
            intermediates: middle routers.
        """
        return [1] * len(intermediates)

    def gateways(self, router: int) -> list[Gateways]:
        """Returns the gateways to which a middle router sends packets whose tag it has popped.

        Args:
            router: the middle router.

        Returns:
            For each destination, in router order, the gateways with their weights; empty if the router is in
            the destination's group or on no detour to it.
        """
        of = self.coloured
        group = int(of.dragonfly.group_of[router])
        gateway = 2 * (1 - int(of.colour[router]) // 2) + 1
        around = of.dragonfly.gateways[group, of.dragonfly.group_of]
        leads = (of.colour[around] == gateway) & (of.dragonfly.group_of != group)[:, None]
        leads &= of.straight[around, np.arange(len(around))[:, None]] == (self.distances[router] - 1)[:, None]
        chosen: list[Gateways] = [()] * len(around)
        for destination in np.flatnonzero(leads.any(axis=1)).tolist():
            ends = sorted(set(around[destination, leads[destination]].tolist()))
            chosen[destination] = tuple((end, 1) for end in ends)
        return chosen

    def onward_hops(self, intermediates: Sequence[int], destinations: Sequence[int]) -> Sequence[float]:
        """Returns the mean hops from each middle router to destinations of a span.

        Args:
            intermediates: middle routers.
            destinations: at least one.
        """
        hops = self.distances[np.ix_(intermediates, destinations)]
        means: list[float] = (hops.sum(axis=1, dtype=np.int64) / hops.shape[1]).tolist()
        return means

    @cached_property
    def _parts(self) -> npt.NDArray[np.int64]:
        """For each group, the index of the set that it belongs to."""
        groups = self.coloured.dragonfly.trunking.groups
        return np.arange(groups) // (1 if groups <= _MAX_GROUPS else _PART)
