"""Long Hop networks: their codes counted word by word, distances beside networkx, and bisections proven."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from topology.analysis.bisection import bisect
from topology.errors import ParameterError
from topology.families.classic.long_hop import LongHop, code_rows
from topology.registry import FAMILIES

# Best known [n + r, n, d] codes of tables, which these reach.
RADIXES = {(4, 3): 7, (10, 3): 14, (11, 4): 16, (8, 5): 16, (9, 5): 17, (6, 8): 18, (12, 7): 23, (12, 8): 24}


def code_words(dimension, distance):
    """Returns all code words: a number, and the sum of the check bits of its ones."""
    rows = code_rows(dimension, distance)
    width = max(row.bit_length() for row in rows)
    words = [0]
    for bit, row in enumerate(rows):
        words += [word ^ (1 << bit + width | row) for word in words]
    return words


@pytest.mark.parametrize("dimension", [3, 4, 5, 8, 12])
@pytest.mark.parametrize("distance", range(3, 9))
def test_words_of_a_code_differ_in_as_many_places_as_its_distance(dimension, distance):
    assert min(word.bit_count() for word in code_words(dimension, distance)[1:]) >= distance


@pytest.mark.parametrize("code", RADIXES, ids=str)
def test_routers_have_as_many_links_as_the_best_codes_have_bits(code):
    graph = LongHop(*code)
    assert (graph.routers, set(graph.degrees.tolist())) == (2 ** code[0], {RADIXES[code]})


@pytest.mark.parametrize("code", [(3, 3), (5, 3), (6, 5), (4, 6), (7, 4)], ids=str)
def test_distances_and_next_hops_are_those_of_a_search(code):
    graph = LongHop(*code)
    searched = nx.Graph([(link.a, link.b) for link in graph.link_list])
    lengths = dict(nx.all_pairs_shortest_path_length(searched))
    everyone = np.arange(graph.routers)
    expected = np.array([[lengths[a][b] for b in everyone] for a in everyone])
    assert (graph.distances(everyone[:, None], everyone) == expected).all()
    hops = graph.all_next_hops()
    for router in range(graph.routers):
        around = graph.neighbours(router)
        nearer = expected[around] < expected[router]
        assert (graph.minimal_port_mask(router) == nearer).all()
        others = everyone != router
        assert (hops[router] == around[nearer.argmax(axis=0)])[others].all()
    found = {d: int((expected == d).sum()) for d in range(1, expected.max() + 1)}
    assert graph.pairs_by_distance() == found


def test_it_is_a_hypercube_with_more_links():
    graph = LongHop(6)
    joined = {(link.a, link.b) for link in graph.link_list}
    cube = {(a, b) for a, b in combinations(range(64), 2) if (a ^ b).bit_count() == 1}
    assert cube < joined
    assert graph.diameter < 6
    assert len(graph.clusters().members) == 8


@pytest.mark.parametrize("code", [(5, 3), (6, 5), (8, 4), (10, 3)], ids=str)
def test_its_bisection_is_half_of_the_routers_times_the_distance(code):
    """Halves with so few links are found, and the second eigenvalue proves that none have fewer."""
    graph = LongHop(*code)
    words = (code[1] * graph.routers) // 2
    assert bisect(graph).cut == words
    everyone = np.arange(graph.routers)
    # Parities of bits are the eigenvectors; an eigenvalue of the Laplacian is twice the ones of a code word.
    parities = np.bitwise_count(everyone[:, None] & np.array(graph.masks)) & 1
    gap = 2 * parities[1:].sum(axis=1).min()
    assert gap * graph.routers / 4 == words


def test_networks_that_do_not_exist():
    for code, words in (
        ((2, 3), "dimension"),
        ((15, 3), "dimension"),
        ((5, 2), "distance"),
        ((5, 9), "distance"),
    ):
        with pytest.raises(ParameterError, match=words):
            LongHop(*code)
    with pytest.raises(ParameterError, match=r"^distance .* 5 .* 3 to 4, got"):
        LongHop(5, 7)


def test_members_have_the_sizes_that_their_formulas_say():
    assert FAMILIES["long-hop"].members is not None
    members = [one for one in FAMILIES["long-hop"].members() if one.routers <= 256]
    assert len(members) > 20
    for one in members:
        graph = LongHop(**one.params)
        assert (one.radix, one.routers) == (graph.network_radix, graph.routers)
