"""Hops and fates of packets, against a walk of single packets, on sound plans and on damaged ones."""

import pytest
from support.builders.damaged_plans import damaged, unprotected
from support.builders.repeats import repeats

from routing.registry import make_plan
from routing.verification.forwarding_states import StateSpace
from routing.verification.hop_counts import FAULTY, hop_counts
from routing.verification.verifier import prove
from topology.failures import NO_FAILURE, link_failures, switch_failures
from topology.registry import make_topology

SEEDS = range(12)
WITH_FAILURES = [
    ("polarfly", {"q": 3}, "ugal-pf"),
    ("polarfly", {"q": 3}, "min"),
    ("slimfly", {"q": 3}, "min"),
    # Adaptive and searched for, as two of those above.
    pytest.param("polarstar", {"q": 2, "supernode": "paley", "degree": 2}, "ugal", marks=pytest.mark.slow),
]


def walked(state, steps, delivery, failure=NO_FAILURE, visited=()):
    """The most hops of packets from a state, walked one by one; FAULTY if any choice has a fault."""
    if state.number in visited:
        return FAULTY
    hops = 0
    for step in steps(state, failure).steps:
        if step.fault:
            return FAULTY
        if step.target is None:
            beyond = 0 if step.hop == delivery else FAULTY
        else:
            beyond = walked(step.target, steps, delivery, failure, (*visited, state.number)) + 1
        hops = max(hops, beyond)
    return min(hops, FAULTY)


def faulty_pairs(plan):
    """Compares all counts with a walk, and returns the number of pairs with a fault."""
    space = StateSpace(plan)
    starts = [space.initial_state(source) for source in space.hosts]
    hops = hop_counts(space, starts)
    faulty = 0
    for host in space.hosts:
        steps, delivery = space.steps_toward(host), space.delivery_port(host)
        for source, state in zip(space.hosts, starts, strict=True):
            expected = walked(state, steps, delivery)
            assert hops[state.number, space.host_number(host)] == expected
            faulty += expected == FAULTY and source != host
    return faulty


@pytest.mark.parametrize("routing", ["min", "ugal-pf", *repeats("compact-valiant")])
def test_they_are_those_of_a_walk(routing):
    plan = make_plan(make_topology("polarfly", {"q": 3}), 2, routing)
    assert faulty_pairs(plan) == 0
    assert sum(faulty_pairs(damaged(plan, seed)) > 0 for seed in SEEDS) > len(SEEDS) / 2


@pytest.mark.parametrize(
    ("family", "params"),
    [("fat-tree", {"arity": 2, "levels": 3}), ("dragonfly", {"a": 4, "h": 1, "groups": 3, "trunking": 2})],
)
def test_those_of_groups_that_share_buckets_are_those_of_a_walk(family, params):
    plan = make_plan(make_topology(family, params), 1, "min")
    assert faulty_pairs(plan) == 0
    assert sum(faulty_pairs(damaged(plan, seed)) > 0 for seed in SEEDS) > len(SEEDS) / 2


def arrivals(plan, failure):
    """The number of pairs of working hosts whose packets arrive under a failure, by a walk."""
    space = StateSpace(plan)
    working = [host for host in space.hosts if host.router not in failure.failed_routers]
    return sum(
        walked(space.initial_state(source), steps, space.delivery_port(host), failure) < FAULTY
        for host in working
        for steps in [space.steps_toward(host)]
        for source in working
        if source != host
    )


@pytest.mark.parametrize(("family", "params", "routing"), WITH_FAILURES)
def test_pairs_that_arrive_under_failures_are_those_of_a_walk(family, params, routing):
    topology = make_topology(family, params)
    plan = make_plan(topology, 1, routing)
    failures = [*link_failures(topology)][:2] + [*switch_failures(topology)][:3:2]
    for broken in (damaged(plan, 1), unprotected(plan, 1)):
        sound = prove(broken).delivered
        for failure in failures:
            arrive = arrivals(broken, failure)
            assert prove(broken, [failure]).delivered == arrive
            assert prove(broken, [NO_FAILURE, failure]).delivered == sound + arrive
