"""Replanning: the failures that a plan is for, and the event loop while it is made."""

import itertools

import pytest
from support.builders.graphs import FABRICS

from controller import replanner as module
from controller.replanner import Replanner
from routing.registry import make_plan
from routing.verification.verifier import prove
from topology.drains import NO_DRAIN, drain_of
from topology.errors import NegativeResult
from topology.failures import Failure
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import link_component, parse_drained

GRAPH = PolarFly(3)
LINK, OTHER = GRAPH.link_list[0], GRAPH.link_list[7]


def cut(replanner, link, now_s):
    replanner.state.port_changed(link.a, link.port_a, False, now_s)


def replan(replanner):
    return replanner.finish(replanner.begin()())


def test_a_failure_during_replanning_is_planned_for_next():
    replanner = Replanner(make_plan(GRAPH, 1, "min"))
    cut(replanner, LINK, 1.0)

    computation = replanner.begin()
    cut(replanner, OTHER, 2.0)
    first, other = (link_component(link).name.partition(":")[2] for link in (LINK, OTHER))
    assert replanner.finish(computation()).failure.name == first
    assert replanner.state.plan_due(3.0)
    assert set(replan(replanner).failure.name.split(", ")) == {first, other}
    assert not replanner.state.plan_due(4.0)


def test_a_recovery_during_replanning_is_planned_for_next():
    replanner = Replanner(make_plan(GRAPH, 1, "min"))
    cut(replanner, LINK, 1.0)

    computation = replanner.begin()
    replanner.state.port_changed(LINK.a, LINK.port_a, True, 2.0)
    replanner.finish(computation())
    assert replanner.state.plan_due(3.0)
    assert not replan(replanner).failure.any_failed


DRAIN = drain_of(GRAPH, parse_drained("s3", GRAPH))


def test_a_drain_is_planned_for_without_haste_and_so_is_its_end():
    replanner = Replanner(make_plan(GRAPH, 1, "min"))
    assert not replanner.plan_due(0.0)
    replanner.ask_for(DRAIN)
    assert replanner.plan_due(0.0)
    planned = replan(replanner)
    assert (planned.drain, planned.unhurried, planned.refusal, planned.crossing_pairs) == (
        DRAIN,
        True,
        None,
        0,
    )
    assert planned.rules > 0
    assert not replanner.plan_due(0.0)
    replanner.ask_for(NO_DRAIN)
    ended = replan(replanner)
    assert (ended.drain, ended.unhurried, ended.refusal) == (NO_DRAIN, True, None)
    assert ended.rules > 0


def test_a_failure_beside_a_drain_is_planned_for_in_haste():
    replanner = Replanner(make_plan(GRAPH, 1, "min"))
    replanner.ask_for(DRAIN)
    replan(replanner)
    cut(replanner, LINK, 1.0)
    planned = replan(replanner)
    assert (planned.drain, planned.unhurried, planned.failure.any_failed) == (DRAIN, False, True)


def test_a_drain_without_a_plan_is_refused_and_the_failure_is_planned_for_all_the_same(monkeypatch):
    whole = module.surviving_plan

    def without_drains(plan, failure, drain, **others):
        if drain.any_drained:
            raise NegativeResult("no such plan")
        return whole(plan, failure, drain, **others)

    monkeypatch.setattr(module, "surviving_plan", without_drains)
    replanner = Replanner(make_plan(GRAPH, 1, "min"))
    cut(replanner, LINK, 1.0)
    replanner.ask_for(DRAIN)
    planned = replan(replanner)
    assert (planned.refusal, planned.problem, planned.drain) == ("no such plan", None, NO_DRAIN)
    assert planned.rules > 0
    assert not replanner.plan_due(9.0)


@pytest.mark.parametrize("name", ["min", "ugal"])
@pytest.mark.parametrize("fabric", ["torus", "hypercube"])
def test_links_of_a_switch_that_returns_come_up_one_by_one_without_loss(fabric, name):
    graph, router = FABRICS[fabric](), 4
    replanner = Replanner(make_plan(graph, 1, name))
    replanner.state.switch_lost(router, 1.0)
    replan(replanner)
    replanner.state.switch_filled(router, 2.0)
    assert replanner.state.admit(2.0) == []
    planned = replan(replanner)
    assert (planned.unhurried, planned.drain) == (True, NO_DRAIN)
    links = [link for link in graph.link_list if router in (link.a, link.b)]
    for count in range(len(links)):
        for up in itertools.combinations(links, count):
            ends = frozenset(end for link in links if link not in up for end in link.ends)
            proof = prove(planned.plan, [Failure("down", ends)])
            assert all(router in pair for pair in proof.undelivered), up
    assert {(port.router, port.down) for port in replanner.state.admit(3.0)} == {
        (other, False) for other in graph.neighbours(router).tolist()
    }
    assert replanner.plan_due(4.0)
    assert not replan(replanner).failure.any_failed


def test_a_switch_returns_without_new_groups_which_would_stay():
    plan = make_plan(PolarFly(2), 1, "min")
    replanner = Replanner(plan)
    replanner.state.switch_lost(5, 1.0)
    replanner.state.switch_filled(5, 1.0)
    planned = replan(replanner)
    assert planned.rules > 0
    assert [switch.groups for switch in planned.plan.switches] == [switch.groups for switch in plan.switches]
