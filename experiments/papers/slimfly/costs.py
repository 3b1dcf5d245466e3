"""Costs and power of Slim Fly and other networks (Table IV, Fig 11).

The text of the paper states prices, the racks of Slim Fly, cables of 1 m inside racks, and the Manhattan
distance plus 2 m between racks. For what it leaves open, this module decides:

- A range of costs extends between two networks of a family: the nearest in endpoints, and the largest whose
  routers have at most as many ports as Slim Fly's.
- Cables of endpoints count, as electric cables of 1 m.
- Racks of other networks are placed by `topology.costs.racks`; each takes 1 m x 1 m.
- Routers of a DLN have the same ports and endpoints as Slim Fly's. Claims on DLN are not computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from math import ceil

from experiments.papers.model import ItemResult, Row, Scale
from experiments.papers.networks import network
from experiments.papers.prices import are_of_paper, paper_prices
from experiments.papers.slimfly.cost_readings import Reading, agreeing, all_readings
from experiments.papers.slimfly.networks import FAMILIES, Balanced, matching_dln, nearest
from topology.costs.cost import Cost, network_cost, router_ports
from topology.costs.prices import Prices

SLIM_FLY = Balanced(network("SF", "slimfly", q=19), 15, 10_830)
_COMPARED = ("DF", "FT-3", "FBF-3")
_MIN_ENDPOINTS = 50  # a dragonfly with 6 endpoints would stretch the axes
_LIMIT, _QUICK_LIMIT = 20_000, 6000  # largest numbers of endpoints
_MORE = 1500  # minimum number of endpoints to add to Slim Fly


def costs(scale: Scale) -> ItemResult:
    """Returns cost and power of Slim Fly and of networks with as many endpoints or ports (Table IV)."""
    prices = scale.prices or paper_prices()
    slim_fly, grown = _cost(SLIM_FLY, prices), _cost(_grown(), prices)
    same_size = {name: nearest(name, SLIM_FLY.endpoints) for name in _COMPARED}
    same_ports = {name: _of_ports(name, slim_fly.ports) for name in _COMPARED}
    rows = [
        _row("itself", SLIM_FLY, prices),
        _row("more endpoints", _grown(), prices),
        *(_row("same size", one, prices) for one in same_size.values()),
        *(_row("same ports", one, prices) for one in same_ports.values()),
        _row("same routers", matching_dln(SLIM_FLY), prices),
    ]
    sizes = {name: [one for one in FAMILIES[name] if one.endpoints <= _LIMIT] for name in ("SF", "DF")}
    values = {
        "SF power": slim_fly.power_per_endpoint,
        "more endpoints": _change(grown.per_endpoint, slim_fly.per_endpoint),
        **{f"{name} sizes": len(own) for name, own in sizes.items()},
        **_compared_costs(Reading(), prices),
    }
    return ItemResult({key: value for key, value in values.items() if value is not None}, rows)


def costs_by_reading(scale: Scale) -> ItemResult:
    """Returns the costs of Table IV by every reading of the cost model.

    Claims are compared only at the paper's prices.
    """
    prices = scale.prices or paper_prices()
    rows: list[Row] = []
    for reading in all_readings():
        values = _compared_costs(reading, prices)
        compared = values if are_of_paper(prices) else {}
        agree = agreeing(compared)
        rows.append(
            {
                **asdict(reading),
                **{key: None if value is None else round(value, 3) for key, value in values.items()},
                "agree": len(agree),
                "of": len(compared),
                "claims": ", ".join(claim.key for claim in agree),
            }
        )
    return ItemResult({}, rows)


def _compared_costs(reading: Reading, prices: Prices) -> dict[str, float | None]:
    """Returns the costs per endpoint in Table IV, by the keys of their claims.

    A relative difference is None if the network that it refers to costs nothing at a user's own prices.
    """
    slim_fly = reading.per_endpoint("SF", _cost(SLIM_FLY, prices), prices)
    of_size = {name: nearest(name, SLIM_FLY.endpoints) for name in _COMPARED}
    of_ports = {name: _of_ports(name, _ports(SLIM_FLY)) for name in _COMPARED}
    both = [
        {name: reading.per_endpoint(name, _cost(one, prices), prices) for name, one in chosen.items()}
        for chosen in (of_size, of_ports)
    ]
    values: dict[str, float | None] = {"SF cost": slim_fly}
    for name, family in (("DF", "DF"), ("FT", "FT-3")):
        values[f"{name} cost least"] = min(one[family] for one in both)
        values[f"{name} cost most"] = max(one[family] for one in both)
    for name, cost in both[0].items():
        more = _change(slim_fly, cost)
        values[f"under {name}"] = None if more is None else -more
    return values


def _change(cost: float, base: float) -> float | None:
    """Returns the relative difference of a cost to a base; None if the base is 0."""
    return cost / base - 1 if base else None


def costs_by_size(scale: Scale) -> ItemResult:
    """Returns cost and power of balanced networks with 50 endpoints or more (Fig 11)."""
    prices = scale.prices or paper_prices()
    limit = _QUICK_LIMIT if scale.quick else _LIMIT
    rows: list[Row] = []
    for members in FAMILIES.values():
        rows += [_row("balanced", one, prices) for one in members if _MIN_ENDPOINTS <= one.endpoints <= limit]
    return ItemResult({}, rows)


def _ports(one: Balanced) -> int:
    return router_ports(one.network.graph(), one.hosts)


@cache
def _cost(one: Balanced, prices: Prices) -> Cost:
    return network_cost(one.network.graph(), one.hosts, prices)


def _grown() -> Balanced:
    """Returns the paper's Slim Fly with at least 1,500 more endpoints, equally many at each router."""
    routers = SLIM_FLY.network.graph().routers
    hosts = SLIM_FLY.hosts + ceil(_MORE / routers)
    return Balanced(SLIM_FLY.network, hosts, routers * hosts)


def _of_ports(family: str, ports: int) -> Balanced:
    """Returns the largest network of a family whose routers have no more ports than a limit.

    Args:
        family: the paper's abbreviation, one of FAMILIES.
        ports: the limit, counting all ports of a router.
    """

    def fitting() -> Iterator[Balanced]:
        for one in FAMILIES[family]:
            if _ports(one) <= ports:
                yield one

    return max(fitting(), key=lambda one: one.endpoints)


def _row(chosen: str, one: Balanced, prices: Prices) -> Row:
    """Returns the row of a network.

    Args:
        chosen: reason in words for which the network is compared, such as `same size`.
        one: the network.
        prices: the prices.
    """
    cost = _cost(one, prices)
    return {
        "family": one.network.label,
        "chosen": chosen,
        "endpoints": cost.endpoints,
        "routers": one.network.graph().routers,
        "ports": cost.ports,
        "racks": cost.racks,
        "electric_cables": cost.electric_cables,
        "optic_cables": cost.optic_cables,
        "bundles": cost.bundles,
        "optic_m": round(cost.optic_metres, 3),
        "routers_cost": round(cost.routers_cost / cost.endpoints, 2),
        "endpoint_cables_cost": round(cost.endpoint_cables_cost / cost.endpoints, 2),
        "electric_cost": round(cost.electric_cost / cost.endpoints, 2),
        "optic_cost": round(cost.optic_cost / cost.endpoints, 2),
        "cost_per_endpoint": round(cost.per_endpoint, 2),
        "power_per_endpoint": round(cost.power_per_endpoint, 3),
    }
