"""The order in which switches are updated from one plan to another."""

import random
from dataclasses import replace

import pytest
from support.builders.graphs import together
from support.builders.repeats import repeats

from routing.registry import make_plan
from routing.replan.replan import surviving_plan
from routing.replan.update_order import Removal, update_rounds
from routing.verification.verifier import prove
from topology.failures import NO_FAILURE, link_failures, switch_failures
from topology.families.low_diameter.polarfly import PolarFly
from topology.families.low_diameter.polarstar import PolarStar


def key(rule):
    return rule.table, rule.priority, rule.match


def applied(plan, rounds):
    """Yields the plan after each round of an update."""
    for changes in rounds:
        switches = list(plan.switches)
        for router, changed in changes.items():
            held = {key(rule): rule for rule in switches[router].rules}
            for change in changed:
                if isinstance(change, Removal):
                    del held[key(change.rule)]
                else:
                    held[key(change)] = change
            switches[router] = replace(switches[router], rules=tuple(held.values()))
        plan = replace(plan, switches=tuple(switches))
        yield plan


def test_single_rules_except_failed_routers_from_a_block_and_are_removed_again():
    """PolarStar has one rule for a supernode two hops away; a failure may concern a part of it."""
    graph = PolarStar(2, "iq", 0)
    whole = make_plan(graph, 1, "min")
    for failure in link_failures(graph):
        broken = surviving_plan(whole, failure)
        proof = prove(broken, [failure])
        assert (proof.blackholes, proof.loops, proof.delivered) == (0, 0, proof.pairs)
        there = list(applied(whole, update_rounds(whole, broken, failure)))[-1]
        assert prove(there, [failure]).delivered == proof.pairs
        back = list(applied(there, update_rounds(broken, whole, NO_FAILURE)))[-1]
        assert [set(s.rules) for s in back.switches] == [set(s.rules) for s in whole.switches]


@pytest.mark.parametrize("name", ["min", "ugal-pf"])
@pytest.mark.parametrize("seed", [*range(3), *repeats(*range(3, 6))])
def test_no_packet_circles_between_the_rounds_of_an_update(name, seed):
    graph = PolarFly(3)
    rng = random.Random(seed)
    failure = together(rng.sample([*link_failures(graph), *switch_failures(graph)], rng.choice([1, 2, 3])))
    whole = make_plan(graph, 1, name)
    broken = surviving_plan(whole, failure)
    for before, after, state in ((whole, broken, failure), (broken, whole, NO_FAILURE)):
        steps = list(applied(before, update_rounds(before, after, state)))
        assert set(map(frozenset, (s.rules for s in steps[-1].switches))) == set(
            map(frozenset, (s.rules for s in after.switches))
        )
        for step in steps:
            assert prove(step, [failure]).loops == 0


def test_an_update_to_the_same_plan_is_nothing():
    plan = make_plan(PolarFly(3), 1, "min")
    assert update_rounds(plan, plan, NO_FAILURE) == []
