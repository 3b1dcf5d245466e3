"""Four colours on three-level dragonflies: paths lmlglml whose links ascend in one order.

The paper says that its colours also suit three levels, without details; this extension is PolarLab's own.
Links between groups and links between supergroups join routers of one label, and every two groups of a
supergroup, as well as every two supergroups, have links of all four labels. With l for local links of the
classes in `routing.path_sets.coloured`, m for links between groups and g for links between supergroups, the
order is

    l+0AA, l+0BA < mA < l+1AA, l+0AB < g < l+1AB, l+1BB < mB < l+1BA, l+0BB

A packet to another supergroup takes the first half of the two-level order to a router with a link to that
supergroup, and the second half from the other end of that link. With y for the number by which a destination
zA (z = y) or zB (z = 1 - y) is reached in the second half, a source xP can use links of the label yA if
y = 1 - x, and yB if y = x. If the link starts in the source's own group, the packet still takes only hops of
the first half: over a router xA if the source is xB. Packets within a supergroup take the paths of the
two-level four-color.

Source: after Camarero, Vallejo, Beivide, "Topological Characterization of Hamming and Dragonfly Networks and
Its Implications on Routing" (TACO 2014), sections 6.2 and 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from routing.path_sets.coloured import (
    FOUR_COLOR,
    FOUR_COLOR_RULES,
    PAPER,
    ColouredDragonfly,
    coloured_dragonfly,
    coloured_paths,
)
from routing.path_sets.restricted import Lengths, PortMask, RestrictedTopology
from routing.path_sets.three_levels import three_level_paths
from topology.errors import ParameterError
from topology.families.dragonflies.dragonfly3 import Dragonfly3

_COLOURS = 4
_FAR = np.int16(np.iinfo(np.int16).max // 4)
_EXAMPLE = "--a 8 --h2 1 --t2 4 --h3 1 --t3 12"
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ThreeLevelColours:
    """A three-level dragonfly with the labels of its routers, and the two-level one of a supergroup.

    Attributes:
        dragonfly: the dragonfly.
        inside: a supergroup with its colours; colour 2 x is the label xA, colour 2 x + 1 the label xB.
    """

    dragonfly: Dragonfly3
    inside: ColouredDragonfly

    @property
    def size(self) -> int:
        """The number of routers of a supergroup."""
        return self.dragonfly.supergroup.routers

    def colour(self, routers: Numbers) -> Numbers:
        """Returns the colours of routers."""
        return np.asarray(self.inside.colour[routers % self.size])

    @cached_property
    def inside_paths(self) -> RestrictedTopology:
        """The coloured paths of a supergroup."""
        return coloured_paths(self.inside)

    def second_number(self, destinations: Numbers) -> Numbers:
        """Returns, for each destination, the number y of the links from which its second half starts."""
        number, letter = np.divmod(self.colour(destinations), 2)
        return np.asarray(np.where(letter, 1 - number, number))

    def entries(self, source: int, supergroup: int, number: int) -> list[int]:
        """Returns the routers at which packets of a source may enter a supergroup.

        Args:
            source: the source.
            supergroup: another supergroup.
            number: the number y of the destination (`second_number`).
        """
        own = int(self.dragonfly.supergroup_of[source])
        far = self.dragonfly.gateways[supergroup, own]
        x = int(self.inside.colour[source % self.size]) // 2
        label = 2 * number + (1 if x == number else 0)
        chosen: list[int] = np.sort(far[self.colour(far) == label]).tolist()
        return chosen


def three_level_colours(dragonfly: Dragonfly3) -> ThreeLevelColours:
    """Returns a three-level dragonfly with the labels of its routers.

    Args:
        dragonfly: the dragonfly.

    Raises:
        ParameterError: two groups or two supergroups do not have links of all four labels.
    """
    try:
        inside = coloured_dragonfly(dragonfly.supergroup, FOUR_COLOR_RULES[PAPER], FOUR_COLOR)
    except ParameterError:
        raise ParameterError(
            f"t2 for {FOUR_COLOR} must give every two groups of a supergroup links of all {_COLOURS} labels, "
            f"got {dragonfly.supergroup.trunking.links} with a {dragonfly.supergroup.a} and h2 "
            f"{dragonfly.supergroup.h}; try {_EXAMPLE}"
        ) from None
    coloured = ThreeLevelColours(dragonfly, inside)
    near, far = dragonfly.global_links.T
    pairs = np.nonzero(~np.eye(dragonfly.trunking.groups, dtype=bool))
    labels = np.sort(coloured.colour(dragonfly.gateways[pairs]), axis=1)
    kinds = (np.diff(labels, axis=1) > 0).sum(axis=1) + 1
    if (coloured.colour(near) != coloured.colour(far)).any() or (kinds < _COLOURS).any():
        raise ParameterError(
            f"t3 for {FOUR_COLOR} must give every two supergroups links of all {_COLOURS} labels, got "
            f"{dragonfly.trunking.links} with h3 {dragonfly.h3}; try {_EXAMPLE}"
        )
    return coloured


def three_level_coloured_paths(coloured: ThreeLevelColours) -> RestrictedTopology:
    """Returns a three-level dragonfly restricted to the paths of untagged packets and of tags.

    Between a supergroup and a router at the end of one of its links, paths are coloured. Other paths to other
    supergroups are hierarchical; packets take them only after a failure, as sources tag their packets with
    such a router.

    Args:
        coloured: the dragonfly with its labels.
    """
    dragonfly, size = coloured.dragonfly, coloured.size
    inside = coloured.inside_paths
    whole = three_level_paths(dragonfly, inside.distance_table)
    lengths = whole.distance_table.copy()
    hops = _FirstHalves(coloured)
    ends = _ends(dragonfly)
    for supergroup in range(dragonfly.trunking.groups):
        own = slice(supergroup * size, (supergroup + 1) * size)
        for entry, gateway in ends[supergroup].items():
            lengths[own, entry] = 1 + hops.lengths[:, gateway % size]

    def port_mask(router: int) -> PortMask:
        supergroup = int(dragonfly.supergroup_of[router])
        start = supergroup * size
        around = dragonfly.neighbours(router)
        mask = whole.minimal_port_mask(router)
        within = dragonfly.supergroup_of[around] == supergroup
        place = router - start
        own = np.zeros((len(around), size), bool)
        order = np.searchsorted(coloured.dragonfly.supergroup.neighbours(place), around[within] - start)
        own[within] = inside.minimal_port_mask(place)[order]
        mask[:, start : start + size] = own
        for entry, gateway in ends[supergroup].items():
            target = hops.following(place, gateway - start)
            onward = {entry} if target is None else {start + one for one in target}
            mask[:, entry] = np.isin(around, list(onward))
        return mask

    return RestrictedTopology(dragonfly, lengths, port_mask, dragonfly.distance_table)


def _ends(dragonfly: Dragonfly3) -> list[dict[int, int]]:
    """Returns, for each supergroup, the far end of each of its links -> the near end."""
    ends: list[dict[int, int]] = [{} for _ in range(dragonfly.trunking.groups)]
    for near, far in dragonfly.global_links.tolist():
        ends[int(dragonfly.supergroup_of[near])].setdefault(far, near)
        ends[int(dragonfly.supergroup_of[far])].setdefault(near, far)
    return ends


class _FirstHalves:
    """The first halves within a supergroup: from each router to each gateway, by their next hops."""

    def __init__(self, coloured: ThreeLevelColours) -> None:
        self._colour = coloured.inside.colour
        self._dragonfly = coloured.dragonfly.supergroup
        size, a = coloured.size, self._dragonfly.a
        self._groups = np.arange(size).reshape(-1, a)
        same = np.where(self._allowed(), np.int16(1), np.int16(2))
        same[np.arange(size), np.arange(size)] = 0
        group_of = self._dragonfly.group_of
        self.lengths: Lengths = np.where(group_of[:, None] == group_of, same, _FAR).astype(np.int16)
        for place in range(size):
            for group, _ in enumerate(self._groups):
                if group != group_of[place]:
                    near, far = self._links(place, group)
                    to_link = (near != place).astype(np.int16)[:, None]
                    onward = self.lengths[far[:, None], self._groups[group]]
                    self.lengths[place, self._groups[group]] = (to_link + 1 + onward).min(axis=0)

    def _allowed(self) -> npt.NDArray[np.bool_]:
        """Returns for which [router, gateway] of one group a hop belongs to the first half.

        Gateways that no first half reaches count as allowed from routers xA: no source uses them.
        """
        number, letter = np.divmod(self._colour, 2)
        same = number[:, None] == number
        from_a, to_a = letter[:, None] == 0, letter == 0
        return np.asarray(from_a | (to_a & same))

    def _links(self, place: int, group: int) -> tuple[Numbers, Numbers]:
        """Returns the ends, near and far, of the links of label xA from a router's group to another one."""
        own = int(self._dragonfly.group_of[place])
        near, far = self._dragonfly.gateways[own, group], self._dragonfly.gateways[group, own]
        fits = self._colour[near] == self._colour[place] // 2 * 2
        return near[fits], far[fits]

    def following(self, place: int, gateway: int) -> list[int] | None:
        """Returns the next routers from a router toward a gateway; None at the gateway itself.

        Args:
            place: the router's place in its supergroup.
            gateway: the gateway's place.
        """
        if place == gateway:
            return None
        group_of = self._dragonfly.group_of
        left = int(self.lengths[place, gateway])
        if group_of[place] == group_of[gateway]:
            if left == 1:
                return [gateway]
            members = self._groups[group_of[place]]
            chosen = members[(self._colour[members] == self._colour[place] // 2 * 2) & (members != place)]
            return [int(one) for one in chosen if self.lengths[one, gateway] == left - 1]
        near, far = self._links(place, int(group_of[gateway]))
        own = far[(near == place) & (self.lengths[far, gateway] == left - 1)]
        if len(own):
            return [int(one) for one in own]
        return sorted({int(one) for one in near if self.lengths[one, gateway] == left - 1})
