"""Triangles and simple paths, against networkx."""

import networkx as nx
import pytest

from topology.analysis.paths import simple_paths, triangles
from topology.registry import make_topology

GRAPHS = [
    make_topology("polarfly", {"q": 3}),
    make_topology("polarfly", {"q": 4}),
    make_topology("hyperx", {"shape": "3x3"}),
    make_topology("torus", {"shape": "3x3"}),
]


@pytest.mark.parametrize("topology", GRAPHS, ids=str)
def test_triangles_and_simple_paths_are_those_of_networkx(topology):
    graph = nx.Graph(topology.to_networkx())
    found = list(triangles(topology))
    assert len(found) == sum(nx.triangles(graph).values()) // 3
    assert all(a < b < c and graph.has_edge(a, b) and graph.has_edge(b, c) for a, b, c in found)
    counts = simple_paths(topology, 3)
    for source in graph:
        paths = [
            path for end in graph if end != source for path in nx.all_simple_paths(graph, source, end, 3)
        ]
        for length in (1, 2, 3):
            ends = [path[-1] for path in paths if len(path) == length + 1]
            assert counts[length, source].tolist() == [ends.count(end) for end in graph]
