"""Costs of networks: by hand, and prices that are checked."""

from dataclasses import replace

import networkx as nx
import pytest

from experiments.papers.prices import paper_prices
from topology.costs.cost import network_cost, router_ports
from topology.costs.prices import PRICES, prices_of
from topology.errors import ParameterError
from topology.networkx_graphs import from_networkx
from topology.registry import make_topology

# Numbers of which no two are alike, so that none can stand for another.
CONTENT = {
    "rate": 10,
    "electric-per-m": 2,
    "electric-fixed": 3,
    "optic-per-m": 5,
    "optic-fixed": 7,
    "router-per-port": 11,
    "router-fixed": -13,
    "lanes": 4,
    "lane-power": 0.5,
    "inside": 1.5,
    "overhead": 2,
    "rack": 3,
}
PRICED = prices_of(CONTENT)


def test_a_cable_is_as_long_as_the_rows_and_columns_between_racks_and_an_overhead():
    graph = make_topology("dragonfly", {"a": 2, "h": 1})  # a triangle of groups: 2 columns, 2 rows
    cost = network_cost(graph, 1, PRICED)
    assert (cost.endpoints, cost.ports, cost.racks, cost.bundles) == (6, 3, 3, 3)
    lengths = [1 * 3 + 2, 1 * 3 + 2, 2 * 3 + 2]  # racks 0-1, 0-2, 1-2
    assert cost.optic_metres == sum(lengths) / 3
    assert cost.optic_cost == sum(10 * (5 * length + 7) for length in lengths)
    assert cost.electric_cost == 3 * 10 * (2 * 1.5 + 3)
    assert cost.endpoint_cables_cost == 6 * 10 * (2 * 1.5 + 3)
    assert cost.routers_cost == 6 * (11 * 3 - 13)
    assert cost.power == 6 * 3 * 4 * 0.5
    assert cost.total == 1110 + 180 + 360 + 120
    assert cost.per_endpoint == cost.total / 6
    assert cost.power_per_endpoint == 6


def test_all_routers_have_the_ports_of_the_one_that_needs_most():
    tree = make_topology("fat-tree", {"arity": 4, "levels": 3})
    assert router_ports(tree, 4) == 8
    assert router_ports(tree, 5) == 9
    assert network_cost(tree, 5, PRICED).power == 48 * 9 * 4 * 0.5


def test_prices_are_never_negative():
    small = from_networkx(nx.path_graph(2))
    cheap = replace(PRICED, router_fixed=-1000, electric_fixed=-1000, optic_fixed=-1000)
    assert network_cost(small, 1, cheap).total == 0
    assert cheap.optic(1) == 0


def test_prices_of_the_paper_are_complete():
    prices = paper_prices()
    assert (prices.rate, prices.router(43)) == (40, pytest.approx(14174.9))
    assert prices.electric(1) == pytest.approx(39.4)
    assert prices.optic(5) == pytest.approx(128.188)
    assert "SC14" in prices.source


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"rat": 1}, r"key of prices must be one of source, .*got 'rat'; did you mean 'rate'\?"),
        ({"rate": None}, "prices must have rate"),
        ({"optic-per-m": -0.1}, "optic-per-m must be 0 to 1000000 .*got -0.1"),
        ({"lanes": "four"}, "lanes must be a whole number, .*got the text 'four'"),
        ({"lanes": 4.5}, "lanes must be a whole number, .*got 4.5"),
        ({"rack": float("nan")}, "rack must be 0 to 1000000 m, got nan"),
        ({"lane-power": True}, "lane-power must be a number, .*got True"),
        ({"router-fixed": float("-inf")}, "router-fixed must be -1000000 to 1000000"),
        ({"source": 3}, "source must be text, got 3"),
    ],
)
def test_wrong_prices_are_refused(changed, text):
    content = {key: value for key, value in {**CONTENT, **changed}.items() if value is not None}
    with pytest.raises(ParameterError, match=text):
        prices_of(content)


def test_declared_prices_are_those_of_the_record():
    assert [one.key for one in PRICES] == list(vars(PRICED))
