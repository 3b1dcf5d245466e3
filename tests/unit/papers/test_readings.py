"""Readings of Slim Fly's shares of failed links, and the evidence of the findings about them."""

import math

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path

from experiments.papers.claims import claims_of_item
from experiments.papers.model import Scale
from experiments.papers.slimfly.links import disconnections
from experiments.papers.slimfly.readings import STEPS, isolating_share, last_step, small_distances
from topology.analysis.resilience import distances_after, failure_orders, link_ends
from topology.networkx_graphs import from_networkx
from topology.registry import make_topology


@pytest.mark.parametrize(
    ("parts", "least", "step"),
    [
        ([1.0, 0.9, 0.5], 0.9, 0.05),
        ([1.0, 0.9, 0.5], 0.5, 0.95),  # kept at every step
        ([1.0, 0.5, 1.0], 0.9, 0.0),  # the first step that is not kept is the end
        ([1.0, 1.0, 0.89], 0.9, 0.05),
    ],
)
def test_the_last_step_is_the_one_before_the_first_that_fewer_runs_survive(parts, least, step):
    filled = np.array(parts + parts[-1:] * (len(STEPS) - len(parts)))
    assert last_step(filled, least) == step


def test_routers_without_links_by_formula():
    hypercube = make_topology("hypercube", {"dimension": 10})
    assert isolating_share(hypercube) == pytest.approx((math.log(2) / 1024) ** 0.1)


def test_distances_of_a_complete_graph_grow_by_one_hop():
    """Of K_4 with 6 links, 5 % of which are none and 20 % are one: its ends are then two hops apart."""
    parts = small_distances(from_networkx(nx.complete_graph(4)), 20)
    assert parts[0.2] == {"diameter_4": 1, "diameter_two_more": 1, "path_one_more": 1}
    # Three links that are left make a tree, of average path 1.5 or 1.67, or leave a router alone.
    assert parts[0.5]["path_one_more"] == parts[0.5]["diameter_4"] < 1
    assert parts[0.75] == {"diameter_4": 0, "diameter_two_more": 0, "path_one_more": 0}


def test_table_3_is_within_a_step_of_what_nine_of_ten_orders_survive():
    """The finding about Table III: not the step that half of the orders survive, but the one that most do."""
    found = disconnections(Scale(seeds=60))
    rows = found.rows
    paper = {claim.value for claim in claims_of_item("slimfly", "table3")}
    assert len(rows) == 18
    assert {row["paper"] for row in rows} <= paper
    assert all(abs(row["connected_90"] - row["paper"]) < 0.051 for row in rows)
    assert 12 <= sum(abs(row["connected_half"] - row["paper"]) < 0.051 for row in rows) <= 16
    assert [value.value for value in found.values.values()] == [row["connected_half"] for row in rows]
    assert all(value.interval[0] <= value.value <= value.interval[1] for value in found.values.values())
    assert sum(abs(row["disconnection"] - row["paper"]) < 0.051 for row in rows) < 8
    assert all(row["connected_there"] > (0.5 if row["network"] == "DLN" else 0.6) for row in rows)
    # The formula has the same medians without any failures at random.
    assert all(row["disconnection"] == pytest.approx(row["router_without_links"], abs=0.02) for row in rows)


def diameter_after(graph, share):
    [found] = distances_after(graph, failure_orders(graph, 1)[0], [share])
    return found.diameter


def test_the_diameter_of_a_dragonfly_depends_on_the_order_of_its_global_links():
    """The finding about section III-D2: 4 at 25 % with random links, and 5 at 5 % in the palmtree."""
    assert diameter_after(make_topology("dragonfly", {"a": 14, "h": 7}), 0.05) == 5
    random = {"a": 16, "h": 8, "trunking": 2, "arrangement": "random"}
    assert diameter_after(make_topology("dragonfly", random), 0.25) == 4


def test_average_paths_of_a_five_dimensional_torus_between_routers_that_are_still_joined():
    """The finding about section III-D3: at 55 % they have grown by less than a hop, at 60 % by more."""
    graph = make_topology("torus", {"shape": "6x6x6x6x6"})
    ends, order = link_ends(graph), failure_orders(graph, 1)[0]
    sources = np.random.default_rng(1).choice(graph.routers, 60, replace=False)
    means = []
    for share in (0, 0.55, 0.6):
        left = ends[order[round(share * len(order)) :]]
        matrix = csr_matrix((np.ones(len(left)), left.T), shape=(graph.routers, graph.routers))
        found = shortest_path(matrix, directed=False, unweighted=True, indices=sources)
        means.append(found[np.isfinite(found) & (found > 0)].mean())
    assert means[1] < means[0] + 1 < means[2]
