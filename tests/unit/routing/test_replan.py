"""Plans for the surviving graph: all connected pairs are delivered, and unaffected routes stay."""

import itertools
import random

import networkx as nx
import numpy as np
import pytest
from support.builders.graphs import FABRICS, single_failures, together
from support.builders.leaf_spine import LeafSpine
from support.builders.repeats import repeats

from routing.algorithms.minimal import minimal_plan
from routing.compiler import SourceTable, compile_plan, detour_bucket
from routing.plan.groups import GroupRole, group_number
from routing.plan.model import Group, GroupKind, Rule, Table, ToGroup
from routing.plan.tables import PRIORITY_ROUTER, TO_ANY_HOST
from routing.registry import make_plan
from routing.replan.replan import surviving_plan
from routing.replan.surviving_graph import surviving_graph
from routing.replan.update_order import update_rounds
from routing.verification.verifier import prove
from topology.errors import NegativeResult
from topology.failures import Failure, failure_of, link_failures, switch_failures
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import Component, ComponentKind, link_component
from topology.registry import make_topology

GROUP = group_number(GroupRole.CHOICE_ANY)


def by_any_neighbour(topology):
    """The plan in which all of a source's packets go to a random neighbour first, by one rule."""

    def part(view, reroute):
        buckets = tuple(detour_bucket(reroute, n) for n in topology.neighbours(view.router).tolist())
        rule = Rule(Table.SOURCE, PRIORITY_ROUTER, TO_ANY_HOST, (ToGroup(GROUP),))
        return SourceTable((rule,), (Group(GROUP, GroupKind.SELECT, buckets),))

    return compile_plan(
        topology, 1, "any-neighbour", lambda d: np.where(d == 0, 0, d + 2).astype(np.int16), part
    )


def test_one_rule_for_all_destinations_can_be_planned_around():
    topology = PolarFly(2)
    whole = by_any_neighbour(topology)
    elements = [*map(link_component, topology.link_list)]
    elements += [Component(ComponentKind.SWITCH, (router,)) for router in range(topology.routers)]
    for pair in [*itertools.combinations(elements, 2)][::4]:
        both = failure_of(topology, pair)
        plan = surviving_plan(whole, both)
        assert not prove(plan, [both], every_host=False).undelivered


def test_a_surviving_plan_longer_than_the_ttl_allows_is_refused(tmp_path):
    path = tmp_path / "ring.edges"
    path.write_text("\n".join(f"{a} {b}" for a, b in nx.cycle_graph(66).edges))
    topology = make_topology("graph", {"from": str(path)})
    whole = minimal_plan(topology, 1)
    failure = failure_of(topology, [link_component(topology.link_list[0])])
    with pytest.raises(NegativeResult, match=r"at most 63 hops.* 65"):
        surviving_plan(whole, failure)


def groups_of(plan):
    """Returns the group toward each router at each switch: array, routers x routers."""
    return np.array([switch.untagged_groups for switch in plan.switches])


@pytest.mark.parametrize("local_repair", [True, False])
def test_what_is_displaced_is_spread_over_the_ports_and_stays_after_a_further_failure(local_repair):
    topology = PolarFly(7)
    whole = make_plan(topology, 1, "min", local_repair=local_repair)
    links = random.Random(1).sample(topology.link_list, 12)
    failed, further = (failure_of(topology, [*map(link_component, links[:n])]) for n in (11, 12))
    one, other = (groups_of(surviving_plan(whole, failure)) for failure in (failed, further))
    displaced = one != groups_of(whole)
    for router in np.flatnonzero(displaced.sum(axis=1) >= 8):
        _, uses = np.unique(one[router, displaced[router]], return_counts=True)
        assert uses.max() <= displaced[router].sum() / 2
    assert (one == other)[displaced].mean() > 0.9


