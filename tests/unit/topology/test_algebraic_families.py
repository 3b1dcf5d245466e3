"""Spectralfly, Delorme, Bundlefly, BDF supernodes and grown PolarFlys: sizes, structure, bad parameters."""

import csv
from itertools import combinations, count
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from support.builders.repeats import repeats
from test_families import matrix, triangles

from routing.registry import make_plan
from routing.verification.verifier import prove
from topology.errors import ParameterError
from topology.failures import NO_FAILURE, link_failures
from topology.families.low_diameter.bundlefly import Bundlefly
from topology.families.low_diameter.delorme import Delorme
from topology.families.low_diameter.expanded_polarfly import ExpandedPolarFly, make_polarfly
from topology.families.low_diameter.polarfly import PolarFly
from topology.families.low_diameter.polarstar import PolarStar
from topology.families.low_diameter.slimfly import SlimFly
from topology.families.low_diameter.spectralfly import SpectralFly, spectralfly_routers
from topology.registry import make_topology

DATA = Path(__file__).parents[1] / "data"
GROWN = list(csv.DictReader((DATA / "expanded_polarfly.csv").read_text().splitlines()))
ROWS = [
    row
    for row in csv.DictReader((DATA / "families.csv").read_text().splitlines())
    if row["family"] in ("spectralfly", "delorme")
]


def check_row(topology, row):
    degrees = dict(map(int, entry.split(":")) for entry in row["degrees"].split(";"))
    found = dict(zip(*(a.tolist() for a in np.unique(topology.degrees, return_counts=True)), strict=True))
    assert (topology.routers, topology.links, found) == (int(row["routers"]), int(row["links"]), degrees)
    assert topology.diameter == int(row["diameter"])
    assert topology.average_path_length == pytest.approx(float(row["average_path_length"]), abs=1e-6)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['family']} {row['parameters']}")
def test_invariants_that_another_program_computed(row):
    params = {key: int(value) for key, value in (part.split("=") for part in row["parameters"].split(";"))}
    check_row(make_topology(row["family"], params), row)


# ---- spectralfly ----


@pytest.mark.parametrize(("p", "q"), [(3, 5), (5, 7), (11, 7)])
def test_a_spectralfly_is_a_ramanujan_graph(p, q):
    graph = SpectralFly(p, q)
    values = np.linalg.eigvalsh(matrix(graph).toarray())
    trivial = 1 + graph.is_bipartite
    assert np.isclose(abs(values), p + 1).sum() == trivial
    assert np.sort(abs(values))[-trivial - 1] <= 2 * p**0.5 + 1e-9


def test_generators_move_the_clusters_of_a_spectralfly_as_wholes():
    graph = SpectralFly(3, 5)
    cluster = np.empty(graph.routers, int)
    for number, members in enumerate(graph.clusters().members):
        cluster[list(members)] = number
    for members in graph.clusters().members:
        reached = {tuple(sorted(cluster[graph.neighbours(router)].tolist())) for router in members}
        assert len(reached) == 1


@pytest.mark.parametrize(
    ("p", "q", "named"),
    [
        (9, 13, r"^p .*odd prime.* got 9; nearest: 7 and 11$"),
        (229, 31, r"^p .*at most 16384.* got 229; nearest: 227 and 233$"),
        (2, 13, r"^p .* got 2; nearest: 3$"),
        (3, 3, r"^q .*2 sqrt\(3\).* got 3; nearest: 5$"),
        (23, 7, r"^q .*2 sqrt\(23\).* got 7; nearest: 11$"),
        (3, 29, r"^q .*16384.* got 29; nearest: 23$"),
        (3, 15, r"^q .* got 15; nearest: 13 and 17$"),
    ],
)
def test_spectralflies_that_do_not_exist(p, q, named):
    with pytest.raises(ParameterError, match=named):
        make_topology("spectralfly", {"p": p, "q": q})


