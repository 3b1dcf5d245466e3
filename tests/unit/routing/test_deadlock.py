"""Proofs of deadlock freedom, against a program of its own that follows packets rule by rule."""

from functools import cache

import networkx as nx
import numpy as np
import pytest
from support.oracles.rule_walker import RuleWalker

from routing.deadlock.certificate import ranks_ascend
from routing.deadlock.channels import Channels
from routing.deadlock.cycles import describe_cycle, shortest_cycle
from routing.deadlock.dependency_graph import dependency_graph, first_hosts
from routing.deadlock.moves import MoveFinder
from routing.deadlock.order import ascending_ranks
from routing.deadlock.proof import prove_deadlock_freedom
from routing.registry import make_plan
from routing.verification.forwarding_states import StateSpace
from topology.errors import ParameterError, UsageError
from topology.failures import NO_FAILURE, link_failures
from topology.registry import make_topology

PLANS = {
    "polarfly q=3 min": ("polarfly", {"q": 3}, "min"),
    "polarfly q=5 min": ("polarfly", {"q": 5}, "min"),
    "polarfly q=3 compact-valiant": ("polarfly", {"q": 3}, "compact-valiant"),
    "polarfly q=3 ugal-pf": ("polarfly", {"q": 3}, "ugal-pf"),
    "dragonfly 4/2 hierarchical": ("dragonfly", {"a": 4, "h": 2}, "hierarchical"),
    "dragonfly 4/2/5 two-color": ("dragonfly", {"a": 4, "h": 2, "trunking": 2}, "two-color"),
    "torus 5x5 dor": ("torus", {"shape": "5x5"}, "dor"),
    "hyperx 4x4 dor": ("hyperx", {"shape": "4x4"}, "dor"),
    "hypercube 4 dor": ("hypercube", {"dimension": 4}, "dor"),
    "fat tree 4/2 nca": ("fat-tree", {"arity": 4, "levels": 2}, "nca"),
    "fat tree 2/3 valiant": ("fat-tree", {"arity": 2, "levels": 3}, "valiant"),
    "megafly 1/4 up-down": ("megafly", {"rho": 1, "a": 4}, "up-down"),
    "xpander 20 min": ("xpander", {"degree": 4, "lift": 4}, "min"),
    "jellyfish 20 up-down": ("jellyfish", {"routers": 20, "degree": 4}, "up-down"),
}
CIRCLES = {  # the lengths of shortest circles
    "polarfly q=3 min": 5,
    "polarfly q=5 min": 5,
    "dragonfly 4/2 hierarchical": 6,
    "torus 5x5 dor": 5,
    "fat tree 2/3 valiant": 2,
    "xpander 20 min": 4,
}


@cache
def plan_of(name):
    family, params, routing = PLANS[name]
    return make_plan(make_topology(family, params), 1, routing)


def finder_of(plan, failure=NO_FAILURE):
    space = StateSpace(plan)
    return MoveFinder(space, first_hosts(space), failure)


def graph_of(plan, virtual=1, failure=NO_FAILURE):
    return dependency_graph(finder_of(plan, failure), Channels(plan.topology, virtual))


def named(graph):
    channels = graph.channels
    pairs = zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)
    return {(tuple(channels.channel(a)), tuple(channels.channel(b))) for a, b in pairs}


def shortest(graph):
    """Returns the length of a shortest circle: the way back from a node after one edge."""
    lengths = {node: nx.single_source_shortest_path_length(graph, node) for node in graph}
    return min(1 + lengths[b][a] for a, b in graph.edges if a in lengths[b])


@pytest.mark.parametrize("virtual", [1, 2, 3])
@pytest.mark.parametrize("name", PLANS)
def test_dependencies_are_those_of_packets_that_are_followed_one_by_one(name, virtual):
    plan = plan_of(name)
    expected = RuleWalker(plan).dependencies(virtual)
    graph = graph_of(plan, virtual)
    assert named(graph) == expected
    assert (ascending_ranks(graph) is not None) == nx.is_directed_acyclic_graph(nx.DiGraph(expected))


@pytest.mark.parametrize("name", ["polarfly q=3 min", "polarfly q=3 ugal-pf", "hyperx 4x4 dor"])
def test_dependencies_under_failures_are_those_of_the_alternates(name):
    plan = plan_of(name)
    sound = finder_of(plan)
    for failure in list(link_failures(plan.topology))[::7]:
        expected = RuleWalker(plan, failure.failed_ends).dependencies()
        graph = dependency_graph(sound.under(failure), Channels(plan.topology))
        assert named(graph) == expected


