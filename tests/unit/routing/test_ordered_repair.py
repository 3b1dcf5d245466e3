"""Repairs that keep to an order of channels: no circle under any failure, and only unprotected pairs lost."""

import random
from functools import cache
from itertools import combinations
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from support.builders.graphs import drawn, single_failures
from support.oracles.rule_walker import RuleWalker

from routing import ordered_repair
from routing.deadlock.channels import Channels
from routing.deadlock.growing_order import GrowingOrder
from routing.deadlock.proof import prove_deadlock_freedom
from routing.registry import make_plan
from routing.verification.verifier import Prover, prove
from topology.errors import ParameterError, UsageError
from topology.failures import NO_FAILURE, failure_of, link_failures, switch_failures
from topology.faults import ComponentKind
from topology.registry import make_topology

PLANS = {
    "jellyfish 20 up-down": ("jellyfish", {"routers": 20, "degree": 4}, "up-down"),
    "polarfly q=3 up-down": ("polarfly", {"q": 3}, "up-down"),
    "polarfly q=5 up-down": ("polarfly", {"q": 5}, "up-down"),
    "hyperx 4x4 dor": ("hyperx", {"shape": "4x4"}, "dor"),
    "fat tree 4/2 nca": ("fat-tree", {"arity": 4, "levels": 2}, "nca"),
    "fat tree 4/3 nca": ("fat-tree", {"arity": 4, "levels": 3}, "nca"),
    "megafly 1/4 nca": ("megafly", {"rho": 1, "a": 4}, "nca"),
    "dragonfly 4/2/5 two-color": ("dragonfly", {"a": 4, "h": 2, "trunking": 2}, "two-color:order=own"),
    "dragonfly 8/4/9 four-color": ("dragonfly", {"a": 8, "h": 4, "trunking": 4}, "four-color:order=own"),
}
# Unprotected (router, destination, link) of the table in docs/explanation/deadlocks.md.
UNPROTECTED = {
    "jellyfish 20 up-down": 132,
    "polarfly q=3 up-down": 22,
    "polarfly q=5 up-down": 194,
    "hyperx 4x4 dor": 4,
    "fat tree 4/2 nca": 4,
    "fat tree 4/3 nca": 80,
    "megafly 1/4 nca": 38,
    "dragonfly 4/2/5 two-color": 28,
    "dragonfly 8/4/9 four-color": 119,
}
LARGE = ("polarfly q=5 up-down", "fat tree 4/3 nca", "dragonfly 8/4/9 four-color")


@cache
def plan_of(name):
    family, params, routing = PLANS[name]
    return make_plan(make_topology(family, params), 1, routing, ordered_repair=True)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LARGE else ()) for name in PLANS]
)
def test_no_failure_brings_a_circle(name):
    plan = plan_of(name)
    failures = [*link_failures(plan.topology), *switch_failures(plan.topology)]
    proof = prove_deadlock_freedom(plan, 1, failures)
    assert proof.acyclic, proof.failures_with_circles
    assert proof.scenarios == 1 + len(failures)
    of_links = [entry for entry in plan.unprotected if entry[2].kind is ComponentKind.LINK]
    assert len(of_links) == UNPROTECTED[name]


@pytest.mark.parametrize("name", ["polarfly q=3 up-down", "megafly 1/4 nca"])
def test_one_order_holds_for_all_failures_together(name):
    plan = plan_of(name)
    dead = [failure.failed_ends for failure in link_failures(plan.topology)]
    both = random.Random(1).sample([a | b for a, b in combinations(dead, 2)], 20)
    ranks = ordered_repair.ordered_search(plan).ranks.tolist()
    channels = Channels(plan.topology)
    rank_of = {tuple(channels.channel(number)): rank for number, rank in enumerate(ranks)}
    assert sorted(ranks) == list(range(len(channels)))
    sound, repaired = RuleWalker(plan).dependencies(), set()
    for ends in [*dead, *both]:
        repaired |= RuleWalker(plan, ends).dependencies()
    assert repaired - sound
    assert all(rank_of[a] < rank_of[b] for a, b in sound | repaired)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))])
def test_only_unprotected_pairs_are_lost(seed):
    rng = random.Random(seed)
    of = nx.gnm_random_graph(rng.randrange(6, 14), rng.randrange(14, 24), seed=seed)
    topology = drawn(of.subgraph(max(nx.connected_components(of), key=len)))
    plan = make_plan(topology, 1, "up-down", ordered_repair=True)
    prover = Prover()
    assert prover.prove(plan).ok
    for failure in single_failures(topology):
        proof = prover.prove(plan, [failure])
        assert (proof.loops, proof.misdelivered, proof.over_bound) == (0, 0, 0), proof.faults
        listed = {
            (router, destination)
            for router, destination, component in plan.unprotected
            if failure_of(topology, [component]).failed_ends == failure.failed_ends
        }
        lost = {pair for pair in listed if not failure.failed_routers.intersection(pair)}
        assert lost <= proof.undelivered, (seed, failure.name)
        assert {d for _, d in proof.undelivered} == {d for _, d in lost}


def test_an_ordered_repair_protects_less_than_a_free_one_and_more_than_none():
    family, params, routing = PLANS["jellyfish 20 up-down"]
    topology = make_topology(family, params)
    plans = [
        make_plan(topology, 1, routing),
        plan_of("jellyfish 20 up-down"),
        make_plan(topology, 1, routing, local_repair=False),
    ]
    failures = [NO_FAILURE, *link_failures(topology)]
    free, ordered, none = (prove(plan, failures).blackholes for plan in plans)
    assert 0 == free < ordered < none


def test_a_growing_order_refuses_what_closes_a_circle():
    rng = random.Random(1)
    edges = sorted({(a, b) for a, b in (sorted(rng.sample(range(30), 2)) for _ in range(40))})
    tails, heads = np.array(edges).T
    order = GrowingOrder(SimpleNamespace(tails=tails, heads=heads), np.arange(30))
    graph = nx.DiGraph(edges)
    outcomes = set()
    for _ in range(200):
        more = frozenset((rng.randrange(30), rng.randrange(30)) for _ in range(rng.randrange(1, 3)))
        both = nx.DiGraph([*graph.edges, *more])
        sound = nx.is_directed_acyclic_graph(both)
        assert order.missing(more) == len(more - set(graph.edges))
        assert order.add(more) is sound
        outcomes.add(sound)
        graph = both if sound else graph
        places = order.ranks().tolist()
        assert sorted(places) == list(range(30))
        assert all(places[a] < places[b] for a, b in graph.edges)
    assert outcomes == {True, False}


@pytest.mark.parametrize(
    ("routing", "message"),
    [
        ("min", "got min with a cycle of 5 channels; try up-down"),
        ("valiant", "without detours, got valiant; try up-down"),
    ],
)
def test_plans_with_circles_or_detours_cannot_be_repaired_in_order(routing, message):
    with pytest.raises(UsageError, match=message):
        make_plan(make_topology("polarfly", {"q": 3}), 1, routing, ordered_repair=True)


def test_an_ordered_repair_needs_a_repair():
    with pytest.raises(UsageError, match="local-repair"):
        make_plan(make_topology("polarfly", {"q": 3}), 1, "up-down", local_repair=False, ordered_repair=True)


def test_fabrics_with_too_many_alternates_are_refused(monkeypatch):
    monkeypatch.setattr(ordered_repair, "MAX_ALTERNATES", 48 * 13 - 1)
    with pytest.raises(ParameterError, match="at most 623, got 624"):
        make_plan(make_topology("polarfly", {"q": 3}), 1, "up-down", ordered_repair=True)
