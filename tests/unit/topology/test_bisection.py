"""Bisections: known and exhaustively searched ones, halves, METIS and its absence."""

import sys
import types
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest

from topology.analysis import bisection
from topology.analysis.bisection import METIS, OWN, bisect, cut_links, is_halved, link_weights, metis_found
from topology.networkx_graphs import NetworkxTopology, from_networkx
from topology.registry import make_topology


def least_cut(graph: nx.Graph) -> int:
    halves = combinations(graph, len(graph) // 2)
    return min(nx.cut_size(graph, half) for half in halves)


@pytest.mark.parametrize("graph", [nx.petersen_graph(), nx.path_graph(9), nx.barbell_graph(5, 3)])
def test_bisections_of_small_graphs_are_the_least(graph):
    found = bisect(from_networkx(graph), method=OWN)
    assert found.cut == least_cut(graph)
    assert found.links == graph.number_of_edges()


@pytest.mark.parametrize(
    ("name", "params", "cut"),
    [
        ("hypercube", {"dimension": 6}, 32),
        ("torus", {"shape": "6x6x6"}, 72),
        ("hyperx", {"shape": "6x6"}, 54),
        ("torus", {"shape": "4x4x4x4x4"}, 512),
        ("torus", {"shape": "6x6x6x6x6"}, 2592),
    ],
)
def test_bisections_that_have_a_formula(name, params, cut):
    assert bisect(make_topology(name, params), method=OWN).cut == cut


def in_random_order(topology):
    """The same graph with other numbers of its routers, whose order has none of the family's structure."""
    places = np.random.default_rng(1).permutation(topology.routers)
    counts = np.empty(topology.routers, np.int64)
    counts[places] = topology.host_counts(1)
    return NetworkxTopology(places[np.array(topology.to_networkx().edges())], counts)


def least_cut_of_hosts(topology):
    """The least cut of all halves of the routers with hosts, with each place of those without."""
    weights, hosting = link_weights(topology), topology.host_counts(1) > 0
    every = np.array(list(product([False, True], repeat=topology.routers)))
    return min(cut_links(weights, side) for side in every if is_halved(side[hosting]))


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("fat-tree", {"arity": 2, "levels": 3}),
        ("fat-tree", {"arity": 3, "levels": 2}),
        ("megafly", {"rho": 1, "a": 4}),
    ],
)
@pytest.mark.parametrize("method", [OWN, METIS])
def test_bisections_of_small_trees_are_the_least_of_their_hosts(name, params, method):
    if method == METIS:
        pytest.importorskip("pymetis")
    topology = make_topology(name, params)
    assert bisect(topology, method=method).cut == least_cut_of_hosts(topology)


@pytest.mark.parametrize(("arity", "levels"), [(4, 2), (6, 3), (3, 4)])
def test_halves_of_a_fat_tree_have_a_link_for_every_other_host(arity, levels):
    """All hosts of a half send to the other half at full rate, and so no cut has fewer links than hosts."""
    tree, edge = make_topology("fat-tree", {"arity": arity, "levels": levels}), arity ** (levels - 1)
    for one in (tree, in_random_order(tree)):
        found = bisect(one, 1, OWN)
        assert found.halves == (-(-edge // 2), edge // 2)
        assert found.cut == arity * (edge // 2)


def test_bisection_of_the_paper_s_polarfly_and_its_halves():
    """As METIS itself: 42.0 % of ER_31 with halves of 497 and 496, 32.9 % of Slim Fly with q = 23."""
    found = bisect(make_topology("polarfly", {"q": 31}), 8, OWN)
    assert found.share == pytest.approx(0.420, abs=0.005)
    assert found.halves == (497, 496)
    assert bisect(make_topology("slimfly", {"q": 23}), 8, OWN).share == pytest.approx(0.329, abs=0.005)


def test_more_searches_are_never_worse():
    topology = make_topology("jellyfish", {"routers": 64, "degree": 6})
    cuts = [bisect(topology, seeds, OWN).cut for seeds in (1, 4, 16)]
    assert cuts == sorted(cuts, reverse=True)


def test_parallel_links_count_each():
    graph = nx.MultiGraph([(0, 1)] * 3 + [(1, 2)] + [(2, 3)] * 3)
    topology = from_networkx(graph)
    assert bisect(topology, method=OWN).cut == 1
    assert cut_links(link_weights(topology), np.array([True, False, False, False])) == 3


def fake_metis(monkeypatch, parts):
    """Puts a module in place of pymetis that returns fixed parts; returns the arguments of its calls."""
    calls = []

    def part_graph(number, **arguments):
        calls.append({"number": number, **arguments})
        return 0, parts

    module = types.SimpleNamespace(
        CSRAdjacency=lambda starts, adjacent: (starts, adjacent),
        Options=lambda **options: options,
        part_graph=part_graph,
    )
    monkeypatch.setitem(sys.modules, "pymetis", module)
    return calls


def test_halves_of_metis_are_evened_out(monkeypatch):
    calls = fake_metis(monkeypatch, [0, 0, 0, 0, 1, 1])
    found = bisect(from_networkx(nx.path_graph(6)), 2, METIS)
    assert (found.method, found.cut, found.halves) == (METIS, 1, (3, 3))
    assert [call["options"] for call in calls] == [{"ufactor": 1, "seed": seed} for seed in (0, 1)]
    assert calls[0]["adjacency"] == ([0, 1, 3, 5, 7, 9, 10], [1, 0, 2, 1, 3, 2, 4, 3, 5, 4])
    assert calls[0]["eweights"] == [1] * 10


@pytest.mark.parametrize(("parts", "method"), [([0, 0, 0, 1, 1, 1], METIS), ([0, 1, 0, 1, 0, 1], OWN)])
def test_the_better_halves_are_kept_where_metis_is_installed(monkeypatch, parts, method):
    fake_metis(monkeypatch, parts)
    found = bisect(from_networkx(nx.path_graph(6)), 1)
    assert (found.method, found.cut) == (method, 1)


def test_metis_itself_finds_the_bisections_of_the_paper():
    """Separate measurement with pymetis, best of 8: 42.0 % of ER_31, 32.9 % of Slim Fly with q = 23."""
    pytest.importorskip("pymetis")
    found = bisect(make_topology("polarfly", {"q": 31}), 8, METIS)
    assert (found.method, found.halves) == (METIS, (497, 496))
    assert found.share == pytest.approx(0.420, abs=0.005)
    slimfly = bisect(make_topology("slimfly", {"q": 23}), 8, METIS)
    assert slimfly.halves == (529, 529)
    assert slimfly.share == pytest.approx(0.329, abs=0.005)


def test_metis_itself_counts_parallel_links():
    pytest.importorskip("pymetis")
    graph = nx.MultiGraph([(0, 1)] * 3 + [(1, 2)] + [(2, 3)] * 3)
    assert bisect(from_networkx(graph), method=METIS).cut == 1


def test_without_metis_the_own_search_is_used(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    assert not bisection.metis_found()
    assert bisect(make_topology("hypercube", {"dimension": 3})).method == OWN


@pytest.mark.parametrize(("ones", "halved"), [(1, False), (2, True), (3, True), (4, False)])
def test_halves_differ_by_one_at_most(ones, halved):
    assert is_halved(np.arange(5) < ones) == halved


@pytest.mark.parametrize("module", ["", "raise OSError('no such library')"])
def test_a_metis_that_does_not_fit_is_none(module, tmp_path, monkeypatch):
    (tmp_path / "pymetis.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pymetis", raising=False)
    assert not metis_found()
    assert bisect(make_topology("polarfly", {"q": 3}), seeds=1).method == OWN