@pytest.mark.parametrize("name", CIRCLES)
def test_the_circle_is_a_shortest_one_of_packets_that_there_are(name):
    plan = plan_of(name)
    walker = RuleWalker(plan)
    dependencies = walker.dependencies()
    graph = graph_of(plan)
    circle = describe_cycle(graph, shortest_cycle(graph))
    assert len(circle) == CIRCLES[name] == shortest(nx.DiGraph(dependencies))
    hosts = {host: host for host in walker.hosts}
    for one, after in zip(circle, [*circle[1:], circle[0]], strict=True):
        own = set()
        walker.follow(hosts[one.source], hosts[one.destination], 1, own)
        assert (tuple(one.channel), tuple(after.channel)) in own


@pytest.mark.parametrize("name", ["polarfly q=3 min", "jellyfish 20 up-down", "dragonfly 4/2/5 two-color"])
def test_certificates_hold_for_packets_that_are_followed_one_by_one(name):
    plan, virtual = plan_of(name), 2 if name.startswith("polarfly") else 1
    proof = prove_deadlock_freedom(plan, virtual)
    assert proof.acyclic
    ranks = {tuple(proof.numbering.channel(number)): rank for number, rank in enumerate(proof.ranks.tolist())}
    dependencies = RuleWalker(plan).dependencies(virtual)
    assert dependencies
    assert all(ranks[a] < ranks[b] for a, b in dependencies)


def test_a_certificate_with_one_wrong_rank_is_refused():
    plan = plan_of("jellyfish 20 up-down")
    graph, channels = graph_of(plan), Channels(plan.topology)
    ranks = ascending_ranks(graph)
    assert ranks_ascend(finder_of(plan), channels, ranks)
    for dependency in range(0, len(graph.tails), 20):
        wrong = ranks.copy()
        wrong[graph.heads[dependency]] = wrong[graph.tails[dependency]]
        assert not ranks_ascend(finder_of(plan), channels, wrong)


@pytest.mark.parametrize(
    ("name", "acyclic", "by_hop"),
    [
        ("polarfly q=3 min", False, 2),
        ("polarfly q=5 min", False, 2),
        ("polarfly q=3 compact-valiant", False, 4),
        ("polarfly q=3 ugal-pf", False, 4),
        ("dragonfly 4/2 hierarchical", False, 2),
        ("torus 5x5 dor", False, 4),
        ("hyperx 4x4 dor", True, 1),
        ("hypercube 4 dor", True, 1),
        ("fat tree 4/2 nca", True, 1),
        ("jellyfish 20 up-down", True, 1),
        ("dragonfly 4/2/5 two-color", True, 1),
    ],
)
def test_virtual_channels_by_hop_that_plans_need(name, acyclic, by_hop):
    proof = prove_deadlock_freedom(plan_of(name))
    assert (proof.acyclic, proof.channels_by_hop) == (acyclic, by_hop)
    assert bool(proof.cycle) is not acyclic
    assert prove_deadlock_freedom(plan_of(name), by_hop).acyclic


def test_repairs_bring_circles_to_plans_that_have_none():
    plan = plan_of("dragonfly 4/2/5 two-color")
    failures = list(link_failures(plan.topology))
    proof = prove_deadlock_freedom(plan, 1, failures)
    assert not proof.acyclic
    assert proof.scenarios == 1 + len(failures)
    assert proof.failure in proof.failures_with_circles
    assert "none" not in proof.failures_with_circles
    dead = next(f.failed_ends for f in failures if f.name == proof.failure)
    circle = [tuple(one.channel) for one in proof.cycle]
    dependencies = RuleWalker(plan, dead).dependencies()
    assert all(pair in dependencies for pair in zip(circle, [*circle[1:], circle[0]], strict=True))


def test_layers_have_no_circles_and_one_is_enough_without():
    counts = {
        "polarfly q=3 min": 2,
        "polarfly q=5 min": 2,
        "dragonfly 4/2 hierarchical": 3,
        "torus 5x5 dor": 3,
        "hyperx 4x4 dor": 1,
    }
    for name, layers in counts.items():
        assert prove_deadlock_freedom(plan_of(name), layers=True).layers == layers


def test_layers_are_refused_where_a_pair_has_several_paths():
    with pytest.raises(UsageError, match="one path"):
        prove_deadlock_freedom(plan_of("polarfly q=3 ugal-pf"), layers=True)


@pytest.mark.parametrize("virtual", [0, 65])
def test_virtual_channels_are_1_to_64(virtual):
    with pytest.raises(ParameterError, match="1 to 64"):
        prove_deadlock_freedom(plan_of("polarfly q=3 min"), virtual)


def test_channels_are_numbered_by_links_and_virtual_channels():
    topology = plan_of("polarfly q=3 min").topology
    channels = Channels(topology, 3)
    names = [channels.channel(number) for number in range(len(channels))]
    assert len(set(names)) == 3 * 2 * topology.links
    for router in range(topology.routers):
        around = topology.neighbours(router).astype(np.int64)
        links = channels.links_to(router, around).tolist()
        assert links == [channels.link(router, port) for port in range(1, len(around) + 1)]
        assert [names[3 * link].head for link in links] == around.tolist()
