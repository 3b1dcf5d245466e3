"""The worst case of minimal routing: two routers' traffic on as many links as there are routers."""

import math
from collections import Counter
from itertools import pairwise

import networkx as nx
import pytest

from experiments.theory.fluid_model import predict_pattern
from routing.algorithms.minimal import minimal_plan
from topology.errors import ParameterError
from topology.families.classic.hyperx import HyperX
from topology.families.hierarchical.fat_tree import FatTree
from topology.families.low_diameter.polarfly import PolarFly
from topology.families.low_diameter.slimfly import SlimFly
from traffic.workload.patterns import make_pattern


@pytest.mark.parametrize(
    "fabric", [*(SlimFly(q) for q in (3, 4, 5, 7, 8, 9)), *(PolarFly(q) for q in (5, 7, 8))], ids=repr
)
def test_as_many_links_as_routers_carry_two_flows_of_an_only_path(fabric):
    partners = make_pattern("worst-case", fabric, 1, 1).partners
    assert sorted(partners) == list(range(fabric.routers))
    graph, flows = fabric.to_networkx(), Counter()
    for source, destination in enumerate(partners):
        (path,) = nx.all_shortest_paths(graph, source, destination)
        assert len(path) == 3
        flows.update(pairwise(path))
    assert Counter(flows.values()) == {2: fabric.routers}


def accepted(pattern, load):
    """Returns the accepted load and the busiest link's of a Slim Fly with 4 hosts a router."""
    fabric = SlimFly(5)
    found = predict_pattern(minimal_plan(fabric, 4), make_pattern(pattern, fabric, 4, 1), load)
    return found.accepted, found.offered_loads.max()


def test_minimal_routing_saturates_at_one_over_twice_the_hosts():
    assert accepted("worst-case", 1 / 8) == pytest.approx((1 / 8, 1))
    # At twice that load a link is offered 1 by its own router and x by another link: x (1 + x) = 1.
    passed = (math.sqrt(5) - 1) / 2
    assert accepted("worst-case", 1 / 4) == pytest.approx((passed**2 / 4, 1 + passed))
    assert accepted("uniform", 1 / 4)[0] == pytest.approx(1 / 4)


def test_seeds_are_different_permutations():
    one, same, other = (make_pattern(f"worst-case:{seed}", SlimFly(5), 1, 9).partners for seed in (1, 1, 2))
    assert one == same != other


@pytest.mark.parametrize(
    ("fabric", "named"),
    [
        (HyperX("4x4"), "unique shortest paths; none was found in hyperx"),
        (PolarFly(2), "unique shortest paths; none was found in polarfly"),
        (HyperX("2x2x2"), "diameter 3 and hosts at 8 of 8"),
        (FatTree(2, 2), "hosts at 2 of 4 routers of fat-tree"),
    ],
    ids=repr,
)
def test_networks_without_such_a_permutation_are_refused(fabric, named):
    with pytest.raises(ParameterError, match=named):
        make_pattern("worst-case", fabric, 1, 1)
