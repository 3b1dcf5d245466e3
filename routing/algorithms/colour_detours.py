"""Detours via another group of a dragonfly with four colours; their links ascend in the order of four-color.

A detour consists of a local hop to a gateway of colour c (none if the source is a gateway); a global link of
that colour to the intermediate router; a local hop, never skipped, to a gateway of a higher colour; that
gateway's global link; and a local hop to the destination, or none. The hops of either half are those of
four-color, and the second half's colour is higher, so the order of links holds on the whole path
(`routing.path_sets.coloured`).

The tag names the intermediate router. A router is not chosen if packets with its tag would instead take the
source's own link to that router's group and then a local hop.

Intermediate routers are weighted by colour because they are not equally useful: the links of their second
half serve different numbers of colour pairs. `FIRST_HALF` and `SECOND_HALF` were chosen by simulated
annealing over weights from 0 to 4, maximising the load limits that the fluid model predicts for the dragonfly
8/4/9 with t = 4 and 4 hosts per router: under adv:1 to adv:4, and if all routers of a group send to all of
another group. Under adv:1 the limit is 0.39; the capacity of global links allows 0.4375.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from routing.algorithms.first_hops import Gateways
from routing.path_sets.coloured import ColouredDragonfly
from routing.path_sets.hierarchical import entry_routers
from routing.path_sets.restricted import Lengths

# (source's colour, destination's colour) -> five weights of intermediate routers: one for each colour of the
# routers reached through a gateway, then one for those at the ends of the source's own global links.
FIRST_HALF: Mapping[tuple[int, int], tuple[int, int, int, int, int]] = {
    (0, 0): (0, 1, 0, 0, 1),
    (0, 1): (0, 0, 0, 0, 1),
    (0, 2): (0, 0, 1, 0, 2),
    (0, 3): (0, 0, 1, 0, 4),
    (1, 0): (4, 0, 0, 0, 1),
    (1, 1): (1, 0, 0, 0, 1),
    (1, 2): (0, 0, 1, 0, 4),
    (1, 3): (1, 0, 3, 0, 4),
    (2, 0): (0, 1, 0, 0, 0),
    (2, 1): (0, 1, 0, 0, 0),
    (2, 2): (0, 1, 1, 0, 1),
    (2, 3): (0, 0, 3, 0, 4),
    (3, 0): (1, 0, 0, 0, 0),
    (3, 1): (1, 0, 0, 0, 0),
    (3, 2): (1, 0, 0, 0, 0),
    (3, 3): (1, 0, 0, 0, 0),
}
# (intermediate router's colour, destination's colour, whether the destination has a link to the intermediate
# router's group) -> five weights of gateways: one for each colour, then one for gateways whose global link
# ends at the destination itself.
SECOND_HALF: Mapping[tuple[int, int, bool], tuple[int, int, int, int, int]] = {
    (0, 0, False): (0, 0, 1, 0, 0),
    (0, 1, False): (0, 1, 0, 2, 0),
    (0, 1, True): (0, 0, 0, 3, 4),
    (0, 2, False): (0, 1, 0, 3, 0),
    (0, 2, True): (0, 3, 0, 0, 2),
    (0, 3, False): (0, 3, 2, 0, 0),
    (0, 3, True): (0, 0, 0, 0, 1),
    (1, 0, False): (0, 0, 1, 0, 0),
    (1, 1, False): (0, 0, 0, 1, 0),
    (1, 2, False): (0, 0, 0, 1, 0),
    (1, 2, True): (0, 0, 0, 0, 1),
    (1, 3, False): (0, 0, 1, 0, 0),
    (1, 3, True): (0, 0, 0, 0, 1),
    (2, 1, False): (0, 0, 0, 1, 0),
    (2, 2, False): (0, 0, 0, 1, 0),
    (2, 3, True): (0, 0, 0, 0, 1),
}
_NEAREST = 4  # the index of the last of these five weights
# A dragonfly with more groups is divided into _PARTS parts; destinations of one colour in one part share
# their detours.
_MAX_GROUPS = 16
_PARTS = 8
_LARGEST_WEIGHT = 255


class Span(NamedTuple):
    """A set of destinations with the same detours: one router, or all of one colour in some of the groups.

    Attributes:
        part: for one router, its group; otherwise, the index of the set of groups.
        colour: the colour of the destinations, or the number that `HalfPaths.span` defines.
        destination: the router, or -1 if there are several.
    """

    part: int
    colour: int
    destination: int


@dataclass(frozen=True)
class ColourDetours:
    """The intermediate routers that sources may choose, and the gateways to which these routers send packets.

    Attributes:
        coloured: a dragonfly with four colours.
        distances: int16 array, N x N: hops of the minimal path for every [source, destination].
    """

    coloured: ColouredDragonfly
    distances: Lengths

    def span(self, destination: int) -> Span:
        """Returns the set of destinations that share their intermediate routers with a destination.

        Args:
            destination: the destination.

        Returns:
            The destination's group, its colour and the destination; if there are many groups, the index of a
            set of groups, the colour, and -1.
        """
        return self._spans[destination]

    @cached_property
    def _spans(self) -> list[Span]:
        of = self.coloured
        pairs = zip(of.dragonfly.group_of.tolist(), of.colour.tolist(), strict=True)
        groups = of.dragonfly.trunking.groups
        if groups <= _MAX_GROUPS:
            return [Span(group, colour, destination) for destination, (group, colour) in enumerate(pairs)]
        return [Span(group * _PARTS // groups, colour, -1) for group, colour in pairs]

    def intermediates(self, router: int, span: Span) -> list[int]:
        """Returns the intermediate routers that packets may visit.

        Args:
            router: the source.
            span: destinations, in groups other than the source's.

        Returns:
            Routers in third groups, ascending: those with a positive weight, or all eligible routers if none
            has one.
        """
        of = self.coloured
        entries = self._entries_of(router)
        groups = of.dragonfly.group_of[entries]
        reached = self._reaches[of.colour[entries], span.colour]
        if span.destination < 0:
            groups = groups * _PARTS // of.dragonfly.trunking.groups
        else:
            reached = reached | self._leads_to(entries, span.destination)
        fit = entries[reached & (groups != span.part)]
        weights = FIRST_HALF[int(of.colour[router]), span.colour]
        chosen: list[int] = fit[weighted(self._classes(router, fit), weights)].tolist()
        return chosen

    def weights(self, router: int, span: Span, intermediates: Sequence[int]) -> list[int]:
        """Returns the weights of intermediate routers, at least 1.

        Args:
            router: the source.
            span: the destinations.
            intermediates: intermediate routers of these destinations.
        """
        weights = FIRST_HALF[int(self.coloured.colour[router]), span.colour]
        return shares(self._classes(router, np.array(intermediates, np.int64)), weights)

    def gateways(self, router: int) -> list[Gateways]:
        """Returns the gateways to which an intermediate router sends packets.

        Args:
            router: the intermediate router.

        Returns:
            For each destination, in router order: (gateway, weight) for each gateway of the router's own
            group with a positive weight; empty if packets to the destination must not visit the router.
        """
        of = self.coloured
        key = int(of.dragonfly.group_of[router]), int(of.colour[router])
        if key not in self._gateways_of:
            self._gateways_of[key] = list(self._gateways(*key))
        return self._gateways_of[key]

    def onward_hops(self, intermediates: Sequence[int], destinations: Sequence[int]) -> Sequence[float]:
        """Returns the mean hops from each intermediate router to destinations in other groups.

        Args:
            intermediates: intermediate routers.
            destinations: at least one.
        """
        return [self._onward_hops(router, destinations) for router in intermediates]

    def _onward_hops(self, router: int, destinations: Sequence[int]) -> float:
        key = int(self.coloured.dragonfly.group_of[router]), int(self.coloured.colour[router])
        if key not in self._onward_of:
            straight, gateways = self.coloured.straight, self.gateways(router)
            mean = (
                1 + sum(int(straight[one, d]) for one, _ in chosen) / len(chosen) if chosen else 0
                for d, chosen in enumerate(gateways)
            )
            self._onward_of[key] = np.fromiter(mean, np.float64)
        return float(self._onward_of[key][destinations].mean())

    def _gateways(self, group: int, colour: int) -> Iterator[Gateways]:
        """Yields, for each destination, the gateways for intermediate routers of a given group and colour."""
        of = self.coloured
        shared: dict[tuple[int, int], Gateways] = {}
        linked = (of.straight[of.dragonfly.group_of == group] == 1).any(axis=0)
        for destination, far_group in enumerate(of.dragonfly.group_of.tolist()):
            of_pair = far_group, int(of.colour[destination])
            if far_group == group:
                yield ()
            elif linked[destination] or of_pair not in shared:
                around = np.unique(of.dragonfly.gateways[group, far_group])
                around = around[of.goes_straight_to(destination)[around] & (of.colour[around] > colour)]
                chosen = self._weighted(colour, destination, around)
                if not linked[destination]:
                    shared[of_pair] = chosen
                yield chosen
            else:
                yield shared[of_pair]

    def _weighted(self, colour: int, destination: int, gateways: npt.NDArray[np.int64]) -> Gateways:
        """Returns (gateway, weight) for each of the given gateways that has a positive weight.

        The weights apply at intermediate routers of the given colour, for packets to the destination.
        """
        of = self.coloured
        nearest = of.straight[gateways, destination] == 1
        if not len(gateways):
            return ()
        weights = SECOND_HALF[colour, int(of.colour[destination]), bool(nearest.any())]
        classes = np.where(nearest, _NEAREST, of.colour[gateways]).tolist()
        places = weighted(classes, weights)
        numbers = shares([classes[place] for place in places], weights)
        return tuple(zip(gateways[places].tolist(), numbers, strict=True))

    @cached_property
    def _gateways_of(self) -> dict[tuple[int, int], list[Gateways]]:
        """Cache of `gateways`: its results by (group, colour) of the intermediate router."""
        return {}

    @cached_property
    def _onward_of(self) -> dict[tuple[int, int], npt.NDArray[np.float64]]:
        """Cache: the mean hops to each destination, by (group, colour) of the intermediate router."""
        return {}

    @cached_property
    def _entries(self) -> list[npt.NDArray[np.int64]]:
        return [np.array(one, np.int64) for one in entry_routers(self.coloured.dragonfly)]

    @cached_property
    def _reaches(self) -> npt.NDArray[np.bool_]:
        """Bool array, [c, d]: whether any gateway of a colour above c leads to destinations of colour d."""
        second = self.coloured.rule.second[0]
        higher = np.triu(np.ones(second.shape, bool), 1)
        return np.asarray((higher[:, :, None] & second[None, :, :]).any(axis=1))

    def _entries_of(self, router: int) -> npt.NDArray[np.int64]:
        """Returns the routers of other groups at which a source's tagged packets enter these groups.

        Packets enter over a global link of the source or, after one local hop, of a gateway.
        """
        of = self.coloured
        entries = self._entries[int(of.dragonfly.group_of[router])]
        straight = of.straight[router, entries]
        by_gateway = ~of.goes_straight(router)[entries]
        by_gateway &= of.rule.first[0][of.colour[router], of.colour[entries]]
        return np.asarray(entries[(straight == 1) | by_gateway])

    def _leads_to(self, entries: npt.NDArray[np.int64], destination: int) -> npt.NDArray[np.bool_]:
        """Returns, per entry, whether its group has a link to the destination, and its colour is lower."""
        of = self.coloured
        linked = np.zeros(of.dragonfly.trunking.groups, bool)
        linked[of.dragonfly.group_of[of.dragonfly.neighbours(destination)]] = True
        higher = of.colour[destination] > of.colour[entries]
        return np.asarray(linked[of.dragonfly.group_of[entries]] & higher)

    def _classes(self, router: int, intermediates: npt.NDArray[np.int64]) -> list[int]:
        """Returns, for each intermediate router, the index of its weight in an entry of `FIRST_HALF`."""
        of = self.coloured
        own = of.straight[router, intermediates] == 1
        chosen: list[int] = np.where(own, _NEAREST, of.colour[intermediates]).tolist()
        return chosen


def weighted(classes: Sequence[int], weights: Sequence[int]) -> list[int]:
    """Returns the indices of the items whose class has a positive weight; all indices if no class has one.

    Args:
        classes: the class of each item.
        weights: the weight of each class, at least 0.
    """
    return [place for place, one in enumerate(classes) if weights[one]] or [*range(len(classes))]


def shares(classes: Sequence[int], weights: Sequence[int]) -> list[int]:
    """Returns integer weights of items that make each class's traffic proportional to the class's weight.

    Args:
        classes: the class of each item.
        weights: the weight of each class; if all weights that occur are 0, items get equal weights.

    Returns:
        A weight from 1 to 255 for each item; the proportions are exact if possible.
    """
    if not any(weights[one] for one in classes):
        return [1] * len(classes)
    counts = {one: classes.count(one) for one in classes}
    common = math.lcm(*counts.values())
    numbers = {one: weights[one] * common // count for one, count in counts.items()}
    divisor = math.gcd(*numbers.values())
    largest = max(numbers.values()) // divisor
    scale = min(1.0, _LARGEST_WEIGHT / largest) / divisor
    return [max(1, round(numbers[one] * scale)) for one in classes]
