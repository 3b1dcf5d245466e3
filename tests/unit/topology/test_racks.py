"""Racks: sets of routers on the floor, the links between them, and the lengths of cables."""

import networkx as nx
import numpy as np
import pytest

from topology.costs.racks import Racks, links_of_racks, racks_of
from topology.networkx_graphs import from_networkx
from topology.registry import make_topology

GRAPHS = [
    ("polarfly", {"q": 5}),
    ("polarfly", {"q": 5, "expand": "quadric:2"}),
    ("polarstar", {"q": 4, "supernode": "iq", "degree": 3}),
    ("slimfly", {"q": 5}),
    ("dragonfly", {"a": 4, "h": 2, "trunking": 2}),
    ("fat-tree", {"arity": 4, "levels": 3}),
    ("multi-layer-full-mesh", {"h": 4}),
    ("hyperx", {"shape": "5x4x3"}),
    ("hyperx", {"shape": "4"}),
    ("torus", {"shape": "4x4"}),
    ("dln", {"routers": 20, "shortcuts": 2}),
]
IDS = [f"{name} {params}" for name, params in GRAPHS]


@pytest.mark.parametrize(("name", "params"), GRAPHS, ids=IDS)
def test_every_link_is_inside_a_rack_or_between_two(name, params):
    graph = make_topology(name, params)
    racks = racks_of(graph)
    found = links_of_racks(graph, racks)
    counts = {}
    for link in graph.link_list:
        pair = tuple(sorted((int(racks.rack_of[link.a]), int(racks.rack_of[link.b]))))
        counts[pair] = counts.get(pair, 0) + 1
    between = {pair: number for pair, number in sorted(counts.items()) if pair[0] != pair[1]}
    assert found.bundles.tolist() == list(map(list, between))
    assert found.links.tolist() == list(between.values())
    assert found.inside.tolist() == [counts.get((rack, rack), 0) for rack in range(racks.count)]
    assert found.between + found.inside.sum() == graph.links
    assert racks.sizes.min() >= 1
    assert racks.sizes.sum() == graph.routers
    assert (racks.rows - 1) * racks.columns < racks.count <= racks.rows * racks.columns


@pytest.mark.parametrize("q", [3, 4, 5, 7, 8, 9])
def test_every_two_racks_of_slim_fly_have_2_q_links(q):
    """SC14, section VI-A: q racks of 2 q routers, completely joined by bundles of 2 q cables."""
    graph = make_topology("slimfly", {"q": q})
    racks = racks_of(graph)
    links = links_of_racks(graph, racks)
    assert racks.sizes.tolist() == [2 * q] * q
    assert len(links.bundles) == q * (q - 1) // 2
    assert set(links.links.tolist()) == {2 * q}


@pytest.mark.parametrize("q", [3, 5, 7, 9])
def test_racks_of_polarfly_are_its_clusters_and_the_quadrics(q):
    """PolarFly (SC22), section V: q + 1 links to the quadrics' rack, q - 2 between two others."""
    graph = make_topology("polarfly", {"q": q})
    racks = racks_of(graph)
    links = links_of_racks(graph, racks)
    quadrics = int(racks.rack_of[graph.vertex_classes.quadrics[0]])
    assert racks.count == q + 1
    assert np.flatnonzero(racks.rack_of == quadrics).tolist() == sorted(graph.vertex_classes.quadrics)
    with_quadrics = (links.bundles == quadrics).any(axis=1)
    assert links.links[with_quadrics].tolist() == [q + 1] * q
    assert set(links.links[~with_quadrics].tolist()) == {q - 2}


def test_dragonflies_have_a_group_in_a_rack_and_fat_trees_their_top_in_the_middle():
    groups = racks_of(make_topology("dragonfly", {"a": 4, "h": 2}))
    assert groups.rack_of.tolist() == [router // 4 for router in range(36)]
    tree = make_topology("fat-tree", {"arity": 4, "levels": 3})
    racks = racks_of(tree)
    assert sorted(set(racks.rack_of[tree.level_of == 2].tolist())) == [2, 3]
    assert racks.sizes.tolist() == [8] * 6
    links = links_of_racks(tree, racks)
    assert (links.inside.sum(), links.between) == (64, 64)


def test_a_hyperx_of_three_dimensions_lies_on_the_floor_by_two_of_them():
    racks = racks_of(make_topology("hyperx", {"shape": "5x4x3"}))
    assert (racks.count, racks.rows, racks.columns) == (20, 5, 4)
    graph = make_topology("hyperx", {"shape": "5x4x3"})
    links = links_of_racks(graph, racks)
    apart = np.abs(links.bundles[:, 0] - links.bundles[:, 1])
    same_row = links.bundles[:, 0] // 4 == links.bundles[:, 1] // 4
    assert (same_row | (apart % 4 == 0)).all()


def test_graphs_without_clusters_have_racks_as_large_as_slim_fly_s():
    racks = racks_of(make_topology("dln", {"routers": 50, "shortcuts": 2}))
    assert racks.sizes.tolist() == [10] * 5
    assert racks_of(from_networkx(nx.path_graph(2))).sizes.tolist() == [2]


def test_parallel_links_count_each():
    graph = from_networkx(nx.MultiGraph([(0, 1)] * 3 + [(1, 2)]))
    links = links_of_racks(graph, Racks(np.array([0, 1, 1]), 2))
    assert (links.links.tolist(), links.inside.tolist()) == ([3], [0, 1])


def test_steps_are_rows_and_columns():
    racks = Racks(np.arange(7), 3)
    assert racks.rows == 3
    assert racks.steps(np.array([[0, 1], [0, 3], [2, 3], [0, 6], [5, 6]])).tolist() == [1, 1, 3, 2, 3]
