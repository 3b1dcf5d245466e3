"""Classes of routers against all permutations of small graphs, and of networks of known symmetry."""

import itertools

import networkx as nx
import numpy as np
import pytest

from topology.analysis.symmetry import router_classes
from topology.errors import ParameterError
from topology.families.classic.torus import Torus
from topology.families.hierarchical.fat_tree import FatTree
from topology.families.low_diameter.polarfly import PolarFly
from topology.networkx_graphs import from_networkx


def classes_by_all_permutations(topology):
    """Returns the class of every router, each named by its lowest router."""
    copies = np.zeros((topology.routers, topology.routers), int)
    for link in topology.link_list:
        copies[link.a, link.b] += 1
        copies[link.b, link.a] += 1
    hosts = topology.host_counts(1)
    lowest = np.arange(topology.routers)
    for images in map(list, itertools.permutations(range(topology.routers))):
        if (copies[np.ix_(images, images)] == copies).all() and (hosts[images] == hosts).all():
            lowest = np.minimum(lowest, images)
    return lowest.tolist()


@pytest.mark.parametrize("seed", range(12))
def test_classes_are_those_of_all_automorphisms(seed):
    """Random trees with a few further links, some of them parallel, and different numbers of hosts."""
    generator = np.random.default_rng(seed)
    graph = nx.MultiGraph((router, int(generator.integers(router))) for router in range(1, 6))
    graph.add_edges_from(generator.permutation(6)[:2].tolist() for _ in range(seed % 3))
    nx.set_node_attributes(graph, dict(enumerate((generator.random(6) < 0.8).astype(int).tolist())), "hosts")
    graph.nodes[0]["hosts"] = 1 + seed % 2
    topology = from_networkx(graph)
    found = router_classes(topology)
    assert [found.representatives[one] for one in found.class_of] == classes_by_all_permutations(topology)


def test_parallel_links_are_not_one_link():
    """BLISS by itself would exchange the ends of a path, of whose links the first is double."""
    path = from_networkx(nx.MultiGraph([(0, 1), (0, 1), (1, 2)]))
    assert router_classes(path).sizes == (1, 1, 1)


@pytest.mark.parametrize(
    ("topology", "sizes"),
    [
        (Torus("3x4"), (12,)),
        # q (q + 1) / 2 routers with two quadrics, q (q - 1) / 2 with none, q + 1 quadrics.
        (PolarFly(7), (28, 21, 8)),
        (FatTree(2, 3), (4, 4, 4)),
    ],
    ids=repr,
)
def test_networks_of_known_symmetry(topology, sizes):
    found = router_classes(topology)
    assert found.sizes == sizes
    assert tuple(np.bincount(found.class_of)) == sizes
    assert all(found.class_of[first] == number for number, first in enumerate(found.representatives))


def test_graphs_that_are_too_large_are_refused():
    with pytest.raises(ParameterError, match=r"routers .* 5000 .*, got 5041"):
        router_classes(Torus("71x71"))
