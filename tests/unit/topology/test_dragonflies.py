"""Dragonflies: constructions of their own for comparison, refusals, and the classes of their routers."""

import itertools
from collections import Counter

import networkx as nx
import numpy as np
import pytest

from topology.analysis.symmetry import router_classes
from topology.errors import ParameterError
from topology.families.classic.hyperx import HyperX
from topology.families.dragonflies.dragonfly import Dragonfly
from topology.families.dragonflies.dragonfly3 import Dragonfly3

ARRANGED = [(4, 2, 1), (4, 2, 2), (6, 3, 1), (5, 2, 1), (4, 3, 3), (8, 2, 2), (3, 4, 3), (2, 1, 1), (2, 1, 2)]


def links(topology):
    return Counter((link.a, link.b) for link in topology.link_list)


def complete_groups(a, b):
    return Counter((g * a + i, g * a + j) for g in range(b) for i, j in itertools.combinations(range(a), 2))


def sorted_pair(u, v):
    return min(u, v), max(u, v)


@pytest.mark.parametrize(("a", "h", "t"), ARRANGED)
def test_palmtree_leads_down_from_group_to_group_to_the_opposite_router(a, h, t):
    b = a * h // t + 1
    expected = complete_groups(a, b)
    for group, router, port in itertools.product(range(b), range(a), range(h)):
        other = (group - 1 - (router * h + port) % (b - 1)) % b
        if group < other:
            expected[group * a + router, other * a + a - 1 - router] += 1
    assert links(Dragonfly(a=a, h=h, trunking=t)) == expected


@pytest.mark.parametrize(("a", "h", "t"), ARRANGED)
def test_consecutive_gives_each_group_its_next_free_port(a, h, t):
    b = a * h // t + 1
    expected, used = complete_groups(a, b), Counter()
    for _ in range(t):
        for group, other in itertools.combinations(range(b), 2):
            expected[group * a + used[group] // h, other * a + used[other] // h] += 1
            used[group] += 1
            used[other] += 1
    assert links(Dragonfly(a=a, h=h, trunking=t, arrangement="consecutive")) == expected


@pytest.mark.parametrize(("a", "h", "t"), [(6, 2, 1), (8, 4, 1), (4, 2, 2), (5, 2, 1), (3, 4, 2)])
def test_circulant_joins_the_same_places_of_groups(a, h, t):
    b = a * h // t + 1
    expected = complete_groups(a, b)
    jumps = itertools.cycle(range(1, b // 2 + 1))
    for router in range(a):
        for jump in itertools.islice(jumps, h // 2):
            for group in range(b):
                expected[sorted_pair(group * a + router, (group + jump) % b * a + router)] += 1
    assert links(Dragonfly(a=a, h=h, trunking=t, arrangement="circulant")) == expected


@pytest.mark.parametrize("arrangement", ["palmtree", "consecutive", "circulant", "random"])
@pytest.mark.parametrize(("a", "h", "b"), [(4, 2, 9), (4, 2, 5), (6, 4, 13), (3, 4, 7)])
def test_every_two_groups_are_joined_by_as_many_links_and_routers_have_as_many(arrangement, a, h, b):
    dragonfly = Dragonfly(a=a, h=h, groups=b, arrangement=arrangement)
    t = a * h // (b - 1)
    assert dragonfly.params["trunking"] == t
    assert set(dragonfly.degrees.tolist()) == {a - 1 + h}
    between = Counter(tuple(dragonfly.group_of[list(ends)].tolist()) for ends in dragonfly.global_links)
    assert between == dict.fromkeys(itertools.combinations(range(b), 2), t)
    for one, other in itertools.permutations(range(b), 2):
        assert (dragonfly.group_of[dragonfly.gateways[one, other]] == one).all()
        for u, v in zip(dragonfly.gateways[one, other], dragonfly.gateways[other, one], strict=True):
            assert v in dragonfly.neighbours(u)


def test_a_seed_means_the_same_graph_everywhere():
    def drawn(seed):
        return Dragonfly(a=4, h=2, arrangement="random", seed=seed).global_links[:8].tolist()

    assert drawn(1) != drawn(2)
    assert drawn(1) == [[2, 7], [1, 10], [3, 14], [0, 17], [0, 23], [2, 27], [3, 30], [1, 33]]


def test_groups_may_be_hamming_graphs():
    dragonfly = Dragonfly(h=1, local="2x3")
    assert dragonfly.params == {
        **{"a": 6, "h": 1, "groups": 7, "trunking": 1, "arrangement": "palmtree", "local": "2x3"}
    }
    group = nx.Graph([(link.a, link.b) for link in HyperX("2x3").link_list])
    inside = nx.Graph([pair for pair in links(dragonfly) if max(pair) < 6])
    assert nx.utils.edges_equal(group.edges, inside.edges)
    assert dragonfly.diameter == 5
    assert set(dragonfly.degrees.tolist()) == {1 + 2 + 1}


@pytest.mark.parametrize(("a", "h2", "h3", "t2", "t3"), [(2, 1, 1, 1, 1), (4, 2, 1, 2, 4), (3, 1, 2, 1, 3)])
def test_three_levels_are_dragonflies_of_dragonflies(a, h2, h3, t2, t3):
    topology = Dragonfly3(a=a, h2=h2, h3=h3, t2=t2, t3=t3)
    b2 = a * h2 // t2 + 1
    b3 = a * b2 * h3 // t3 + 1
    assert topology.routers == a * b2 * b3
    assert set(topology.degrees.tolist()) == {a - 1 + h2 + h3}
    assert topology.links == topology.routers * (a - 1 + h2 + h3) // 2
    inside, outside = links(Dragonfly(a=a, h=h2, trunking=t2)), links(Dragonfly(a=a * b2, h=h3, trunking=t3))
    expected = Counter(outside)
    expected.subtract(complete_groups(a * b2, b3))
    for s in range(b3):
        expected.update((s * a * b2 + u, s * a * b2 + v) for u, v in inside)
    assert links(topology) == +expected
    assert topology.diameter <= 7
    assert (np.bincount(topology.group_of) == a).all()
    assert (np.bincount(topology.supergroup_of) == a * b2).all()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"a": 4, "h": 2, "groups": 8}, r"^groups must be .* got 8; nearest: 5 \(trunking 2\) and 9 "),
        ({"a": 4, "h": 2, "groups": 100}, r"got 100; nearest: 9 \(trunking 1\)$"),
        ({"a": 4, "h": 2, "groups": 9, "trunking": 2}, r"got 9 with trunking 2; nearest: 9 \(trunking 1\)$"),
        ({"a": 4, "h": 2, "groups": 5, "trunking": 1}, r"nearest: 5 \(trunking 2\) and 9 \(trunking 1\)$"),
        ({"a": 4, "h": 2, "trunking": 3}, r"^trunking must be .* \(1, 2, 4\), got 3"),
        ({"a": 2, "h": 4, "trunking": 8}, r"^trunking must be .* up to 2 \(1, 2\), got 8"),
        ({"a": 4, "h": 3, "arrangement": "circulant"}, "^h must be even .* got 3; nearest: 2 and 4"),
        ({"a": 2, "h": 2, "groups": 3, "arrangement": "spiral"}, "^arrangement must be one of .* 'spiral'"),
        ({"a": 3, "h": 2, "trunking": 2, "arrangement": "circulant"}, r"odd .* got 4 .* 3 .* and 7 "),
        ({"h": 2}, "--a or --local"),
        ({"a": 5, "h": 2, "local": "2x2"}, "^a must be 4"),
        ({"h": 2, "local": "2x1"}, "^local must be sizes of 2 or more .* got '2x1'; nearest: 2x2"),
        ({"a": 1, "h": 2}, "^a must be 2 or more, got 1"),
        ({"a": 4, "h": 0}, "^h must be 1 or more, got 0"),
        ({"a": 4, "h": 2.5}, "^h must be a whole number"),
        ({"a": 4, "h": 2, "arrangement": "random", "seed": -1}, "^seed must be 0 or more"),
        ({"a": 4, "h": 2, "seed": 3}, "^seed needs the arrangement random, got palmtree"),
        ({"a": 60, "h": 30}, "^a dragonfly must have at most 16384 routers, got 108060"),
    ],
)
def test_dragonflies_that_do_not_exist(options, named):
    with pytest.raises(ParameterError, match=named):
        Dragonfly(**options)


