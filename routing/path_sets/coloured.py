"""Coloured paths of trunked dragonflies (`two-color`, `four-color`), which need no virtual channels.

As in hierarchical routing, a packet to another group takes at most one local hop to a gateway, a global link,
and at most one local hop. The colours of routers (`routing.path_sets.colours`) restrict the gateways such
that the links can be ordered with every packet ascending in the order; then no packets wait for each other in
a cycle. Parameter `order` selects the paper's rules or this project's own.

The paper's rules (`order=paper`, the default):

- two-color (section 6.1): local links have the label +0 if they join routers of one colour, else +1. Between
  different colours, the gateway has the source's colour. Between routers of one colour, packets to a higher
  group take +0 links and packets to a lower group +1 links; these +1 links are never skipped.
- four-color (section 6.2): a router's label is a number 0 or 1 and a letter A or B; a local link from xP to
  yQ has the label +zPQ, z = y - x modulo 2; gP are the global links of routers with the letter P. Links
  ascend in the order +0AA, +0BA; gA; +1AA; +1AB; +0AB; +1BB; gB; +1BA, +0BB. A minimal path from xP
  uses the first half, over the gateway xA to (1-x)A or xB, or the second half, over the gateway (1-x)B to xA
  or (1-x)B. Only +0AA and +0BB may be skipped, where router and gateway are one.

Under either rule, the labels of source and destination determine the colour of the gateway. Of several
gateways of that colour, packets take those on the shortest paths; the paper's networks have only one.

This project's own orders (`order=own`):

- two-color: toward a higher group, the gateway has the destination's colour. Toward a lower group, the
  source is the gateway, or the gateway has the other colour. So local links between routers of the same
  colour follow upward global links, but never lead to downward ones: along a chain of waiting packets, group
  numbers first fall, then rise.
- four-color: the order is by colours. A local link from colour x to y is below the global links of colour y
  if it is a packet's first local hop, and above those of colour x if it is the second; global links ascend by
  colour. For x < y it may be both. Of all divisions of the other links between first and second, `FIRST` has
  the highest throughput under adv:1 (computed by linear programs for 8/4/9 with t = 4).

Rules depend on a packet's position and destination only: if a router has a global link over which a packet
may continue directly, the packet takes it, because it may have come by a local hop for that link. In the
paper's four-color, packets of the router's own hosts may have to take another gateway
(`ColouredDragonfly.own_gateways`).

Source: Camarero, Vallejo, Beivide, "Topological Characterization of Hamming and Dragonfly Networks and Its
Implications on Routing" (TACO 2014), section 6, on which the project's own orders are modelled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from routing.path_sets.colours import Colours, router_colours
from routing.path_sets.hierarchical import dragonfly_of
from routing.path_sets.restricted import Lengths, PathSet, PortMask, RestrictedTopology
from topology.base import Topology
from topology.errors import UsageError
from topology.families.dragonflies.dragonfly import Dragonfly
from topology.parameters import Parameter

TWO_COLOR = "two-color"
FOUR_COLOR = "four-color"
_FAR = np.int16(np.iinfo(np.int16).max // 4)

AllowedHops = npt.NDArray[np.bool_]
Groups = int | npt.NDArray[np.int64]


@dataclass(frozen=True)
class ColourRule:
    """The local hops that colours allow, toward groups with lower and with higher ranks.

    Attributes:
        first: bool array, 2 x K x K: entry [to a higher group, router's colour, gateway's colour] is true if
            a hop to a gateway is allowed; on the diagonal, also whether a source may be its own gateway.
        second: bool array, 2 x K x K: entry [to a higher group, gateway's colour, destination's colour] is
            true if a hop to the destination after the gateway's global link is allowed.
        strict: whether `second` also applies to a global link that ends at the destination, and `first` to
            sources that are gateways; otherwise these are always allowed.
    """

    first: AllowedHops
    second: AllowedHops
    strict: bool = False

    @property
    def colours(self) -> int:
        """K, the number of colours."""
        return len(self.first[0])


def _own_two_color_rule() -> ColourRule:
    same, all_pairs = np.eye(2, dtype=bool), np.ones((2, 2), bool)
    return ColourRule(first=np.stack([~same, all_pairs]), second=np.stack([all_pairs, same]))


def _own_four_color_rule() -> ColourRule:
    ascending = np.triu(np.ones((4, 4), bool), 1)
    first = ascending.copy()
    first[tuple(zip(*FIRST, strict=True))] = True
    second = ~first | ascending
    return ColourRule(first=np.stack([first, first]), second=np.stack([second, second]))


def _two_color_rule() -> ColourRule:
    """Returns the rule of section 6.1.

    Toward a higher group, gateways have the source's colour; toward a lower one, any colour except the
    destination's.
    """
    same, all_pairs = np.eye(2, dtype=bool), np.ones((2, 2), bool)
    return ColourRule(np.stack([all_pairs, same]), np.stack([~same, all_pairs]), strict=True)


def _four_color_rule() -> ColourRule:
    """Returns the rule of section 6.2; colour 2 x + 0 has the label xA, colour 2 x + 1 the label xB."""
    first, second = np.zeros((2, 4, 4), bool)
    for colour in range(4):
        number = colour // 2
        first[colour, [2 * number, 2 * (1 - number) + 1]] = True
        second[colour, [2 * (1 - number), 2 * number + 1]] = True
    return ColourRule(np.stack([first, first]), np.stack([second, second]), strict=True)


# (router's colour, gateway's colour) of the first local hops that do not lead to a higher colour in this
# project's own order; all other local links that do not lead to a higher colour are second hops, to
# destinations.
FIRST = ((1, 0), (2, 1), (2, 2), (3, 0), (3, 3))
PAPER, OWN = "paper", "own"
TWO_COLOR_RULES = {PAPER: _two_color_rule(), OWN: _own_two_color_rule()}
FOUR_COLOR_RULES = {PAPER: _four_color_rule(), OWN: _own_four_color_rule()}
ORDER = Parameter(
    name="order",
    type=str,
    help="order of the links: the paper's, or this project's own",
    choices=lambda: (PAPER, OWN),
    default=PAPER,
)
# Ranks of the groups, for two-color: (number of groups) -> rank of each group.
INDEX, ALTERNATING = "index", "alternating"
RANKS = Parameter(
    name="ranks",
    type=str,
    help="ranks of the groups: their index, or even ones ascending and then odd ones descending",
    choices=lambda: (INDEX, ALTERNATING),
    default=INDEX,
)


@dataclass(frozen=True)
class ColouredDragonfly:
    """A dragonfly, the colours of its routers, and the coloured paths that start with a global link.

    Attributes:
        dragonfly: the dragonfly.
        rule: the local hops that colours allow.
        colour: int64 array, N: the colour of each router.
        rank: int64 array: the rank of each group.
        straight: int16 array, N x N: for each [router, destination], hops of the path that starts with a
            global link of the router to the destination's group; larger than any path if there is none.
    """

    dragonfly: Dragonfly
    rule: ColourRule
    colour: Colours
    rank: npt.NDArray[np.int64]
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
        """Returns, for each router, whether it sends packets to a destination over its own global links.

        Args:
            destination: the destination router.

        Returns:
            bool array, N.
        """
        return np.asarray(self.straight[:, destination] < _FAR)

    def upward(self, near_group: Groups, far_group: Groups) -> npt.NDArray[np.int64]:
        """Returns 1 where the far group has a higher rank than the near one, else 0.

        Args:
            near_group: groups.
            far_group: groups.
        """
        return np.asarray(self.rank[far_group] > self.rank[near_group]).astype(np.int64)

    def own_gateways(self, router: int) -> dict[int, tuple[int, ...]]:
        """Returns gateways for own hosts' packets that must avoid a global link of the router.

        Args:
            router: the source.

        Returns:
            Destination -> gateways in the source's group, ascending, for destinations to which packets of the
            router's own hosts take another next hop than packets that arrive from other routers.
        """
        if not self.rule.strict:
            return {}
        dragonfly, colour, first = self.dragonfly, self.colour, self.rule.first
        own = int(dragonfly.group_of[router])
        upward = self.upward(own, dragonfly.group_of)
        barred = self.goes_straight(router) & ~first[upward, colour[router], colour[router]]
        destinations = np.flatnonzero(barred)
        gateways = dragonfly.gateways[own, dragonfly.group_of[destinations]]
        allowed = first[upward[destinations][:, None], colour[router], colour[gateways]]
        hops = np.where(allowed, self.straight[gateways, destinations[:, None]], _FAR)
        nearest = hops == hops.min(axis=1, keepdims=True)
        return {
            destination: tuple(np.unique(around[chosen]).tolist())
            for destination, around, chosen in zip(destinations.tolist(), gateways, nearest, strict=True)
        }


def coloured_dragonfly(
    topology: Topology, rule: ColourRule, routing: str, ranks: str = INDEX
) -> ColouredDragonfly:
    """Returns a dragonfly with the colours of its routers.

    Args:
        topology: a dragonfly with complete groups.
        rule: the local hops that colours allow.
        routing: the name of the routing, for error messages.
        ranks: how the groups are ranked, a value of `RANKS`.

    Raises:
        UsageError: the topology is of another family.
        ParameterError: the dragonfly has no such colours.
    """
    dragonfly = dragonfly_of(topology, routing)
    colour = router_colours(dragonfly, rule.colours, routing)
    rank = np.arange(dragonfly.trunking.groups)
    if ranks == ALTERNATING:
        rank = np.where(rank % 2, len(rank) - 1 - rank // 2, rank // 2)
    coloured = ColouredDragonfly(
        dragonfly, rule, colour, rank, np.full((dragonfly.routers, dragonfly.routers), _FAR, np.int16)
    )
    straight = coloured.straight
    members = np.arange(dragonfly.routers).reshape(-1, dragonfly.a)
    near_group, far_group = np.nonzero(~np.eye(len(members), dtype=bool))
    upward = coloured.upward(near_group, far_group)[:, None]
    for link in range(dragonfly.trunking.links):
        near = dragonfly.gateways[near_group, far_group, link][:, None]
        far = dragonfly.gateways[far_group, near_group, link][:, None]
        targets = members[far_group]
        onward = rule.second[upward, colour[near], colour[targets]]
        ends = (far == targets) & (onward | (not rule.strict))
        hops = np.where(ends, 1, np.where(onward, 2, _FAR))
        straight[near, targets] = np.minimum(straight[near, targets], hops)
    return coloured


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
        upward = coloured.upward(group_of[router], group_of)
        to_gateway = first[upward[None, :], colour[router], colour[around][:, None]]
        by_gateway = outside & ~coloured.goes_straight(router) & inside[:, None] & to_gateway
        nearer = np.where(inside[:, None], straight[around], lengths[around])
        by_link = outside & coloured.goes_straight(router) & (group_of[around][:, None] == group_of[None, :])
        mask = (by_gateway | by_link) & (nearer < lengths[router])
        return np.asarray(mask | (inside[:, None] & (around[:, None] == np.arange(dragonfly.routers))))

    least = lengths
    if coloured.rule.strict:  # a packet may pass a router to which the rule has only longer paths
        everyone = np.arange(dragonfly.routers)
        least = dragonfly.distances(everyone[:, None], everyone).astype(np.int16)
    return RestrictedTopology(dragonfly, lengths, port_mask, least)


def source_lengths(coloured: ColouredDragonfly, paths: RestrictedTopology) -> Lengths:
    """Returns the hops of packets for every [source, destination]; sources use their `own_gateways`.

    Args:
        coloured: the dragonfly with its colours.
        paths: its coloured paths.
    """
    lengths = paths.distance_table.copy()
    for router in range(coloured.dragonfly.routers):
        exceptions = coloured.own_gateways(router)
        if exceptions:
            gateways = [around[0] for around in exceptions.values()]
            destinations = list(exceptions)
            lengths[router, destinations] = 1 + coloured.straight[gateways, destinations]
    return lengths


def _lengths(coloured: ColouredDragonfly) -> Lengths:
    """Returns the hops of the coloured paths between all pairs."""
    dragonfly, straight, colour = coloured.dragonfly, coloured.straight, coloured.colour
    members = np.arange(dragonfly.routers).reshape(-1, dragonfly.a)
    by_gateway = np.full_like(straight, _FAR)
    for near_group, sources in enumerate(members):
        for far_group, targets in enumerate(members):
            if near_group != far_group:
                gateways = dragonfly.gateways[near_group, far_group]
                allowed = coloured.rule.first[coloured.upward(near_group, far_group)][
                    np.ix_(colour[sources], colour[gateways])
                ]
                hops = np.where(allowed[:, :, None], straight[np.ix_(gateways, targets)] + 1, _FAR)
                by_gateway[np.ix_(sources, targets)] = hops.min(axis=1)
    lengths = np.where(straight < _FAR, straight, by_gateway)
    same = dragonfly.group_of[:, None] == dragonfly.group_of[None, :]
    lengths[same] = 1
    np.fill_diagonal(lengths, 0)
    return lengths.astype(np.int16)


def _two_color_paths(topology: Topology, order: str = PAPER, ranks: str = INDEX) -> RestrictedTopology:
    if order == OWN and ranks != INDEX:
        raise UsageError(f"ranks of {TWO_COLOR} needs order={PAPER}, got order={OWN}")
    return coloured_paths(coloured_dragonfly(topology, TWO_COLOR_RULES[order], TWO_COLOR, ranks))


def _four_color_paths(topology: Topology, order: str = PAPER) -> RestrictedTopology:
    return coloured_paths(coloured_dragonfly(topology, FOUR_COLOR_RULES[order], FOUR_COLOR))


TWO_COLOR_PATHS = PathSet(
    _two_color_paths,
    "hierarchical over gateways of two colours, acyclic (dragonfly, trunking 2)",
    "Camarero et al., TACO 2014, section 6.1",
    families=("dragonfly",),
    parameters=(ORDER, RANKS),
)
FOUR_COLOR_PATHS = PathSet(
    _four_color_paths,
    "hierarchical over gateways of four colours, acyclic (dragonfly, trunking 4)",
    "Camarero et al., TACO 2014, section 6.2",
    families=("dragonfly",),
    parameters=(ORDER,),
)
