"""Fast reroute of PolarFly in closed form: every single link and every single switch may fail."""

import numpy as np
import pytest
from support.builders.graphs import Drawn, routings_of, together
from support.builders.repeats import repeats

from routing.plan.model import GroupKind, Table
from routing.registry import make_plan
from routing.verification.verifier import prove
from topology.failures import NO_FAILURE, link_failures, switch_failures
from topology.families.low_diameter.polarfly import PolarFly

LONGEST = {"min": 5, "valiant": 7, "compact-valiant": 7, "ugal": 7, "ugal-pf": 7, "up-down": 8}
DIAMETER, REPAIR_HOPS = 2, 3


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, *repeats(8, 9)])
def test_every_single_link_may_fail_under_minimal_routing(q):
    graph = PolarFly(q)
    proof = prove(make_plan(graph, 1, "min"), [NO_FAILURE, *link_failures(graph)])
    assert proof.ok, proof.faults
    assert proof.delivered == proof.pairs * proof.scenarios
    assert proof.max_hops <= LONGEST["min"]


@pytest.mark.parametrize("name", routings_of("polarfly"))
@pytest.mark.parametrize("q", [2, 3, *repeats(4)])
def test_every_single_link_may_fail_whatever_the_groups_choose(name, q):
    graph = PolarFly(q)
    plan = make_plan(graph, 1, name)
    proof = prove(plan, [NO_FAILURE, *link_failures(graph)])
    assert proof.ok, proof.faults
    assert proof.delivered == proof.pairs * proof.scenarios
    # A routing that somebody adds promises its own hops.
    promised = int(plan.hop_bound(np.array([DIAMETER], np.int16))[0])
    assert proof.max_hops <= LONGEST.get(name, promised + REPAIR_HOPS)


@pytest.mark.parametrize("q", [5, 7, *repeats(8, 9)])
def test_every_single_switch_may_fail_under_minimal_routing(q):
    graph = PolarFly(q)
    proof = prove(make_plan(graph, 1, "min"), switch_failures(graph))
    assert proof.ok, proof.faults
    assert proof.delivered == proof.pairs * proof.scenarios


@pytest.mark.parametrize("name", routings_of("polarfly"))
@pytest.mark.parametrize("q", [2, 3, *repeats(4)])
def test_every_single_switch_may_fail(name, q):
    graph = PolarFly(q)
    proof = prove(make_plan(graph, 1, name), switch_failures(graph))
    assert proof.ok, proof.faults
    assert proof.delivered == proof.pairs * proof.scenarios


def test_without_the_mark_packets_to_a_dead_switch_would_circle():
    """A marked packet is never rerouted; without that rule it could be rerouted for ever."""
    graph = PolarFly(3)
    plan = make_plan(graph, 1, "min")
    unmarked = [
        type(switch)(
            switch.router,
            tuple(r for r in switch.rules if r.goto is not Table.MARKED),
            switch.groups,
        )
        for switch in plan.switches
    ]
    broken = type(plan)(graph, 1, "min", tuple(unmarked), plan.hop_bound)
    links = list(link_failures(graph))
    two = [together(pair) for pair in zip(links, links[5:], strict=False)]
    assert prove(plan, two).loops == 0
    assert prove(broken, two).loops > 0


def test_pairs_cut_off_by_a_bridge_are_counted_and_are_not_faults():
    graph = Drawn([(0, 1), (1, 2)])
    proof = prove(make_plan(graph, 1, "min"), link_failures(graph))
    assert proof.ok
    assert proof.cut_off == 2 * 4
    assert proof.delivered == 2 * 2


@pytest.mark.parametrize("q", [2, 3, 4, 5])
def test_groups_that_can_fail_over_have_two_different_ports_at_least(q):
    graph = PolarFly(q)
    for switch in make_plan(graph, 1, "ugal-pf").switches:
        for group in switch.groups:
            if group.kind is GroupKind.FAST_FAILOVER:
                watched = [bucket.watch_port for bucket in group.buckets]
                assert len(set(watched)) == len(watched) >= 2
