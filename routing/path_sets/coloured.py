"""Coloured paths of trunked dragonflies (`two-color`, `four-color`), which need no virtual channels.

As in hierarchical routing, a packet to another group takes at most one local hop to a gateway, a global link,
and at most one local hop. The colours of routers (`routing.path_sets.colours`) restrict the gateways such
that the links can be ordered with every packet ascending in the order; then no packets wait for each other in
a cycle.

- two-color: toward a group with a higher number (upward), the gateway has the destination's colour. Toward a
  group with a lower number (downward), the source is the gateway, or the gateway has the other colour. So
  local links between routers of the same colour follow upward global links, but never lead to downward ones:
  along a chain of waiting packets, group numbers first fall, then rise.
- four-color: the order is by colours. A local link from colour x to y is below the global links of colour y
  if it is a packet's first local hop, and above those of colour x if it is the second; global links ascend by
  colour. For x < y it may be both. Of all divisions of the other links between first and second, `FIRST` has
  the highest throughput under adv:1 (computed by linear programs for 8/4/9 with t = 4).

If a router has a global link over which a packet may continue directly, the packet takes it, because it may
have come by a local hop for that link. Among the allowed paths the shortest ones are taken.

Source: after Camarero, Vallejo, Beivide, "Topological Characterization of Hamming and Dragonfly Networks and
Its Implications on Routing" (TACO 2014), section 6. The orders of links are this project's own; the proof is
given above, and tests check it for all paths.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from routing.path_sets.colours import Colours, router_colours
from routing.path_sets.hierarchical import dragonfly_of
from routing.path_sets.restricted import Lengths, PathSet, PortMask, RestrictedTopology
from topology.base import Topology
from topology.families.dragonflies.dragonfly import Dragonfly

TWO_COLOR = "two-color"
FOUR_COLOR = "four-color"
_FAR = np.int16(np.iinfo(np.int16).max // 4)

AllowedHops = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ColourRule:
    """The local hops that colours allow, toward groups with lower and with higher numbers.

    Attributes:
        first: bool array, 2 x K x K: entry [to a higher group, router's colour, gateway's colour] is true if
            a hop to a gateway is allowed.
        second: bool array, 2 x K x K: entry [to a higher group, gateway's colour, destination's colour] is
            true if a hop to the destination after the gateway's global link is allowed.
    """

    first: AllowedHops
    second: AllowedHops

    @property
    def colours(self) -> int:
        """K, the number of colours."""
        return len(self.first[0])


def _two_color_rule() -> ColourRule:
    same, all_pairs = np.eye(2, dtype=bool), np.ones((2, 2), bool)
    return ColourRule(first=np.stack([~same, all_pairs]), second=np.stack([all_pairs, same]))


def _four_color_rule() -> ColourRule:
    ascending = np.triu(np.ones((4, 4), bool), 1)
    first = ascending.copy()
    first[tuple(zip(*FIRST, strict=True))] = True
    second = ~first | ascending
    return ColourRule(first=np.stack([first, first]), second=np.stack([second, second]))


# (router's colour, gateway's colour) of the first local hops that do not lead to a higher colour; all other
# local links that do not lead to a higher colour are second hops, to destinations.
FIRST = ((1, 0), (2, 1), (2, 2), (3, 0), (3, 3))
TWO_COLOR_RULE = _two_color_rule()
FOUR_COLOR_RULE = _four_color_rule()


@dataclass(frozen=True)
class ColouredDragonfly:
    """A dragonfly, the colours of its routers, and the coloured paths that start with a global link.

    Attributes:
        dragonfly: the dragonfly.
        rule: the local hops that colours allow.
        colour: int64 array, N: the colour of each router.
        straight: int16 array, N x N: hops of the path from each [router, destination] that starts with a
            global link of the router to the destination's group; larger than any path if there is none.
    """

    dragonfly: Dragonfly
    rule: ColourRule
    colour: Colours
    straight: Lengths

    def goes_straight(self, router: int) -> npt.NDArray[np.bool_]:
        """Returns, for each destination, whether packets leave a router over one of its own global links.

        Args:
            router: the router.

        Returns:
            bool array, N.
        """
        return np.asarray(self.straight[router] < _FAR)

    def goes_straight_to(self, destination: int) -> npt.NDArray[np.bool_]:
        """Returns, for each router, whether packets to a destination leave it over its own global links.

        Args:
            destination: the destination router.

        Returns:
            bool array, N.
        """
        return np.asarray(self.straight[:, destination] < _FAR)


def coloured_dragonfly(topology: Topology, rule: ColourRule, routing: str) -> ColouredDragonfly:
    """Returns a dragonfly with the colours of its routers.

    Args:
        topology: a dragonfly with complete groups.
        rule: the local hops that colours allow.
        routing: the name of the routing, for error messages.

    Raises:
        UsageError: the topology is of another family.
        ParameterError: the dragonfly has no such colours.
    """
    dragonfly = dragonfly_of(topology, routing)
    colour = router_colours(dragonfly, rule.colours, routing)
    straight = np.full((dragonfly.routers, dragonfly.routers), _FAR, np.int16)
    members = np.arange(dragonfly.routers).reshape(-1, dragonfly.a)
    near_group, far_group = np.nonzero(~np.eye(len(members), dtype=bool))
    for link in range(dragonfly.trunking.links):
        near = dragonfly.gateways[near_group, far_group, link][:, None]
        far = dragonfly.gateways[far_group, near_group, link][:, None]
        targets = members[far_group]
        onward = rule.second[(far_group > near_group).astype(int)[:, None], colour[near], colour[targets]]
        hops = np.where(far == targets, 1, np.where(onward, 2, _FAR))
        straight[near, targets] = np.minimum(straight[near, targets], hops)
    return ColouredDragonfly(dragonfly, rule, colour, straight)


def coloured_paths(coloured: ColouredDragonfly) -> RestrictedTopology:
    """Returns a dragonfly restricted to its coloured paths.

    Args:
        coloured: the dragonfly with its colours.
    """
    dragonfly, straight, colour = coloured.dragonfly, coloured.straight, coloured.colour
    first, group_of = coloured.rule.first, dragonfly.group_of
    lengths = _lengths(coloured)

    def port_mask(router: int) -> PortMask:
        around = dragonfly.neighbours(router)
        outside = group_of != group_of[router]
        inside = group_of[around] == group_of[router]
        upward = (group_of > group_of[router]).astype(int)
        to_gateway = first[upward[None, :], colour[router], colour[around][:, None]]
        by_gateway = outside & ~coloured.goes_straight(router) & inside[:, None] & to_gateway
        nearer = np.where(inside[:, None], straight[around], lengths[around])
        by_link = outside & coloured.goes_straight(router) & (group_of[around][:, None] == group_of[None, :])
        mask = (by_gateway | by_link) & (nearer < lengths[router])
        return np.asarray(mask | (inside[:, None] & (around[:, None] == np.arange(dragonfly.routers))))

    return RestrictedTopology(dragonfly, lengths, port_mask)


def _lengths(coloured: ColouredDragonfly) -> Lengths:
    """Returns the hops of the coloured paths between all pairs."""
    dragonfly, straight, colour = coloured.dragonfly, coloured.straight, coloured.colour
    members = np.arange(dragonfly.routers).reshape(-1, dragonfly.a)
    by_gateway = np.full_like(straight, _FAR)
    for near_group, sources in enumerate(members):
        for far_group, targets in enumerate(members):
            if near_group != far_group:
                gateways = dragonfly.gateways[near_group, far_group]
                allowed = coloured.rule.first[int(far_group > near_group)][
                    np.ix_(colour[sources], colour[gateways])
                ]
                hops = np.where(allowed[:, :, None], straight[np.ix_(gateways, targets)] + 1, _FAR)
                by_gateway[np.ix_(sources, targets)] = hops.min(axis=1)
    lengths = np.where(straight < _FAR, straight, by_gateway)
    same = dragonfly.group_of[:, None] == dragonfly.group_of[None, :]
    lengths[same] = 1
    np.fill_diagonal(lengths, 0)
    return lengths.astype(np.int16)


def _paths(topology: Topology, rule: ColourRule, name: str) -> RestrictedTopology:
    return coloured_paths(coloured_dragonfly(topology, rule, name))


TWO_COLOR_PATHS = PathSet(
    partial(_paths, rule=TWO_COLOR_RULE, name=TWO_COLOR),
    "hierarchical over gateways of two colours, acyclic (dragonfly, trunking 2)",
    "after Camarero et al., TACO 2014, section 6",
    families=("dragonfly",),
)
FOUR_COLOR_PATHS = PathSet(
    partial(_paths, rule=FOUR_COLOR_RULE, name=FOUR_COLOR),
    "hierarchical over gateways of four colours, acyclic (dragonfly, trunking 4)",
    "after Camarero et al., TACO 2014, section 6",
    families=("dragonfly",),
)