def test_sizes_of_spectralflies_follow_from_the_orders_of_the_groups():
    assert spectralfly_routers(23, 13) == 13 * 168 // 2
    assert spectralfly_routers(3, 5) == 5 * 24
    assert [spectralfly_routers(p, q) for p, q in ((5, 5), (9, 13), (23, 7), (3, 15))] == [None] * 4


# ---- delorme ----


@pytest.mark.parametrize("q", [2, 8])
def test_one_walk_of_three_steps_joins_routers_of_which_neither_is_on_the_others_line(q):
    graph = Delorme(q)
    on_line = matrix(graph).toarray().astype(np.int64)
    on_line[graph.absolute, graph.absolute] = 1
    assert (on_line.sum(axis=1) == q + 1).all()
    walks = on_line @ on_line @ on_line
    assert (walks[on_line == 0] == 1).all()


@pytest.mark.parametrize("q", [2, 8])
def test_the_lines_of_absolute_points_hold_every_router_once(q):
    clusters = Delorme(q).clusters().members
    assert len(clusters) == q**2 + 1
    assert sorted(router for cluster in clusters for router in cluster) == list(range((q + 1) * (q**2 + 1)))


@pytest.mark.parametrize("q", [3, 4, 32])
def test_delormes_that_do_not_exist(q):
    with pytest.raises(ParameterError, match=rf"^q must be .*2 or 8.* got {q}$"):
        make_topology("delorme", {"q": q})


# ---- star products ----


def star_product(structure, supernode, image):
    """Returns the star product of two graphs of networkx by its definition."""
    m = len(supernode)
    graph = nx.Graph((u * m + a, u * m + b) for u in structure for a, b in supernode.edges)
    graph.add_edges_from(
        (u * m + x, v * m + image[x]) for u, v in map(sorted, structure.edges) for x in supernode
    )
    return graph


@pytest.mark.parametrize(("q", "degree"), [(3, 2), (5, 6), (4, 8)])
def test_a_bundlefly_is_the_star_product_of_slimfly_and_a_paley_graph(q, degree):
    order = 2 * degree + 1
    graph = Bundlefly(q, degree)
    structure = nx.Graph((link.a, link.b) for link in SlimFly(q).link_list)
    squares = {x * x % order for x in range(1, order)}  # the orders are primes
    paley = nx.Graph((a, b) for a, b in combinations(range(order), 2) if (b - a) % order in squares)
    root = next(r for r in range(2, order) if len({pow(r, i, order) for i in range(order)}) == order - 1)
    wanted = star_product(structure, paley, [root * x % order for x in range(order)])
    assert {(link.a, link.b) for link in graph.link_list} == {tuple(sorted(e)) for e in wanted.edges}
    assert (graph.routers, graph.diameter) == (2 * q * q * order, 3)
    assert set(graph.degrees.tolist()) == {SlimFly(q).network_radix + degree}


def test_the_bundlefly_of_the_papers():
    graph = Bundlefly(7, 4)
    assert (graph.routers, graph.network_radix, graph.diameter) == (882, 15, 3)


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"q": 6, "degree": 4}, r"^q .* got 6; nearest: 5 and 7$"),
        ({"q": 7, "degree": 3}, r"^degree of supernode paley .* got 3; nearest: 2 and 4$"),
        ({"q": 37, "degree": 4}, r"16384 .*, got 24642; with q = 37, degree must be 2$"),
        ({"q": 7, "degree": 0}, r"^degree of supernode paley .* got 0; nearest: 2$"),
    ],
)
def test_bundleflies_that_do_not_exist(params, named):
    with pytest.raises(ParameterError, match=named):
        make_topology("bundlefly", params)


