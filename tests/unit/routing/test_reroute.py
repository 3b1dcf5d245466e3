"""What goes on when links and switches die: ways around in the switches, and plans for what is left."""

import random
from dataclasses import replace

import numpy as np
import pytest

from routing.plan.model import GroupKind, Table
from routing.registry import ROUTINGS, make_plan
from routing.replan.replan import surviving_plan
from routing.replan.surviving_graph import surviving_graph
from routing.replan.update_order import Removal, update_rounds
from routing.verification.verifier import prove
from topology.base import Adjacency, Topology
from topology.failures import NO_FAILURE, Failure, link_failures, switch_failures
from topology.families.polarfly import PolarFly
from topology.families.polarstar import PolarStar
from topology.shortest_paths import connected_components

LONGEST = {"min": 5, "valiant": 7, "compact-valiant": 7, "ugal": 7, "ugal-pf": 7}
DIAMETER, REPAIR_HOPS = 2, 3


def together(failures):
    return Failure(
        "+".join(f.name for f in failures),
        frozenset().union(*(f.failed_ends for f in failures)),
        frozenset().union(*(f.failed_routers for f in failures)),
    )


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, 8, 9])
def test_every_single_link_may_fail_under_minimal_routing(q):
    graph = PolarFly(q)
    proof = prove(make_plan(graph, 1, "min"), [NO_FAILURE, *link_failures(graph)])
    assert proof.ok, proof.faults
    assert proof.delivered == proof.pairs * proof.scenarios
    assert proof.max_hops <= LONGEST["min"]


@pytest.mark.parametrize("name", sorted(ROUTINGS))
@pytest.mark.parametrize("q", [2, 3, 4])
def test_every_single_link_may_fail_whatever_the_groups_choose(name, q):
    graph = PolarFly(q)
    plan = make_plan(graph, 1, name)
    proof = prove(plan, [NO_FAILURE, *link_failures(graph)])
    assert proof.ok, proof.faults
    assert proof.delivered == proof.pairs * proof.scenarios
    # A routing that somebody adds promises its own hops.
    promised = int(plan.hop_bound(np.array([DIAMETER], np.int16))[0])
    assert proof.max_hops <= LONGEST.get(name, promised + REPAIR_HOPS)


@pytest.mark.parametrize("q", [5, 7, 8, 9])
def test_every_single_switch_may_fail_under_minimal_routing(q):
    graph = PolarFly(q)
    proof = prove(make_plan(graph, 1, "min"), switch_failures(graph))
    assert proof.ok, proof.faults
    assert proof.delivered == proof.pairs * proof.scenarios


@pytest.mark.parametrize("name", sorted(ROUTINGS))
@pytest.mark.parametrize("q", [2, 3, 4])
def test_every_single_switch_may_fail(name, q):
    graph = PolarFly(q)
    proof = prove(make_plan(graph, 1, name), switch_failures(graph))
    assert proof.ok, proof.faults
    assert proof.delivered == proof.pairs * proof.scenarios


def test_without_the_mark_packets_to_a_dead_switch_would_circle():
    """The rule that has repaired packets go on without repair is what stops them."""
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


class Chain(Topology):
    """Three routers in a row: every link is a bridge."""

    name = "chain"
    params = {}  # noqa: RUF012  # as every family has

    @property
    def adjacency(self):
        return Adjacency(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32))

    def distances(self, sources, destinations):
        return np.abs(np.asarray(sources) - np.asarray(destinations)).astype(np.int8)

    def next_hops(self, sources, destinations):
        s, d = np.broadcast_arrays(np.asarray(sources), np.asarray(destinations))
        return (s + np.sign(d - s)).astype(np.int32)

    def pairs_by_distance(self):
        return {1: 4, 2: 2}


def test_pairs_that_a_bridge_cuts_off_are_counted_and_no_fault():
    graph = Chain()
    proof = prove(make_plan(graph, 1, "min"), link_failures(graph))
    assert proof.ok
    assert proof.cut_off == 2 * 4
    assert proof.delivered == 2 * 2


def test_parts_of_a_broken_fabric():
    first, second = link_failures(Chain())
    assert connected_components(Chain(), NO_FAILURE) == [0, 0, 0]
    assert connected_components(Chain(), first) == [0, 1, 1]
    assert connected_components(Chain(), together([first, second])) == [0, 1, 2]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", ["min", "ugal-pf", "valiant"])
def test_a_plan_for_what_is_left_delivers_every_pair_that_can_be(name, seed):
    graph = PolarFly(3)
    rng = random.Random(seed)
    everything = [*link_failures(graph), *switch_failures(graph)]
    failure = together(rng.sample(everything, rng.choice([1, 2, 4, 8])))
    plan = surviving_plan(make_plan(graph, 1, name), failure)
    proof = prove(plan, [failure])
    assert (proof.loops, proof.misdelivered, proof.blackholes) == (0, 0, 0), proof.faults
    alive = graph.routers - len(failure.failed_routers)
    assert proof.delivered + proof.cut_off == alive * (alive - 1)
    before = make_plan(graph, 1, name)
    assert [s.groups for s in plan.switches] == [s.groups for s in before.switches]


def test_routes_that_are_still_shortest_stay():
    graph = PolarFly(5)
    failure = next(iter(link_failures(graph)))
    whole = make_plan(graph, 1, "min")
    changed = np.array([s.untagged_groups for s in surviving_plan(whole, failure).switches]) != np.array(
        [s.untagged_groups for s in whole.switches]
    )
    everyone = np.arange(graph.routers)
    longer = surviving_graph(graph, failure).distances != graph.distances(
        everyone[:, None], everyone[None, :]
    )
    assert not (changed & ~longer).any()
    assert 0 < changed.sum() < 0.05 * changed.size


def key(rule):
    return rule.table, rule.priority, rule.match


def applied(plan, rounds):
    """The plans after each round of an update."""
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


def test_single_rules_take_what_fails_out_of_a_block_and_go_again():
    """PolarStar has one rule for a whole supernode two apart; a failure may concern some of its routers."""
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
@pytest.mark.parametrize("seed", range(6))
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


@pytest.mark.parametrize("q", [2, 3, 4, 5])
def test_groups_that_can_fail_over_have_two_different_ports_at_least(q):
    graph = PolarFly(q)
    for switch in make_plan(graph, 1, "ugal-pf").switches:
        for group in switch.groups:
            if group.kind is GroupKind.FAST_FAILOVER:
                watched = [bucket.watch_port for bucket in group.buckets]
                assert len(set(watched)) == len(watched) >= 2
