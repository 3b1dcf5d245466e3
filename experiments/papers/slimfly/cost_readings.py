"""Readings of the cost model: all combinations of the choices that the paper's text leaves open.

The text states the prices, cables of 1 m inside racks, and the Manhattan distance plus 2 m between racks. It
leaves open:

- the cables of endpoints;
- the ports of Slim Fly's routers: 44 by its links and endpoints, 43 by the power in Table IV;
- the levels of the fat tree with optic cables;
- the fat tree's routers: all of one kind, or half as many at the top with all ports in use;
- the distance between racks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from experiments.papers.claims import Claim, claims_of_item
from topology.costs.cost import Cost
from topology.costs.prices import Prices

NO, ELECTRIC, OPTIC = "no", "electric", "optic"
_METRES = (1, 2, 3)
# A tree of three levels needs 6 / k routers of k ports per endpoint, or 5 / k if routers of the highest level
# use all their ports.
_FOLDED = 5 / 6


@dataclass(frozen=True)
class Reading:
    """Choices that the text of the paper leaves open.

    Attributes:
        endpoint_cables: kind of the endpoints' cables, `electric` or `optic`; `no` if they do not count.
        ports_left_out: ports of each Slim Fly router that do not count, 0 or 1.
        tree_optic: whether the fat tree's cables are optic between all levels instead of the highest only.
        tree_folded: whether the routers of the fat tree's highest level use all their ports.
        rack: width and depth of a rack, in m.
    """

    endpoint_cables: str = ELECTRIC
    ports_left_out: int = 0
    tree_optic: bool = False
    tree_folded: bool = False
    rack: float = _METRES[0]

    def per_endpoint(self, family: str, cost: Cost, prices: Prices) -> float:
        """Returns the cost per endpoint, in $.

        Args:
            family: the paper's abbreviation, such as `FT-3`.
            cost: the cost of the network by the default reading.
            prices: the prices.
        """
        routers = cost.routers_cost
        if family == "SF" and routers:
            routers *= prices.router(cost.ports - self.ports_left_out) / prices.router(cost.ports)
        tree = family == "FT-3"
        if tree and self.tree_folded:
            routers *= _FOLDED
        metres = cost.optic_metres
        if prices.rack:  # otherwise all racks are in one place, whatever their width
            metres = prices.overhead + self.rack / prices.rack * (metres - prices.overhead)
        electric, optic = prices.electric(prices.inside), prices.optic(metres)
        inside = optic if tree and self.tree_optic else electric
        each = {NO: 0.0, ELECTRIC: electric, OPTIC: prices.optic(prices.inside)}[self.endpoint_cables]
        cables = cost.electric_cables * inside + cost.optic_cables * optic + cost.endpoint_cables * each
        return (routers + cables) / cost.endpoints


def all_readings() -> list[Reading]:
    """Returns all combinations of the choices, the default first."""
    open_choices = ((ELECTRIC, OPTIC, NO), (0, 1), (False, True), (False, True), _METRES)
    return [Reading(*choices) for choices in product(*open_choices)]


def agreeing(values: Mapping[str, float | None]) -> list[Claim]:
    """Returns the claims on Table IV's costs that agree with the computed values.

    Args:
        values: key of a claim -> value; None if it cannot be computed.
    """
    return [
        one
        for one in claims_of_item("slimfly", "table4")
        if (value := values.get(one.key)) is not None and one.holds(value)
    ]
