"""Readings of the model of costs: the choices that the paper's text leaves open, each with each.

Stated are the prices, 1 m inside racks, and the Manhattan distance and 2 m between them. Open are the cables
of endpoints, the ports of Slim Fly's routers (44 by its links and endpoints, 43 by the power of Table IV),
the levels of the fat tree whose cables are optic, its routers (all of one kind, or half as many with all
ports in use at the top), and the distance of racks.
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
# A tree of k-port routers at all three levels has 6 / k of them for an endpoint; 5 / k where those of the
# highest level use all of their ports.
_FOLDED = 5 / 6


@dataclass(frozen=True)
class Reading:
    """Choices that the text of the paper leaves open; the first ones are those of the default.

    Attributes:
        endpoint_cables: kind of the cables of endpoints, `electric` or `optic`; `no` if they do not count.
        ports_left_out: ports of each of Slim Fly's routers that do not count: none, or one.
        tree_optic: whether the cables of the fat tree are optic between all levels, or at the highest alone.
        tree_folded: whether the routers of the fat tree's highest level use all of their ports.
        rack: width and depth of a rack, in m.
    """

    endpoint_cables: str = ELECTRIC
    ports_left_out: int = 0
    tree_optic: bool = False
    tree_folded: bool = False
    rack: float = _METRES[0]

    def per_endpoint(self, family: str, cost: Cost, prices: Prices) -> float:
        """Returns the cost of an endpoint, in $.

        Args:
            family: the paper's abbreviation, as `FT-3`.
            cost: the cost of the network by the default.
            prices: the prices.
        """
        routers = cost.routers_cost
        if family == "SF" and routers:
            routers *= prices.router(cost.ports - self.ports_left_out) / prices.router(cost.ports)
        tree = family == "FT-3"
        if tree and self.tree_folded:
            routers *= _FOLDED
        metres = cost.optic_metres
        if prices.rack:  # else all racks are at one place, whatever their width
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
    """Returns the claims of Table IV's costs with which values agree.

    Args:
        values: key of a claim -> value; None where it cannot be had.
    """
    return [
        one
        for one in claims_of_item("slimfly", "table4")
        if (value := values.get(one.key)) is not None and one.holds(value)
    ]
