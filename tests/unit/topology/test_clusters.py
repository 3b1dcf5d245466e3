"""Clusters of routers: the families' own, and that they do not depend on a drawing."""

from collections import Counter

import numpy as np
import pytest
from support.builders.leaf_spine import LeafSpine

from topology.clusters import Clusters, consecutive_clusters
from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly
from topology.families.low_diameter.polarstar import PolarStar
from topology.families.low_diameter.slimfly import SlimFly
from topology.layout import Layout
from traffic.workload.placement import place_ranks

CLUSTERED = [PolarFly(2), PolarFly(3), PolarFly(4), PolarStar(2, "iq", 3), SlimFly(4)]
NAMES = ["ER_2", "ER_3", "ER_4", "PolarStar 56", "Slim Fly 32"]
# The order of the routers that `--placement cluster` has always used.
PLACED = [
    [3, 4, 0, 6, 1, 2, 5],
    [2, 1, 9, 6, 3, 12, 11, 0, 10, 4, 5, 7, 8],
    [5, 9, 7, 10, 12, 18, 13, 6, 8, 15, 19, 16, 0, 2, 3, 20, 1, 4, 11, 14, 17],
    list(range(56)),
    list(range(32)),
]


@pytest.mark.parametrize("topology", CLUSTERED, ids=NAMES)
def test_no_router_is_in_two_clusters(topology):
    clustered = [router for cluster in topology.clusters().members for router in cluster]
    assert len(set(clustered)) == len(clustered)
    assert set(clustered) <= set(range(topology.routers))
    assert topology.clusters().name


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, 8, 9])
def test_polarflys_clusters_are_the_fans_around_a_quadric(q):
    graph = PolarFly(q)
    starter, *others = graph.vertex_classes.quadrics.tolist()
    fans = graph.quadric_fans(starter)
    assert graph.clusters().members == tuple(map(tuple, fans))
    assert [fan[0] for fan in fans] == graph.neighbours(starter).tolist()
    members = [router for fan in fans for router in fan]
    assert sorted([*members, starter, *others]) == list(range(graph.routers))
    for centre, *blades in fans:
        assert (graph.distances(centre, np.array(blades, int)) == 1).all()


@pytest.mark.parametrize("q", [2, 4, 5, 7, 8])
def test_the_layout_of_polarfly_is_alike_around_every_quadric(q):
    """PolarFly, section V; for even q with the nucleus, which is adjacent to all quadrics, among these."""
    graph = PolarFly(q)
    even = q % 2 == 0
    links = np.array([(link.a, link.b) for link in graph.link_list])
    for starter in graph.vertex_classes.quadrics.tolist():
        quadrics, *fans = graph.layout_clusters(starter).members
        assert [fan[0] for fan in fans] == [
            n for n in graph.neighbours(starter).tolist() if n != graph.nucleus
        ]
        assert len(quadrics) == q + 1 + even
        assert {len(fan) for fan in fans} == {q + even}
        cluster = np.empty(graph.routers, int)
        for number, members in enumerate([quadrics, *fans]):
            cluster[list(members)] = number
        assert sum(map(len, fans)) + len(quadrics) == graph.routers
        between = np.zeros((len(fans) + 1, len(fans) + 1), int)
        np.add.at(between, tuple(np.sort(cluster[links], axis=1).T), 1)
        inside = between.diagonal().tolist()
        assert inside == [(q + 1) * even, *[q + q // 2 if even else 3 * (q - 1) // 2] * len(fans)]
        assert set(between[0, 1:].tolist()) == {q + 1}
        pairs = between[1:, 1:][np.triu_indices(len(fans), 1)]
        assert set(pairs.tolist()) <= {q if even else q - 2}
    with pytest.raises(ParameterError, match=r"^starter must be a quadric"):
        graph.layout_clusters(int(graph.vertex_classes.adjacent[0]))


@pytest.mark.parametrize("q", [3, 4])
def test_supernodes_are_clustered_as_the_routers_of_their_structure_graph(q):
    graph = PolarStar(q, "iq", 3)
    layout = graph.structure.layout_clusters()
    clusters = graph.supernode_clusters().members
    assert [{router // 8 for router in one} for one in clusters] == list(map(set, layout.members))
    assert sorted(router for one in clusters for router in one) == list(range(graph.routers))
    # Bundles of m links between two supernodes are those links of the structure graph.
    cluster = {router: number for number, members in enumerate(clusters) for router in members}
    links = Counter(frozenset((cluster[one.a], cluster[one.b])) for one in graph.link_list)
    own = {vertex: number for number, members in enumerate(layout.members) for vertex in members}
    bundles = Counter(frozenset((own[one.a], own[one.b])) for one in graph.structure.link_list)
    assert all(links[pair] == 8 * number for pair, number in bundles.items() if len(pair) == 2)


def test_supernodes_and_groups_divide_all_routers_equally_and_fans_do_not():
    assert [len(t.clusters().equal_partition(t.routers)) for t in CLUSTERED] == [0, 0, 0, 7, 8]
    assert Clusters(((0, 1), (2,))).equal_partition(3) == ()
    assert Clusters(((0, 1), (2, 3))).equal_partition(4) == ((0, 1), (2, 3))
    assert Clusters(((0, 1), (2, 3))).equal_partition(5) == ()


def test_routers_are_apart_unless_one_cluster_has_both():
    apart = Clusters(((0, 1), (2,))).are_apart(np.array([0, 1, 0, 2, 3]), np.array([1, 0, 2, 2, 3]), 5)
    assert apart.tolist() == [False, False, True, False, True]
    assert Clusters().are_apart(np.array([0]), np.array([1]), 2).tolist() == [True]


def test_a_topology_without_structure_has_no_clusters():
    assert LeafSpine().clusters() == Clusters()
    assert LeafSpine().clusters().equal_partition(6) == ()


def test_routers_of_no_cluster_come_last():
    assert Clusters(((3, 1), (4,))).in_order(6) == [3, 1, 4, 0, 2, 5]
    assert consecutive_clusters(2, 3, "groups").members == ((0, 1, 2), (3, 4, 5))


@pytest.mark.parametrize(("topology", "order"), list(zip(CLUSTERED, PLACED, strict=True)), ids=NAMES)
def test_a_drawing_decides_no_placement(topology, order, monkeypatch):
    placed = place_ranks("cluster", topology.routers, topology, 1, 1)
    assert list(placed) == order
    layout = Layout(np.zeros((topology.routers, 2)), np.zeros(topology.routers, int), ("routers",))
    monkeypatch.setattr(type(topology), "layout", lambda self: layout)
    assert place_ranks("cluster", topology.routers, topology, 1, 1) == placed
