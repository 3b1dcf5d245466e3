"""Failures of links in random orders, against union of components one link after another."""

import math

import networkx as nx
import numpy as np
import pytest

from topology.analysis.resilience import (
    Resilience,
    distances_after,
    failure_orders,
    link_ends,
    resilience,
    survived_failures,
)
from topology.networkx_graphs import from_networkx
from topology.registry import make_topology


def survived_one_by_one(routers, ends, order):
    """Returns the number of failures that leave a graph connected, by removing one link after another."""
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(routers))
    graph.add_edges_from((a, b, link) for link, (a, b) in enumerate(ends.tolist()))
    for failed, link in enumerate(order.tolist()):
        graph.remove_edge(*ends[link].tolist(), link)
        if not nx.is_connected(graph):
            return failed
    raise AssertionError("a graph without links is connected")


GRAPHS = [
    make_topology("polarfly", {"q": 3}),
    make_topology("fat-tree", {"arity": 3, "levels": 3}),
    make_topology("dragonfly", {"a": 4, "h": 3, "trunking": 4}),
    from_networkx(nx.MultiGraph([(0, 1)] * 4 + [(1, 2)] * 3)),
]


@pytest.mark.parametrize("topology", GRAPHS, ids=str)
def test_failures_until_disconnection_are_those_of_a_search_after_each(topology):
    ends = link_ends(topology)
    assert len(ends) == topology.links
    random = np.random.default_rng(1)
    for _ in range(10):
        order = random.permutation(len(ends))
        assert survived_failures(topology.routers, ends, order) == survived_one_by_one(
            topology.routers, ends, order
        )


def test_a_tree_falls_apart_with_its_first_link():
    tree = from_networkx(nx.path_graph(5))
    assert resilience(tree, 3).shares.tolist() == [0.25] * 3


def test_a_cycle_falls_apart_with_its_second_link():
    assert resilience(from_networkx(nx.cycle_graph(8)), 5).median == 0.25


def test_polarfly_of_the_paper():
    """Separate measurement: median 0.78, diameter 4 at 5, 30 and 55 %, mean distances 2.06, 2.48 and 2.82."""
    topology = make_topology("polarfly", {"q": 31})
    found = resilience(topology, 30)
    assert found.median == pytest.approx(0.78, abs=0.02)
    distances = distances_after(topology, found.order, [0.05, 0.3, 0.55, 0.95])
    assert [one.diameter for one in distances] == [4, 4, 4]
    assert [one.average_path_length for one in distances] == pytest.approx([2.06, 2.48, 2.82], abs=0.01)


def test_distances_of_what_is_left_are_those_of_a_search():
    topology = make_topology("torus", {"shape": "4x4"})
    order = resilience(topology, 5).order
    [found] = distances_after(topology, order, [0.1])
    left = nx.Graph(link_ends(topology)[order[round(0.1 * len(order)) :]].tolist())
    assert found.diameter == nx.diameter(left)
    assert found.average_path_length == pytest.approx(nx.average_shortest_path_length(left))


def test_the_median_run_and_its_interval():
    shares = np.linspace(0.01, 1, 100)
    found = Resilience(shares, np.arange(3))
    assert found.median == pytest.approx(0.5)
    assert found.interval == pytest.approx((0.4, 0.61))  # between them are 40 to 60 of 100 fair coins
    assert sum(math.comb(100, heads) for heads in range(40, 61)) / 2**100 > 0.95
    assert Resilience(shares[:6], np.arange(3)).interval == pytest.approx((0.01, 0.06))
    assert Resilience(shares[:5], np.arange(3)).interval is None


@pytest.mark.parametrize("topology", GRAPHS, ids=str)
def test_runs_that_stay_connected_are_those_that_survive_as_many_failures(topology):
    found = resilience(topology, 12)
    ends, links = link_ends(topology), topology.links
    survived = [survived_one_by_one(topology.routers, ends, order) for order in failure_orders(topology, 12)]
    for failed in range(links + 1):
        part = sum(failed <= most for most in survived) / 12
        assert found.connected(failed / links) == pytest.approx(part)
