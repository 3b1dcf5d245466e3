"""Balanced shortest paths and their layers without circles, against searches of networkx."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from routing.deadlock.balanced_paths import balanced_paths
from routing.deadlock.layers import divide_into_layers
from topology.registry import make_topology

GRAPHS = {
    "slimfly 5": ("slimfly", {"q": 5}, 4),
    "dln 20": ("dln", {"routers": 20, "shortcuts": 2}, 2),
    "torus 4x4": ("torus", {"shape": "4x4"}, 1),
    "fat tree 3/3": ("fat-tree", {"arity": 3, "levels": 3}, 2),
    "dragonfly 4/2/5": ("dragonfly", {"a": 4, "h": 2, "groups": 5, "trunking": 2}, 2),
}


def built(name):
    family, params, hosts = GRAPHS[name]
    return make_topology(family, params), hosts


def ends_of(topology):
    """Returns the routers at both ends of each directed link, in the order of their numbers."""
    return [(r, int(n)) for r in range(topology.routers) for n in topology.neighbours(r)]


@pytest.mark.parametrize("name", GRAPHS)
def test_paths_are_the_lightest_shortest_ones_tree_by_tree(name):
    """A link's weight is the packets of the trees before; Dijkstra's search finds none that is lighter."""
    topology, hosts = built(name)
    ends, counts = ends_of(topology), topology.host_counts(hosts)
    paths = [[link for link in path if link >= 0] for path in balanced_paths(topology, hosts).tolist()]
    sources = [router for router in range(topology.routers) if counts[router]]
    assert len(paths) == (len(sources) - 1) * sum(counts)
    weights = [0] * len(ends)
    for first in range(0, len(paths), len(sources) - 1):
        tree = paths[first : first + len(sources) - 1]
        graph = nx.DiGraph()
        for (tail, head), weight in zip(ends, weights, strict=True):
            step = 10**9 + weight  # of equal lengths, the lighter
            if not graph.has_edge(head, tail) or graph[head][tail]["cost"] > step:
                graph.add_edge(head, tail, cost=step)
        [destination] = {ends[path[-1]][1] for path in tree}
        least = nx.single_source_dijkstra_path_length(graph, destination, weight="cost")
        assert [ends[path[0]][0] for path in tree] == [one for one in sources if one != destination]
        for path in tree:
            assert all(ends[a][1] == ends[b][0] for a, b in pairwise(path))
            assert sum(10**9 + weights[link] for link in path) == least[ends[path[0]][0]]
        gained = [0] * len(ends)
        for path in tree:
            for link in path:
                gained[link] += int(counts[ends[path[0]][0]])
        weights = [old + new for old, new in zip(weights, gained, strict=True)]


def test_the_paths_of_the_rarest_dependency_of_a_circle_change_their_layer():
    """Three links in a circle; of the six paths of two links, one closes it."""
    paths = np.array([[0, 1]] * 3 + [[1, 2]] * 2 + [[2, 0]] + [[2, -1]])
    assert divide_into_layers(paths, 3) == [6, 1]


@pytest.mark.parametrize("name", GRAPHS)
def test_one_layer_is_enough_without_a_circle_alone(name):
    topology, hosts = built(name)
    paths = balanced_paths(topology, hosts)
    graph = nx.DiGraph((a, b) for path in paths.tolist() for a, b in pairwise(path) if b >= 0)
    sizes = divide_into_layers(paths, 2 * topology.links)
    assert (len(sizes) == 1) is nx.is_directed_acyclic_graph(graph)
    assert sum(sizes) == len(paths)
    assert all(sizes)


def test_balanced_paths_of_slim_flies_need_three_layers_and_two_where_hosts_share_paths():
    seven = make_topology("slimfly", {"q": 7})
    assert len(divide_into_layers(balanced_paths(seven, 6), 2 * seven.links)) == 3
    assert len(divide_into_layers(balanced_paths(seven, 1), 2 * seven.links)) == 2
