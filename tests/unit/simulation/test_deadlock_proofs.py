"""Agreement of proofs of deadlock freedom with the simulator: what is proven runs, and circles are found."""

from functools import cache
from itertools import pairwise

import pytest
from support.builders.simulated_networks import simulated

from routing.deadlock.channels import Channels
from routing.deadlock.dependency_graph import dependency_graph, first_hosts
from routing.deadlock.moves import MoveFinder
from routing.deadlock.order import ascending_ranks
from routing.registry import make_plan
from routing.verification.forwarding_states import StateSpace
from simulation.settings import Decision
from simulation.tables.compiler import compile_tables
from topology.failures import NO_FAILURE
from topology.registry import make_topology
from traffic.workload.patterns import make_pattern

pytestmark = pytest.mark.usefixtures("compiled_kernels")

COLOURED = {"a": 8, "h": 4, "trunking": 4}
# Family, parameters, hosts a router, routing.
FREE = {
    "hyperx 4x4 dor": ("hyperx", {"shape": "4x4"}, 4, "dor"),
    "jellyfish 20 up-down": ("jellyfish", {"routers": 20, "degree": 4}, 3, "up-down"),
    "polarfly q=3 up-down": ("polarfly", {"q": 3}, 2, "up-down"),
    "fat tree 4/2 nca": ("fat-tree", {"arity": 4, "levels": 2}, 4, "nca"),
    "dragonfly 4/2/5 two-color": ("dragonfly", {"a": 4, "h": 2, "trunking": 2}, 2, "two-color"),
    "dragonfly 8/4/9 four-color": ("dragonfly", COLOURED, 4, "four-color"),
    "dragonfly 8/4/9 four-color-valiant": ("dragonfly", COLOURED, 4, "four-color-valiant"),
    "dragonfly 8/4/9 four-color-adaptive": ("dragonfly", COLOURED, 4, "four-color-adaptive"),
}
CIRCLES = {
    "polarfly q=3 min": ("polarfly", {"q": 3}, 4, "min"),
    "dragonfly 4/2 hierarchical": ("dragonfly", {"a": 4, "h": 2}, 2, "hierarchical"),
    "torus 5x5 dor": ("torus", {"shape": "5x5"}, 2, "dor"),
}
SLOW = ("dragonfly 8/4/9 four-color-valiant", "dragonfly 8/4/9 four-color-adaptive")
ALL = FREE | CIRCLES


@cache
def plan_of(name):
    family, params, hosts, routing = ALL[name]
    return make_plan(make_topology(family, params), hosts, routing)


@cache
def graph_of(name):
    plan = plan_of(name)
    space = StateSpace(plan)
    return dependency_graph(MoveFinder(space, first_hosts(space), NO_FAILURE), Channels(plan.topology))


def run(name, cycles, channels):
    """Hosts that send all they can, from empty buffers of one packet on; any channel may be taken."""
    plan = plan_of(name)
    pattern = make_pattern("uniform", plan.topology, plan.hosts_per_router, 1)
    return simulated(
        compile_tables(plan),
        pattern,
        1.0,
        decision=Decision(law="piggyback"),
        warmup=0,
        window=cycles,
        most_drain=0,
        channel_policy="any",
        channels=channels,
        buffer_flits=4,
    )


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in FREE])
def test_plans_without_a_circle_run_with_one_channel_at_full_load(name):
    assert ascending_ranks(graph_of(name)) is not None
    found = run(name, 5000, 1)
    assert found.deadlock is None
    assert found.cycles == 5000
    assert (found.batches[:, 1] > 10 * plan_of(name).topology.routers).all()


@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("name", CIRCLES)
def test_plans_with_a_circle_freeze_in_one_of_the_proof(name, channels):
    graph = graph_of(name)
    assert ascending_ranks(graph) is None
    found = run(name, 30_000, channels)
    assert found.deadlock is not None
    dependencies = {*zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)}
    links = [link for link, _ in found.deadlock.cyclic_dependency]
    assert {*pairwise([*links, links[0]])} <= dependencies
