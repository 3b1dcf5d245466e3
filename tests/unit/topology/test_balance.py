"""Balance: numbers of hosts that links carry, beside loads counted pair by pair."""

import itertools

import numpy as np
import pytest

from topology.analysis.balance import LinkClass, balance_of, balanced_alpha, groups_at
from topology.families.classic.hyperx import HyperX
from topology.families.classic.torus import Torus
from topology.families.dragonflies.dragonfly import Dragonfly
from topology.families.dragonflies.dragonfly3 import Dragonfly3


def test_all_classes_must_allow_as_many_hosts():
    found = balance_of([LinkClass("local", 3, 1.5), LinkClass("global", 5, 2.0)])
    assert (found.hosts, found.balanced, found.limits) == (2, True, {"local": 2.0, "global": 2.5})
    assert not balance_of([LinkClass("local", 3, 1.5), LinkClass("global", 6, 2.0)]).balanced
    assert balance_of([]) is None


@pytest.mark.parametrize(
    ("options", "hosts", "balanced"),
    [
        ({"a": 4, "h": 2}, 2, True),
        ({"a": 12, "h": 6}, 6, True),  # the dragonfly that PolarFly's table V compares with
        ({"a": 24, "h": 13, "trunking": 4}, 13, True),  # TACO 2014, table II
        ({"a": 4, "h": 3, "trunking": 4}, 4, True),  # the Hamming graph 4x4
        ({"a": 6, "h": 27}, 3, False),
        ({"a": 6, "h": 2, "arrangement": "circulant"}, 2, False),
    ],
)
def test_balanced_dragonflies(options, hosts, balanced):
    found = balance_of(Dragonfly(**options).link_classes())
    assert (found.hosts, found.balanced) == (hosts, balanced)


@pytest.mark.parametrize(
    ("shape", "hosts", "balanced"), [("4x4", 4, True), ("4x5", 4, False), ("9x9x8", 8, False), ("7", 7, True)]
)
def test_balanced_hamming_graphs(shape, hosts, balanced):
    found = balance_of(HyperX(shape).link_classes())
    assert (found.hosts, found.balanced) == (hosts, balanced)


def test_other_members_are_not_judged():
    assert balance_of(Torus("4x4").link_classes()) is None
    assert balance_of(Dragonfly(h=2, local="2x2", trunking=2).link_classes()) is None


@pytest.mark.parametrize("arrangement", ["palmtree", "consecutive", "circulant"])
@pytest.mark.parametrize(("a", "h", "t"), [(4, 2, 1), (4, 2, 2), (5, 2, 1), (3, 4, 2), (8, 2, 2)])
def test_mean_hops_of_a_dragonfly_are_those_of_all_pairs(a, h, t, arrangement):
    dragonfly = Dragonfly(a=a, h=h, trunking=t, arrangement=arrangement)
    everyone = range(dragonfly.routers)
    local = across = 0
    for source, destination in itertools.product(everyone, everyone):
        g, k = dragonfly.group_of[[source, destination]]
        if g == k:
            local += source != destination
            continue
        ends = zip(dragonfly.gateways[g, k], dragonfly.gateways[k, g], strict=True)
        local += min(int(source != u) + int(v != destination) for u, v in ends)
        across += 1
    hops = {one.name: one.hops for one in dragonfly.link_classes()}
    assert hops == pytest.approx({"local": local / len(everyone) ** 2, "global": across / len(everyone) ** 2})


@pytest.mark.parametrize(("local", "h"), [("2x2", 1), ("2x3", 1), ("2x2", 2)])
def test_mean_hops_of_a_dragonfly_of_hamming_groups_are_those_of_all_pairs(local, h):
    dragonfly = Dragonfly(h=h, local=local)
    shape = [int(size) for size in local.split("x")]
    within = np.array(list(np.ndindex(*shape)))[np.arange(dragonfly.routers) % dragonfly.a]
    neighbours = dragonfly.adjacency.neighbours[: dragonfly.adjacency.starts[1]]
    assert sum(np.sum(within[0] != within[one]) == 1 for one in neighbours if one < dragonfly.a) == sum(
        size - 1 for size in shape
    )
    hops = np.zeros(len(shape))
    everyone = range(dragonfly.routers)
    for source, destination in itertools.product(everyone, everyone):
        g, k = dragonfly.group_of[[source, destination]]
        u, v = (source, source) if g == k else (dragonfly.gateways[g, k, 0], dragonfly.gateways[k, g, 0])
        hops += (within[source] != within[u]).astype(int) + (within[v] != within[destination])
    *dimensions, across = dragonfly.link_classes()
    assert [one.hops for one in dimensions] == pytest.approx(hops / len(everyone) ** 2)
    b = dragonfly.trunking.groups
    assert (across.hops, [one.links for one in dimensions]) == ((b - 1) / b, [size - 1 for size in shape])


@pytest.mark.parametrize("shape", ["3x4", "2x3x4"])
def test_mean_hops_of_a_hamming_graph_are_those_of_all_pairs(shape):
    hyperx = HyperX(shape)
    differs = hyperx.coordinates[:, None] != hyperx.coordinates
    assert [one.hops for one in hyperx.link_classes()] == pytest.approx(
        np.mean(differs, axis=(0, 1)).tolist()
    )


@pytest.mark.parametrize(("t", "b"), [(1, 257), (4, 65), (16, 17)])
def test_balanced_alpha_is_the_ratio_of_hops_in_large_dragonflies(t, b):
    local, across = Dragonfly(a=16, h=16, trunking=t, groups=b).link_classes()
    assert across.hops / local.hops == pytest.approx(balanced_alpha(16, t), abs=0.02)


def test_ratios_of_links_are_counted_over_the_graph():
    dragonfly = Dragonfly(a=4, h=2, trunking=2)
    across = len(dragonfly.global_links)
    ratios = dragonfly.link_ratios()
    assert ratios["alpha"] == across / (dragonfly.links - across)
    assert groups_at(ratios["alpha"], 4, 2) == dragonfly.trunking.groups
    assert Dragonfly(h=2, local="2x2").link_ratios() == {}
    three = Dragonfly3(a=3, h2=2, h3=1)
    most, middle = len(three.global_links), three.trunking.groups * len(three.supergroup.global_links)
    local = three.links - most - middle
    assert three.link_ratios() == {"alpha": middle / local, "beta": most / middle}
