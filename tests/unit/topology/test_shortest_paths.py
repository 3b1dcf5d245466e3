"""Shortest paths by search, and connected components of what failures leave."""

import networkx as nx
import numpy as np
import pytest
from support.builders.leaf_spine import LeafSpine

from topology.failures import NO_FAILURE, Failure, failure_of, link_failures, switch_failures
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import parse_components
from topology.shortest_paths import (
    SearchedTopology,
    adjacency_from_links,
    all_distances,
    connected_components,
    counted_pairs,
    host_pairs_by_distance,
)

CHAIN = SearchedTopology(adjacency_from_links(3, np.array([[0, 1], [1, 2]])))


@pytest.mark.parametrize("routers", [2, 40, 256, 257])
def test_distances_are_those_of_networkx_for_either_method(routers):
    graph = nx.gnp_random_graph(routers, 2.5 / routers, seed=routers)
    joined = nx.to_numpy_array(graph).astype(bool)
    expected = np.full(joined.shape, np.inf)
    for source, lengths in nx.all_pairs_shortest_path_length(graph):
        for destination, length in lengths.items():
            expected[source, destination] = length
    assert (all_distances(joined) == expected).all()


def test_all_shortest_paths_are_minimal_routes():
    leaf_spine = LeafSpine(leaves=4, spines=3)
    assert leaf_spine.minimal_port_mask(0)[:, 1].tolist() == [True, True, True]
    assert leaf_spine.minimal_ports(0)[1:4] == [(1, 2, 3)] * 3
    assert leaf_spine.minimal_ports(0)[4:] == [(1,), (2,), (3,)]
    assert leaf_spine.minimal_ports(0)[0] == ()
    assert leaf_spine.next_hops(0, [1, 2, 3]).tolist() == [4, 4, 4]
    assert leaf_spine.pairs_by_distance() == {1: 2 * 12, 2: 4 * 3 + 3 * 2}


@pytest.mark.parametrize("routers", [1, 2, 70, 600])
def test_pairs_are_counted_as_a_table_has_them(routers):
    """More sources than are counted at a time, and pairs of some routers, which have not every distance."""
    tree = nx.random_labeled_tree(routers, seed=routers)
    graph = adjacency_from_links(routers, np.array(tree.edges, int).reshape(-1, 2))
    table = all_distances(nx.to_numpy_array(tree, nodelist=range(routers)).astype(bool))
    for among in (np.arange(routers), np.arange(0, routers, 3)):
        distances, counts = np.unique(table[np.ix_(among, among)], return_counts=True)
        expected = dict(zip(distances.tolist(), counts.tolist(), strict=True))
        assert counted_pairs(graph, among) == {d: n for d, n in expected.items() if d}


def test_pairs_of_hosts_are_counted_without_a_table():
    leaf_spine = LeafSpine(leaves=4, spines=3)
    assert host_pairs_by_distance(leaf_spine) == {2: 4 * 3}
    assert "distance_table" not in vars(leaf_spine)


def test_links_become_neighbour_lists_of_both_ends():
    adjacency = adjacency_from_links(4, np.array([[2, 1], [0, 1], [1, 2]]))
    assert adjacency.starts.tolist() == [0, 1, 4, 6, 6]
    assert adjacency.neighbours.tolist() == [1, 0, 2, 2, 1, 1]


def test_components_are_numbered_by_their_first_routers():
    first, second = link_failures(CHAIN)
    both = Failure("both", first.failed_ends | second.failed_ends)
    assert connected_components(CHAIN) == connected_components(CHAIN, NO_FAILURE) == [0, 0, 0]
    assert connected_components(CHAIN, first) == [0, 1, 1]
    assert connected_components(CHAIN, second) == [0, 0, 1]
    assert connected_components(CHAIN, both) == [0, 1, 2]


def test_failed_routers_are_components_by_themselves():
    for router, failure in enumerate(switch_failures(PolarFly(3))):
        components = connected_components(PolarFly(3), failure)
        assert components.count(components[router]) == 1
        assert len(set(components)) == 2


def test_a_parallel_link_keeps_its_ends_together():
    double = SearchedTopology(adjacency_from_links(2, np.array([[0, 1], [0, 1]])))
    for text, expected in (("link:s1-s2.1", [0, 0]), ("link:s1-s2", [0, 1])):
        failure = failure_of(double, parse_components(text, double, 1))
        assert connected_components(double, failure) == expected


@pytest.mark.parametrize("seed", range(20))
def test_components_are_those_of_networkx(seed):
    graph = PolarFly(4)
    generator = np.random.default_rng(seed)
    order = generator.permutation(graph.links)
    failed = int(generator.integers(graph.links // 2, graph.links + 1))
    ends = frozenset(end for link in order[:failed] for end in graph.link_list[link].ends)
    left = nx.Graph()
    left.add_nodes_from(range(graph.routers))
    left.add_edges_from((graph.link_list[link].a, graph.link_list[link].b) for link in order[failed:])
    expected = np.empty(graph.routers, int)
    for number, members in enumerate(sorted(nx.connected_components(left), key=min)):
        expected[list(members)] = number
    assert connected_components(graph, Failure("links", ends)) == expected.tolist()