def test_marked_packets_are_spread_as_well():
    topology = PolarFly(7)
    whole = make_plan(topology, 1, "ugal-pf", local_repair=True)
    component = Component(ComponentKind.SWITCH, (3,))
    plan = surviving_plan(whole, failure_of(topology, [component]))
    for router in topology.neighbours(3).tolist():
        before, after = (marked_groups(one.switches[router]) for one in (whole, plan))
        moved = [group for match, group in after.items() if before[match] != group]
        assert len(moved) >= 5
        assert len(set(moved)) > 2


def marked_groups(switch):
    """Returns the groups of a switch's rules for marked packets, by what these match."""
    return {
        repr(rule.match): rule.actions[-1].group
        for rule in switch.rules
        if rule.table is Table.MARKED and isinstance(rule.actions[-1], ToGroup)
    }


@pytest.mark.parametrize("seed", [*range(4), *repeats(*range(4, 12))])
@pytest.mark.parametrize("name", ["min", "ugal-pf", "valiant"])
def test_surviving_plans_of_polarfly_deliver_all_connected_pairs(name, seed):
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


@pytest.mark.parametrize("seed", [0, 1, *repeats(2, 3)])
@pytest.mark.parametrize("name", ["min", "ugal"])
@pytest.mark.parametrize(
    "fabric", ["polarstar 2 iq 0", "slimfly 3", "torus", "hypercube", "a ring with every link twice", "grid"]
)
def test_surviving_plans_of_other_graphs_deliver_all_connected_pairs(fabric, name, seed):
    topology = FABRICS[fabric]()
    rng = random.Random(seed)
    broken = rng.sample(single_failures(topology)[1:], rng.choice([1, 2, 4]))
    failure = together(broken)
    whole = make_plan(topology, 1, name)
    plan = surviving_plan(whole, failure)
    proof = prove(plan, [failure])
    assert (proof.loops, proof.blackholes, proof.misdelivered) == (0, 0, 0), proof.faults
    assert [s.groups for s in plan.switches] == [s.groups for s in whole.switches]
    assert update_rounds(plan, plan, failure) == []


def test_the_parallel_link_of_a_dead_one_serves():
    topology = FABRICS["a ring with every link twice"]()
    whole = make_plan(topology, 1, "min")
    first = next(link_failures(topology))
    assert surviving_plan(whole, first).switches[0].untagged_groups == whole.switches[0].untagged_groups
    both = Failure("both", frozenset((r, p) for r, p in ((0, 1), (0, 2), (1, 1), (1, 2))))
    plan = surviving_plan(whole, both)
    assert plan.switches[0].untagged_groups != whole.switches[0].untagged_groups
    proof = prove(plan, [both])
    assert (proof.delivered, proof.max_hops) == (proof.pairs, 3)


# Detours of `valiant` are those among which `ugal` chooses.
@pytest.mark.parametrize("name", [pytest.param("valiant", marks=pytest.mark.slow), "min", "ugal"])
def test_fabrics_with_hosts_at_some_routers_only_are_replanned_for_every_two_failures(name):
    topology = LeafSpine(3, 3)
    whole = make_plan(topology, 2, name)
    elements = [*map(link_component, topology.link_list)]
    elements += [Component(ComponentKind.SWITCH, (router,)) for router in range(topology.routers)]
    for pair in [*itertools.combinations(elements, 2)][::4]:
        both = failure_of(topology, pair)
        plan = surviving_plan(whole, both)
        proof = prove(plan, [both])
        assert (proof.loops, proof.blackholes, proof.misdelivered) == (0, 0, 0), proof.faults
        hosts = 2 * len(set(range(topology.leaves)) - both.failed_routers)
        assert (proof.pairs, proof.delivered + proof.cut_off) == (hosts * (hosts - 1),) * 2
        rounds = update_rounds(whole, plan, both)
        assert {router for changes in rounds for router in changes} == {
            old.router for old, new in zip(whole.switches, plan.switches, strict=True) if old != new
        }
