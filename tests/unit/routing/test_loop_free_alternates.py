"""Loop-free alternates of any graph, and several shortest paths used at once."""

import random

import networkx as nx
import numpy as np
import pytest
from support.builders.graphs import FABRICS, Drawn, drawn, single_failures
from support.builders.repeats import repeats

from routing.plan.model import GroupKind
from routing.registry import make_plan
from routing.reroute.base import without_local_repair
from routing.verification.traffic_split import traffic_split
from routing.verification.verifier import prove
from topology.errors import ParameterError
from topology.failures import NO_FAILURE, Failure, failure_of, link_failures
from topology.families.classic.hypercube import Hypercube
from topology.families.classic.hyperx import HyperX
from topology.families.classic.torus import Torus
from topology.families.dragonflies.dragonfly import Dragonfly
from topology.families.dragonflies.dragonfly3 import Dragonfly3
from topology.families.hierarchical.fat_tree import FatTree
from topology.families.hierarchical.megafly import Megafly
from topology.families.hierarchical.multi_layer_full_mesh import MultiLayerFullMesh
from topology.families.hierarchical.orthogonal_fat_tree import OrthogonalFatTree
from topology.families.low_diameter.polarstar import PolarStar
from topology.families.low_diameter.slimfly import SlimFly
from topology.faults import ComponentKind

# A ring with a chord: an alternate around the chord's end would take more than one tag.
CHORD = [*nx.cycle_graph(10).edges, (0, 5)]


# Of whose families there are smaller ones.
LARGER = ("polarstar 2 iq 3", "polarstar 3 paley 2", "slimfly 5")
# The proofs of all detours of a larger fabric take tens of seconds.
CASES = [
    # Detours of `valiant` are those among which `ugal` chooses.
    pytest.param(fabric, name, marks=pytest.mark.slow if name == "valiant" or fabric in LARGER else ())
    for fabric, make in FABRICS.items()
    for name in ("min", "ugal", "valiant")
    if name == "min" or make().routers <= 20
]


@pytest.mark.parametrize(("fabric", "name"), CASES)
def test_every_pair_is_delivered_whatever_single_link_or_switch_dies(fabric, name):
    topology = FABRICS[fabric]()
    plan = make_plan(topology, 1, name)
    assert plan.unprotected == ()
    proof = prove(plan, single_failures(topology))
    assert proof.ok, proof.faults
    assert (proof.cut_off > 0) == (fabric in ("line", "barbell"))


MEMBERS = [
    Dragonfly(a=4, h=2),
    Dragonfly3(a=2, h2=1, h3=1),
    FatTree(4, 3),
    Megafly(rho=2, a=8),
    OrthogonalFatTree(3),
    MultiLayerFullMesh(4),
    HyperX("4x4"),
    Torus("3x4x2"),
    Hypercube(4),
    *repeats(
        Dragonfly(a=4, h=2, trunking=2, arrangement="circulant"),
        Dragonfly(a=4, h=3, trunking=4, arrangement="random"),
        Torus("4x4x4"),
    ),
]


@pytest.mark.parametrize("topology", MEMBERS, ids=repr)
def test_no_single_link_leaves_a_pair_unprotected(topology):
    plan = make_plan(topology, 1, "min")
    assert plan.unprotected == ()
    proof = prove(plan, [NO_FAILURE, *link_failures(topology)])
    assert proof.ok, proof.faults
    assert proof.cut_off == 0


def test_alternates_toward_routers_without_hosts_are_not_searched_for():
    tree = FatTree(2, 3)
    switch = make_plan(tree, 1, "min").switches[0]
    alternates = {
        router: len(group.buckets) - 1
        for router, number in enumerate(switch.untagged_groups)
        for group in switch.groups
        if group.number == number and group.kind is GroupKind.FAST_FAILOVER
    }
    above = set(np.flatnonzero(tree.level_of > 0).tolist())
    assert alternates.keys() & above
    assert not any(
        alternates[router] for router in alternates.keys() & above if tree.distances(0, router) > 1
    )


def test_without_local_repair_dead_links_lose_packets():
    topology = SlimFly(3)
    proof = prove(without_local_repair(make_plan(topology, 1, "min")), [*link_failures(topology)])
    assert proof.blackholes > 0
    assert (proof.loops, proof.misdelivered) == (0, 0)