def test_a_dragonfly_of_three_levels_that_does_not_exist():
    with pytest.raises(ParameterError, match=r"^t3 must be .* \(1, 2, 3, 6\), got 4"):
        Dragonfly3(a=2, h2=1, h3=1, t3=4)
    with pytest.raises(ParameterError, match=r"^t2 must be .* \(1, 2\), got 3"):
        Dragonfly3(a=2, h2=1, h3=1, t2=3)


@pytest.mark.parametrize(
    ("a", "h", "t"), [(2, 1, 1), (3, 1, 1), (4, 2, 1), (6, 3, 1), (5, 2, 1), (4, 2, 2), (8, 2, 2)]
)
def test_routers_of_a_palmtree_are_of_at_most_half_as_many_classes_as_a_group_has(a, h, t):
    """TACO 2014, section 5.2.2."""
    assert len(router_classes(Dragonfly(a=a, h=h, trunking=t)).sizes) <= (a + 1) // 2


def test_five_routers_a_group_are_of_three_classes():
    assert router_classes(Dragonfly(a=5, h=2)).sizes == (22, 22, 11)


@pytest.mark.parametrize(("a", "b"), [(2, 5), (3, 7), (6, 13), (5, 11), (4, 5)])
def test_routers_of_a_circulant_of_a_prime_number_of_groups_are_of_one_class(a, b):
    """TACO 2014, section 5.2.3."""
    assert router_classes(Dragonfly(a=a, h=2, groups=b, arrangement="circulant")).sizes == (a * b,)


def test_routers_of_a_circulant_may_be_of_several_classes():
    assert len(router_classes(Dragonfly(a=4, h=2, arrangement="circulant")).sizes) > 1  # 9 groups
