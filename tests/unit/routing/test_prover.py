"""A prover that has proven other plans of a fabric: its proofs are those of one that knows nothing."""

import random
from dataclasses import replace

import pytest
from support.builders.damaged_plans import damaged

from routing.registry import make_plan
from routing.replan.replan import Provers, surviving_plan
from routing.verification.proof import PlanError
from routing.verification.verifier import Prover, prove
from topology.errors import NegativeResult
from topology.failures import failure_of
from topology.faults import Component, ComponentKind, link_component
from topology.registry import make_topology

STEPS = 10
MANY_STEPS = 1000
FABRICS = [
    ("polarfly", {"q": 3}, "ugal-pf"),
    ("polarfly", {"q": 3}, "min"),
    # Adaptive and searched for, as those above and in test_hop_counts.
    pytest.param("slimfly", {"q": 3}, "ugal", marks=pytest.mark.slow),
]


def failures(topology, steps, seed):
    """Yields the failures of a fabric whose links and switches fail and are repaired at random."""
    draw = random.Random(seed)
    elements = [link_component(link) for link in topology.link_list]
    elements += [Component(ComponentKind.SWITCH, (router,)) for router in range(topology.routers)]
    down = set()
    for _ in range(steps):
        down ^= {draw.choice(sorted(down, key=repr) if down and draw.random() < 0.4 else elements)}
        yield failure_of(topology, sorted(down, key=repr))


def check(family, params, routing, steps):
    topology = make_topology(family, params)
    whole = make_plan(topology, 2, routing)
    prover = Prover()
    prover.prove(whole)
    failed = set()
    for step, failure in enumerate(failures(topology, steps, seed=7)):
        try:
            plan = surviving_plan(whole, failure, provers=Provers(prover))
        except NegativeResult:
            plan = whole  # with this failure not all pairs arrive
        proof = prover.prove(plan, [failure])
        assert proof == prove(plan, [failure])
        failed.add(failure.name)
        if step % 10 == 0:  # of a plan with faults, and without the failure that it is for
            broken = damaged(plan, step)
            assert prover.prove(broken, [failure]) == prove(broken, [failure])
            assert prover.prove(broken) == prove(broken)
    assert len(failed) > steps / 2


@pytest.mark.parametrize(("family", "params", "routing"), FABRICS)
def test_proofs_after_random_failures_are_those_of_a_new_prover(family, params, routing):
    check(family, params, routing, STEPS)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "params", "routing"), FABRICS)
def test_proofs_after_a_thousand_failures_are_those_of_a_new_prover(family, params, routing):
    check(family, params, routing, MANY_STEPS)


def test_another_fabric_is_proven_anew():
    prover = Prover()
    for q in (3, 4, 3):
        plan = make_plan(make_topology("polarfly", {"q": q}), 1, "min")
        assert prover.prove(plan) == prove(plan)


def test_after_a_plan_that_no_switch_can_hold_all_is_found_anew():
    plan = make_plan(make_topology("polarfly", {"q": 3}), 1, "min")
    prover = Prover()
    prover.prove(plan)
    first, *others = plan.switches
    twice = replace(first, rules=(*first.rules, first.rules[0]))
    with pytest.raises(PlanError):
        prover.prove(replace(plan, switches=(twice, *others)))
    assert prover.prove(plan) == prove(plan)
