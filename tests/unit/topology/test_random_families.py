"""Jellyfish, Xpander and DLN: the generator, regular graphs, equal graphs for equal seeds, bad parameters."""

import hashlib

import numpy as np
import pytest

from topology.errors import ParameterError
from topology.families.random.dln import ShortcutRing
from topology.families.random.generator import SplitMix64
from topology.families.random.jellyfish import Jellyfish
from topology.families.random.regular import random_regular_links
from topology.families.random.xpander import Xpander
from topology.registry import make_topology
from topology.shortest_paths import connected_components

NONE = np.empty((0, 2), np.int64)


def ring(routers):
    around = np.arange(routers)
    return np.sort(np.stack([around, (around + 1) % routers], axis=1), axis=1)


def test_the_generator_gives_the_published_numbers():
    # https://rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64
    assert SplitMix64(1234567).words(5).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    generator = SplitMix64(1234567)
    parts = [*generator.words(2), *generator.words(0), *generator.words(3)]
    assert parts == SplitMix64(1234567).words(5).tolist()


def test_numbers_below_a_bound_are_uniform():
    generator = SplitMix64(3)
    counts = np.bincount([generator.below(6) for _ in range(6000)], minlength=6)
    assert abs(counts - 1000).max() < 5 * 1000**0.5
    assert sorted(generator.permutation(50).tolist()) == list(range(50))


@pytest.mark.parametrize("routers", range(4, 12))
@pytest.mark.parametrize("excluded", [False, True])
def test_random_regular_graphs_of_all_degrees_are_regular_and_simple(routers, excluded):
    barred = ring(routers) if excluded else NONE
    for degree in range(1, routers - 2 if excluded else routers):
        for seed in range(5 if routers * degree % 2 == 0 else 0):
            links = random_regular_links(routers, degree, SplitMix64(seed), barred)
            assert (np.bincount(links.ravel(), minlength=routers) == degree).all()
            assert (
                len({*map(tuple, links.tolist())} - {*map(tuple, barred.tolist())}) == routers * degree // 2
            )
            assert (links[:, 0] < links[:, 1]).all()


def test_every_regular_graph_can_be_drawn():
    """There are 70 graphs of degree 3 on 6 vertices."""
    drawn = {random_regular_links(6, 3, SplitMix64(seed), NONE).tobytes() for seed in range(1000)}
    assert len(drawn) == 70


@pytest.mark.parametrize(
    ("graph", "digest"),
    [
        (Jellyfish(20, 4, 1), "d2c69cea4968de0629228427ec5652e51f093e6a41db9362e3469dd1b3efaa35"),
        (Jellyfish(993, 32, 7), "3005478df4c742ce64389f768f489015bfd73252ffbb997a3acb1315731dbcc8"),
        (Xpander(4, 4, 1), "69a3a33f6efc156388026bb2322c09745f0581924cc7bb2a8e42aeb0eb581dd2"),
        (ShortcutRing(20, 2, 1), "678f1dd13d9da9591aee19975680a6d34ae5b8523152b3bac8cce849f019f700"),
    ],
    ids=repr,
)
def test_a_seed_means_the_same_graph_for_ever(graph, digest):
    assert hashlib.sha256(graph.adjacency.neighbours.astype("<i4").tobytes()).hexdigest() == digest


def test_sizes_and_degrees():
    for graph, routers, degree in (
        (Jellyfish(993, 32), 993, 32),
        (Xpander(5, 7, 3), 42, 5),
        (ShortcutRing(21, 4, 2), 21, 6),
        (ShortcutRing(8, 5), 8, 7),
        (Jellyfish(6, 5), 6, 5),
    ):
        assert (graph.routers, set(graph.degrees.tolist())) == (routers, {degree})
        assert not any(connected_components(graph))


def test_other_seeds_are_other_graphs():
    for make in (lambda s: Jellyfish(20, 4, s), lambda s: Xpander(4, 4, s), lambda s: ShortcutRing(20, 2, s)):
        assert len({make(seed).adjacency.neighbours.tobytes() for seed in range(10)}) == 10


def test_metanodes_are_joined_by_perfect_matchings():
    graph = Xpander(4, 6, 2)
    for router in range(graph.routers):
        metanodes = sorted((graph.neighbours(router) // 6).tolist())
        assert metanodes == [m for m in range(5) if m != router // 6]


def test_the_ring_is_part_of_a_dln():
    links = {(link.a, link.b) for link in ShortcutRing(20, 3, 4).link_list}
    assert links > {*map(tuple, ring(20).tolist())}


@pytest.mark.parametrize(
    ("make", "seed"), [(lambda s: Xpander(3, 2, s), 2), (lambda s: Jellyfish(8, 3, s), 173)]
)
def test_a_graph_that_is_not_connected_is_drawn_again_and_says_so(make, seed):
    graph = make(seed)
    assert graph.draws == 2
    assert not any(connected_components(graph))
    assert graph.remarks == ("drawn 2 times: the graphs before this one were not connected",)
    assert make(1).remarks == ()


@pytest.mark.parametrize(
    ("family", "params", "named"),
    [
        (
            "jellyfish",
            {"routers": 21, "degree": 5},
            "even, got 21 x 5; .*--routers 20 or 22, or --degree 4 or 6$",
        ),
        ("jellyfish", {"routers": 21, "degree": 3}, "--degree 4$"),
        ("jellyfish", {"routers": 20, "degree": 20}, "3 to 19, got 20$"),
        ("jellyfish", {"routers": 20, "degree": 2}, "^degree must be .* got 2$"),
        ("jellyfish", {"routers": 3, "degree": 3}, "^routers must be 4 to 16384, got 3$"),
        ("jellyfish", {"routers": 20, "degree": 4, "seed": -1}, "^seed must be .* got -1$"),
        ("dln", {"routers": 21, "shortcuts": 1}, "even, got 21 x 1; .*--shortcuts 2$"),
        ("dln", {"routers": 20, "shortcuts": 18}, "1 to 17, got 18$"),
        ("xpander", {"degree": 9, "lift": 2000}, "16384, got 20000; nearest: --lift 1638 or --degree 7$"),
        ("xpander", {"degree": 2, "lift": 5}, "^degree must be .* got 2$"),
    ],
)
def test_parameters_without_a_member_are_refused_with_the_nearest(family, params, named):
    with pytest.raises(ParameterError, match=named):
        make_topology(family, params)
