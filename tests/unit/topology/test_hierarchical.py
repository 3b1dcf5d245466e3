"""Networks of levels: fat trees, Megafly and others beside constructions of their own."""

import itertools

import igraph
import networkx as nx
import numpy as np
import pytest

from topology.errors import ParameterError
from topology.families.hierarchical.fat_tree import FatTree
from topology.families.hierarchical.megafly import Megafly
from topology.families.hierarchical.multi_layer_full_mesh import MultiLayerFullMesh
from topology.families.hierarchical.orthogonal_fat_tree import OrthogonalFatTree
from topology.families.hierarchical.tree import Tree
from topology.shortest_paths import host_pairs_by_distance


def links(topology):
    return {(link.a, link.b) for link in topology.link_list}


def are_alike(topology, graph):
    """Returns whether a topology and a graph of networkx are isomorphic, levels to levels."""
    numbered = nx.convert_node_labels_to_integers(graph, label_attribute="name")
    levels = [data["level"] for _, data in numbered.nodes(data=True)]
    ours = igraph.Graph(topology.routers, list(links(topology)))
    theirs = igraph.Graph(len(numbered), list(numbered.edges))
    return ours.isomorphic_bliss(theirs, color1=topology.level_of.tolist(), color2=levels)


def tree_of_trees(arity, levels):
    """Returns the k-ary n-tree as k trees of one level less below a new level.

    The i-th of k^(n - 2) tops of every subtree is linked to the same k new routers, which no other is.
    """
    tree = nx.Graph()
    if levels == 1:
        tree.add_node("top", level=0)
        return tree, ["top"]
    below, tops = tree_of_trees(arity, levels - 1)
    new = [(f"{levels}", i, j) for i in range(len(tops)) for j in range(arity)]
    tree.add_nodes_from(new, level=levels - 1)
    for copy in range(arity):
        tree.update(nx.relabel_nodes(below, {node: (copy, node) for node in below}))
        tree.add_edges_from(((copy, tops[i]), (name, i, j)) for name, i, j in new)
    return tree, new


@pytest.mark.parametrize(("arity", "levels"), [(2, 2), (2, 3), (2, 4), (3, 3), (4, 2)])
def test_a_fat_tree_is_built_of_smaller_ones(arity, levels):
    assert are_alike(FatTree(arity, levels), tree_of_trees(arity, levels)[0])


@pytest.mark.parametrize(("arity", "levels"), [(2, 3), (3, 3), (4, 3), (2, 5)])
def test_hosts_are_at_the_edge_and_all_ways_up_are_minimal(arity, levels):
    tree = FatTree(arity, levels)
    edge = arity ** (levels - 1)
    assert tree.endpoints(arity) == arity**levels
    assert (tree.host_counts(3) == np.where(np.arange(tree.routers) < edge, 3, 0)).all()
    assert max(host_pairs_by_distance(tree)) == 2 * (levels - 1)
    # To another subtree of the whole tree: every port of an edge router leads upward.
    assert tree.minimal_port_mask(0)[:, edge - 1].all()
    for router in np.flatnonzero((tree.level_of > 0) & (tree.level_of < levels - 1)):
        mask = tree.minimal_port_mask(router)
        upward = tree.level_of[tree.neighbours(router)] > tree.level_of[router]
        ways = mask[:, :edge].sum(axis=0)
        assert set(ways.tolist()) == {1, arity}
        assert (mask[upward][:, :edge][:, ways == arity]).all()


@pytest.mark.parametrize(("arity", "levels"), [(2, 3), (3, 4), (5, 2)])
def test_the_counts_of_a_fat_trees_pairs_are_those_of_all_distances(arity, levels):
    tree = FatTree(arity, levels)
    everyone = np.arange(tree.routers)
    counts = np.bincount(tree.distances(everyone[:, None], everyone).ravel())
    assert tree.pairs_by_distance() == {d: int(n) for d, n in enumerate(counts) if d and n}


@pytest.mark.parametrize(("rho", "a"), [(1, 4), (2, 4), (2, 8), (3, 6), (1, 2)])
def test_a_megafly_is_a_palmtree_of_spines_with_leaves_below(rho, a):
    half, groups = a // 2, rho * a // 2 + 1
    expected = set()
    for group in range(groups):
        leaves, spines = range(group * a, group * a + half), range(group * a + half, (group + 1) * a)
        expected.update(itertools.product(leaves, spines))
        for spine, port in itertools.product(range(half), range(rho)):
            other = (group - 1 - (spine * rho + port)) % groups
            ends = group * a + half + spine, other * a + half + half - 1 - spine
            expected.add((min(ends), max(ends)))
    megafly = Megafly(rho=rho, a=a)
    assert links(megafly) == expected
    assert megafly.routers == a * groups
    assert megafly.endpoints(2) == a * groups
    assert max(host_pairs_by_distance(megafly)) == 3
    spines = megafly.gateways[megafly.gateways >= 0]
    assert (megafly.level_of[spines] == 1).all()


def plane(p):
    """Returns a plane of prime order by the coordinates of an affine plane, with two leaves a point."""
    lines = [[(x, (m * x + c) % p) for x in range(p)] + [m] for m in range(p) for c in range(p)]
    lines += [[(x, y) for y in range(p)] + ["vertical"] for x in range(p)]
    lines += [[*range(p), "vertical"]]
    graph = nx.Graph()
    for number, line in enumerate(lines):
        graph.add_node(("line", number), level=1)
        for half, point in itertools.product("lr", line):
            graph.add_node((half, point), level=0)
            graph.add_edge((half, point), ("line", number))
    return graph


