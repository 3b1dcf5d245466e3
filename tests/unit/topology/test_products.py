"""HyperX, tori and hypercubes beside products of networkx; shapes that do not exist."""

import networkx as nx
import numpy as np
import pytest

from topology.errors import ParameterError
from topology.families.classic.hypercube import Hypercube
from topology.families.classic.hyperx import HyperX
from topology.families.classic.torus import Torus


def product(graphs):
    """Returns the links of a Cartesian product of graphs of 0 .. k - 1, its vertices numbered in order."""
    whole = nx.empty_graph(1)
    for graph in graphs:
        vertices = len(graph)
        whole = nx.relabel_nodes(nx.cartesian_product(whole, graph), lambda v, k=vertices: v[0] * k + v[1])
    return {(min(edge), max(edge)) for edge in whole.edges}


def links(topology):
    return {(link.a, link.b) for link in topology.link_list}


SHAPES = ["2", "5", "3x4", "4x4", "2x2x3", "2x3x4", "5x2x3"]


@pytest.mark.parametrize("shape", SHAPES)
def test_hyperx_is_a_product_of_complete_graphs(shape):
    assert links(HyperX(shape)) == product([nx.complete_graph(int(size)) for size in shape.split("x")])


@pytest.mark.parametrize("shape", [*SHAPES, "6x5", "8"])
def test_torus_is_a_product_of_rings_with_single_links_of_two(shape):
    rings = [nx.Graph(nx.cycle_graph(int(size)).edges) for size in shape.split("x")]
    assert links(Torus(shape)) == product(rings)


@pytest.mark.parametrize("dimension", range(1, 7))
def test_hypercube_links_numbers_that_differ_in_one_bit(dimension):
    everyone = range(2**dimension)
    expected = {(a, b) for a in everyone for b in everyone if a < b and (a ^ b).bit_count() == 1}
    assert links(Hypercube(dimension)) == expected
    assert Hypercube(dimension).diameter == dimension


@pytest.mark.parametrize("shape", ["5x4", "2x3x4", "8"])
@pytest.mark.parametrize("family", [HyperX, Torus])
def test_coordinates_are_those_of_the_router_order_and_a_link_changes_one(family, shape):
    topology = family(shape)
    sizes = [int(size) for size in shape.split("x")]
    assert topology.coordinates.tolist() == [list(place) for place in np.ndindex(*sizes)]
    for link in topology.link_list:
        assert np.count_nonzero(topology.coordinates[link.a] != topology.coordinates[link.b]) == 1


@pytest.mark.parametrize("topology", [HyperX("4x5"), Torus("3x4x2"), Torus("7"), Hypercube(5)], ids=repr)
def test_the_counts_of_pairs_are_those_of_all_distances(topology):
    everyone = np.arange(topology.routers)
    counts = np.bincount(topology.distances(everyone[:, None], everyone).ravel())
    assert topology.pairs_by_distance() == {d: int(n) for d, n in enumerate(counts) if d}


@pytest.mark.parametrize(
    ("shape", "named"),
    [
        ("4x", r"^shape must be sizes .* got '4x'$"),
        ("4,4", "got '4,4'"),
        ("", "got ''"),
        ("-4x4", "got '-4x4'"),
        ("0x4", "got '0x4'"),
        ("4X4", "got '4X4'"),
        ("1x4", "nearest: 2x4"),
        ("129x128", "^shape must have at most 16384 routers, got '129x128' with 16512; nearest: 128x128$"),
        (44, "got 44"),
    ],
)
@pytest.mark.parametrize("family", [HyperX, Torus])
def test_shapes_that_do_not_exist(family, shape, named):
    with pytest.raises(ParameterError, match=named):
        family(shape)


@pytest.mark.parametrize("dimension", [0, 15, 3.0, True])
def test_hypercubes_that_do_not_exist(dimension):
    with pytest.raises(ParameterError, match=r"^dimension must be .*1 to 14, got"):
        Hypercube(dimension)


def test_clusters_are_slices_and_subcubes():
    assert [len(cluster) for cluster in HyperX("3x5").clusters().members] == [5, 5, 5]
    assert HyperX("5").clusters().members == Hypercube(1).clusters().members == ()
    assert [len(cluster) for cluster in Hypercube(5).clusters().members] == [8, 8, 8, 8]