@pytest.mark.parametrize("q", [2, 3, 4])
@pytest.mark.parametrize(
    ("kind", "degree", "order"),
    [
        *(("bdf", degree, 2 * degree) for degree in range(2, 14)),
        *(("cayley", degree, order) for degree, order in ((2, 4), (4, 8), (6, 11), (10, 19))),
    ],
)
def test_routes_of_polarstars_with_bdf_or_cayley_supernodes_are_shortest(q, kind, degree, order):
    graph = PolarStar(q, kind, degree)
    assert (graph.routers, graph.diameter) == ((q * q + q + 1) * order, 3)
    # Quadrics have no loop in Cayley supernodes, which would need two ports of a router.
    assert set(graph.degrees.tolist()) == {q + 1 + degree} | ({q + degree} if kind == "cayley" else set())
    everyone = np.arange(graph.routers)
    found = dict(nx.all_pairs_shortest_path_length(nx.Graph((k.a, k.b) for k in graph.link_list)))
    wanted = [[found[a][b] for b in everyone.tolist()] for a in (0, graph.routers - 1)]
    assert graph.distances([[0], [graph.routers - 1]], everyone).tolist() == wanted


# ---- grown PolarFlys ----


@pytest.mark.parametrize("row", GROWN, ids=lambda row: f"{row['q']} {row['expand']}")
def test_grown_polarflys_are_as_the_authors_generator_makes_them(row):
    graph = ExpandedPolarFly(int(row["q"]), row["expand"])
    check_row(graph, row)
    assert triangles(graph) == int(row["triangles"])


@pytest.mark.parametrize("expand", ["quadric:2", "nonquadric:3"])
def test_growth_changes_no_link_of_the_original(expand):
    grown, original = ExpandedPolarFly(5, expand), PolarFly(5)
    kept = [(k.a, k.b) for k in grown.link_list if k.b < original.routers]
    assert kept == [(k.a, k.b) for k in original.link_list]


def test_every_copied_fan_is_a_cluster_like_its_original():
    grown = ExpandedPolarFly(7, "nonquadric:3")
    graph = grown.to_networkx()
    clusters = grown.clusters().members
    assert len(clusters) == 7 + 3
    for fan, copy in zip(clusters[:3], clusters[7:], strict=True):
        renamed = nx.relabel_nodes(graph.subgraph(fan), dict(zip(fan, copy, strict=True)))
        assert set(map(frozenset, renamed.edges)) == set(map(frozenset, graph.subgraph(copy).edges))


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"q": 3, "expand": "quadric:" + "1" * 5000}, "^expand must be quadric:N, "),
        ({"q": 8, "expand": "quadric:1"}, "odd, got 8; nearest: 7 and 9$"),
        ({"q": 2, "expand": "quadric:1"}, "odd, got 2; nearest: 3$"),
        ({"q": 6, "expand": "quadric:1"}, "^q must be a prime power.* got 6; nearest: 5 and 7$"),
        ({"q": 5, "expand": "nonquadric:6"}, "1 to 5, got 6$"),
        ({"q": 127, "expand": "quadric:1"}, "at most 16384 routers.* got 1$"),
        ({"q": 5, "expand": "quadric:"}, "^expand must be quadric:N, nonquadric:N.* got 'quadric:'$"),
        ({"q": 5, "expand": "quadric,"}, "^expand must be .* got 'quadric,'$"),
        ({"q": 5, "expand": "quadric="}, "^expand must be .* got 'quadric='$"),
        ({"q": 5, "expand": "quadric,nonquadric:3"}, "^expand must be .* got 'quadric,nonquadric:3'$"),
        ({"q": 5, "expand": "nonquadric=3,quadric,nonquadric=3"}, "1 to 5, got 6$"),
        ({"q": 5, "expand": "quadric:0"}, "^expand must be .* got 'quadric:0'$"),
        ({"q": 5, "expand": "cubic:1"}, "^expand must be .* got 'cubic:1'$"),
    ],
)
def test_grown_polarflys_that_do_not_exist(params, named):
    with pytest.raises(ParameterError, match=named):
        make_topology("polarfly", params)