@pytest.mark.parametrize("seed", [*range(4), *repeats(*range(4, 20))])
def test_in_random_graphs_only_unprotected_pairs_are_lost(seed):
    rng = random.Random(seed)
    of = nx.gnm_random_graph(rng.randrange(6, 16), rng.randrange(14, 24), seed=seed)
    topology = drawn(of.subgraph(max(nx.connected_components(of), key=len)))
    plan = make_plan(topology, 1, "min")
    listed = {(component, router, destination) for router, destination, component in plan.unprotected}
    for failure in single_failures(topology):
        proof = prove(plan, [failure])
        assert (proof.loops, proof.misdelivered, proof.over_bound) == (0, 0, 0), proof.faults
        here = {
            entry for entry in listed if failure_of(topology, [entry[0]]).failed_ends == failure.failed_ends
        }
        lost = {
            (r, d) for _, r, d in here if r not in failure.failed_routers and d not in failure.failed_routers
        }
        assert lost <= proof.undelivered, (seed, failure.name)
        assert bool(lost) == bool(proof.undelivered)
        assert {d for _, d in proof.undelivered} == {d for _, d in lost}


def test_unprotected_pairs_are_listed_with_the_element_that_must_not_fail():
    plan = make_plan(Drawn(CHORD), 1, "min")
    assert plan.unprotected
    assert {component.kind for _, _, component in plan.unprotected} == {ComponentKind.SWITCH}
    router, destination, component = plan.unprotected[0]
    proof = prove(plan, [failure_of(plan.topology, [component])])
    assert (router, destination) in proof.undelivered


# ---- several shortest paths ----


def select_groups(switch):
    return [g for g in switch.groups if g.kind is GroupKind.SELECT]


def test_all_shortest_paths_share_the_traffic_of_a_torus():
    topology = FABRICS["torus"]()
    plan = make_plan(topology, 1, "min")
    for switch in plan.switches:
        distances = topology.distances(switch.router, np.arange(9))
        for other in np.flatnonzero(distances == 2).tolist():
            group = next(g for g in switch.groups if g.number == switch.untagged_groups[other])
            assert group.kind is GroupKind.SELECT
            first = {topology.neighbours(switch.router)[b.watch_port - 1] for b in group.buckets}
            assert len(group.buckets) == len(first) == 2
            assert {int(topology.distances(n, other)) for n in first} == {1}
            assert {b.weight for b in group.buckets} == {1}
    shares = traffic_split(plan)
    assert set(np.unique(shares.shares).tolist()) == {0.5, 1.0}


def test_destinations_with_equal_buckets_share_a_group():
    topology = FABRICS["hypercube"]()
    for switch in make_plan(topology, 1, "min").switches:
        buckets = [(g.kind, g.buckets) for g in switch.groups]
        assert len(set(buckets)) == len(buckets)


def test_parallel_links_share_the_traffic_and_stand_in_for_each_other():
    topology = Drawn([(0, 1), (0, 1), (0, 1), (1, 2)])
    plan = make_plan(topology, 1, "min")
    switch = plan.switches[0]
    group = next(g for g in switch.groups if g.number == switch.untagged_groups[2])
    assert group.kind is GroupKind.SELECT
    assert len(group.buckets) == 3
    assert prove(plan, [*link_failures(topology)]).ok
    two = frozenset(end for f in list(link_failures(topology))[:2] for end in f.failed_ends)
    assert prove(plan, [Failure("two of three", two)]).ok


def test_polarstar_keeps_its_one_path_and_its_few_rules():
    topology = PolarStar(3, "iq", 3)
    for switch in make_plan(topology, 1, "min").switches:
        assert not select_groups(switch)
        rules = sum(rule.table == 3 and rule.priority <= 100 for rule in switch.rules) - 1
        assert rules < topology.routers - 1


# ---- limits ----


def test_paths_longer_than_the_ttl_allows_are_refused_and_the_graph_is_not():
    topology = Drawn([(n, n + 1) for n in range(200)])
    assert topology.diameter == 200
    with pytest.raises(ParameterError, match=r"63 hops.*200"):
        make_plan(topology, 1, "min")