@pytest.mark.parametrize("q", [2, 3, 5])
def test_an_orthogonal_fat_tree_is_made_of_a_projective_plane(q):
    assert are_alike(OrthogonalFatTree(q), plane(q))


@pytest.mark.parametrize("q", [2, 3, 4, 7, 8, 9])
def test_leaves_of_different_points_have_one_spine_in_common(q):
    tree = OrthogonalFatTree(q)
    points = q * q + q + 1
    assert (tree.routers, tree.links) == (3 * points, 2 * points * (q + 1))
    assert dict(zip(*np.unique(tree.degrees, return_counts=True), strict=True)) == {
        q + 1: 2 * points,
        2 * q + 2: points,
    }
    spines = np.zeros((2 * points, points), int)
    for link in tree.link_list:
        spines[link.a, link.b - 2 * points] = 1
    leaf = np.arange(2 * points) % points
    assert (spines @ spines.T == np.where(leaf[:, None] == leaf, q + 1, 1)).all()
    assert set(host_pairs_by_distance(tree)) == {2}


@pytest.mark.parametrize(("h", "layers"), [(2, None), (3, None), (4, None), (4, 2), (3, 5), (2, 1)])
def test_a_full_mesh_of_layers_has_a_spine_in_the_middle_of_each_link(h, layers):
    mesh = MultiLayerFullMesh(h, layers)
    count = h if layers is None else layers
    expected = nx.Graph()
    for layer in range(count):
        for i, j in itertools.combinations(range(h + 1), 2):
            for place in (i, j):
                expected.add_node((layer, place), level=0)
                expected.add_node(("spine", i, j), level=1)
                expected.add_edge((layer, place), ("spine", i, j))
    assert are_alike(mesh, expected)
    assert (mesh.routers, mesh.links) == (count * (h + 1) + h * (h + 1) // 2, count * h * (h + 1))
    assert set(host_pairs_by_distance(mesh)) == {2}
    assert mesh.endpoints(h) == h * count * (h + 1)


@pytest.mark.parametrize(("depth", "fanout"), [(2, 2), (2, 5), (3, 2), (3, 4), (5, 2), (4, 3)])
def test_a_tree_is_balanced_with_hosts_at_its_lowest_switches(depth, fanout):
    tree = Tree(depth, fanout)
    expected = nx.balanced_tree(fanout, depth - 1)
    heights = nx.single_source_shortest_path_length(expected, 0)
    nx.set_node_attributes(expected, {node: depth - 1 - below for node, below in heights.items()}, "level")
    assert are_alike(tree, expected)
    assert (tree.routers, tree.links) == ((fanout**depth - 1) // (fanout - 1), tree.routers - 1)
    assert tree.diameter == max(host_pairs_by_distance(tree)) == 2 * (depth - 1)
    assert tree.endpoints(fanout) == fanout**depth
    assert (tree.minimal_port_mask(0)[:, 1:].sum(axis=0) == 1).all()


def test_switches_of_a_tree_have_the_numbers_of_mininet():
    links = []

    def add(depth, fanout):
        # As TreeTopo.addTree does: a switch first, then its children, each with all that is below it.
        add.switches += 1
        mine = add.switches
        if depth > 1:
            links.extend((mine, add(depth - 1, fanout)) for _ in range(fanout))
        return mine

    add.switches = 0
    add(3, 3)
    assert {(link.a + 1, link.b + 1) for link in Tree(3, 3).link_list} == set(links)


@pytest.mark.parametrize(
    ("family", "options", "named"),
    [
        (FatTree, {"arity": 1, "levels": 3}, "^arity must be 2 or more, got 1"),
        (FatTree, {"arity": 2, "levels": 1}, "^levels must be 2 to 14, got 1"),
        (
            FatTree,
            {"arity": 30, "levels": 4},
            "^a fat-tree must have at most 16384 routers, got 108000; nearest: arity 16$",
        ),
        (Megafly, {"rho": 2, "a": 5}, "^a must be even.* got 5; nearest: 4 and 6"),
        (Megafly, {"rho": 0, "a": 4}, "^rho must be 1 or more"),
        (
            Megafly,
            {"rho": 100, "a": 100},
            "^a megafly must have at most 16384 routers, got 500100; nearest: a 18$",
        ),
        (OrthogonalFatTree, {"q": 6}, "^q must be a prime power, 2 to 73, got 6; nearest: 5 and 7"),
        (OrthogonalFatTree, {"q": 79}, "got 79; nearest: 73"),
        (Tree, {"depth": 1, "fanout": 2}, "^depth must be 2 to 14, got 1"),
        (Tree, {"depth": 2, "fanout": 1}, "^fanout must be 2 to 8192, got 1"),
        (Tree, {"depth": 14, "fanout": 3}, "^a tree must have at most 16384 routers, got 2391484"),
        (MultiLayerFullMesh, {"h": 1}, "^h must be 2 or more, got 1"),
        (MultiLayerFullMesh, {"h": 4, "layers": 0}, "^layers must be 1 or more, got 0"),
        (
            MultiLayerFullMesh,
            {"h": 180},
            "^a multi-layer-full-mesh must have at most 16384 routers, got 48870",
        ),
    ],
)
def test_members_that_do_not_exist(family, options, named):
    with pytest.raises(ParameterError, match=named):
        family(**options)