@pytest.mark.parametrize("expand", ["quadric,nonquadric=3", "nonquadric=2,quadric=2,nonquadric"])
@pytest.mark.parametrize("q", [3, 5, 7])
def test_steps_are_those_of_the_papers_definition_and_rules(q, expand):
    graph = make_topology("polarfly", {"q": q, "expand": expand})
    wanted = nx.Graph(PolarFly(q).to_networkx().edges)
    fans = PolarFly(q).quadric_fans(int(PolarFly(q).vertex_classes.quadrics[0]))
    clusters = [PolarFly(q).vertex_classes.quadrics.tolist(), *fans]
    copied = {}  # number of the cluster -> its copies

    def copy_of(number):
        """Definition VI.1."""
        names = {v: len(wanted) + place for place, v in enumerate(clusters[number])}
        edges = list(wanted.edges(clusters[number]))
        wanted.add_edges_from((names.get(a, a), names.get(b, b)) for a, b in edges)
        copied.setdefault(number, []).append(list(names.values()))
        return names

    turn = count(1)
    for step in expand.split(","):
        kind, _, number = step.partition("=")
        for _ in range(int(number or 1)):
            before = dict(wanted.degree)
            size = len(wanted)
            if kind == "quadric":  # VI-A
                for v, copy in copy_of(0).items():
                    wanted.add_edge(v, copy)
                assert len(wanted) == size + q + 1
                grown = {v: wanted.degree[v] - degree for v, degree in before.items()}
                assert {grown[v] for v in clusters[0]} == {1}
                assert {grown[v] for v in PolarFly(q).vertex_classes.adjacent.tolist()} == {2}
            else:  # VI-B
                number = next(turn)
                free = []
                others = [j for j in range(1, q + 1) if j != number]
                for other in [c for j in others for c in [clusters[j], *copied.get(j, [])]]:
                    (one,) = [v for v in clusters[number][1:] if not set(wanted[v]) & set(other)]
                    free.append((one, other[0]))
                names = copy_of(number)
                wanted.add_edges_from((names[one], centre) for one, centre in free)
                assert len(wanted) == size + q
    assert {frozenset((k.a, k.b)) for k in graph.link_list} == set(map(frozenset, wanted.edges))
    assert graph.diameter == 3
    assert graph.average_path_length < 2


@pytest.mark.parametrize("kind", ["quadric", "nonquadric"])
@pytest.mark.parametrize("copies", [1, 3])
def test_steps_of_one_kind_differ_from_the_generators_by_the_links_of_centres(kind, copies):
    generated, stepped = (ExpandedPolarFly(5, f"{kind}{sign}{copies}") for sign in ":=")
    links = {(k.a, k.b) for k in generated.link_list}
    assert links >= {(k.a, k.b) for k in stepped.link_list}
    centres = [
        (fan[0], copy[0])
        for fan, copy in zip(generated.clusters().members[:5], generated.clusters().members[5:], strict=False)
    ]
    assert links - {(k.a, k.b) for k in stepped.link_list} == set(centres)


def test_successive_steps_of_a_kind_are_one():
    graph = make_topology("polarfly", {"q": 5, "expand": "quadric,quadric,nonquadric=2,nonquadric"})
    assert graph.params["expand"] == "quadric=2,nonquadric=3"
    assert len(graph.clusters().members) == 5 + 3
    assert make_topology("polarfly", {"q": 5, "expand": "quadric=1"}).params["expand"] == "quadric"


@pytest.mark.parametrize("expand", ["quadric:1", "nonquadric:2", *repeats("quadric,nonquadric")])
@pytest.mark.parametrize("routing", ["min", "ugal-pf", *repeats("compact-valiant", "ugal", "valiant")])
def test_a_grown_polarfly_is_repaired_by_alternates_that_are_searched_for(expand, routing):
    graph = make_polarfly(3, expand)
    proof = prove(make_plan(graph, 1, routing), [NO_FAILURE, *link_failures(graph)])
    assert proof.ok
    assert proof.delivered == proof.pairs * proof.scenarios
