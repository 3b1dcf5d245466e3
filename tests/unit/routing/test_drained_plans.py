"""Plans that lead around drained elements, and the order in which switches are updated to them and back."""

import random
from dataclasses import replace

import networkx as nx
import pytest
from support.builders.graphs import FABRICS, Drawn, drawn
from support.builders.repeats import repeats

from routing.algorithms import valiant
from routing.plan.groups import pushed_tags
from routing.plan.model import Group
from routing.registry import make_plan
from routing.replan.drains import without_transit
from routing.replan.replan import surviving_plan
from routing.replan.surviving_graph import surviving_graph
from routing.replan.update_order import Removal, update_rounds
from routing.verification.verifier import Prover, prove
from topology.drains import NO_DRAIN, cut_off, drain_of
from topology.failures import NO_FAILURE, failure_of
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import Component, ComponentKind, link_component, parse_drained

ROUTINGS = ("min", "valiant", "compact-valiant", "ugal", "ugal-pf")
GRAPHS = {
    "polarfly 3": lambda: PolarFly(3),
    "polarfly 4": lambda: PolarFly(4),
    "complete bipartite": lambda: drawn(nx.complete_bipartite_graph(4, 4)),
    **{name: FABRICS[name] for name in ("polarstar 2 iq 0", "torus", "hypercube", "grid", "slimfly 3")},
    "a ring with every link twice": FABRICS["a ring with every link twice"],
}


def put(plan, router, changes):
    """Returns a plan in which a switch has taken some changes."""
    switch = plan.switches[router]
    rules = {(rule.table, rule.priority, rule.match): rule for rule in switch.rules}
    groups = {group.number: group for group in switch.groups}
    for change in changes:
        if isinstance(change, Group):
            groups[change.number] = change
            continue
        rule = change.rule if isinstance(change, Removal) else change
        rules.pop((rule.table, rule.priority, rule.match), None)
        if change is rule:
            rules[rule.table, rule.priority, rule.match] = rule
    switches = list(plan.switches)
    switches[router] = replace(switch, rules=tuple(rules.values()), groups=tuple(groups.values()))
    return replace(plan, switches=tuple(switches))


def states(plan, rounds, rng):
    """Yields the plan within each round, when random switches have taken their changes, and after it."""
    for changes in rounds:
        routers = rng.sample(sorted(changes), len(changes))
        within = rng.randrange(len(routers))
        for number, router in enumerate(routers):
            plan = put(plan, router, changes[router])
            if number in (within, len(routers) - 1):
                yield plan


def switch(router):
    return Component(ComponentKind.SWITCH, (router,))


def some_elements(graph, rng, count):
    """Returns random links and switches whose drain cuts nothing off."""
    everything = [*map(link_component, graph.link_list), *map(switch, range(graph.routers))]
    while True:
        elements = rng.sample(everything, count)
        if not cut_off(graph, NO_FAILURE, NO_DRAIN, drain_of(graph, elements)):
            return elements


def transit(plan, drain, failure=NO_FAILURE):
    """Returns the pairs whose packets cross drained elements."""
    return prove(without_transit(plan, drain), [failure]).undelivered


def routings_of(graph):
    return [
        name for name in ROUTINGS if graph.name == "polarfly" or name not in ("compact-valiant", "ugal-pf")
    ]


# The others show the same at length.
QUICK = {
    "polarfly 3": ("min", "ugal", "ugal-pf"),  # the rest have the detours among which these choose
    "complete bipartite": ("min",),
    "torus": ("min",),
    "a ring with every link twice": ("min", "ugal"),
}
CASES = [
    pytest.param(name, one, marks=() if one in QUICK.get(name, ()) else pytest.mark.slow)
    for name, make in GRAPHS.items()
    for one in routings_of(make())
]


@pytest.mark.parametrize(("fabric", "name"), CASES)
def test_every_state_of_a_drain_and_of_its_end_delivers_everything(fabric, name):
    graph = GRAPHS[fabric]()
    rng = random.Random(f"{fabric} {name}")
    prover, held = Prover(), make_plan(graph, 1, name)
    whole = held
    elements = some_elements(graph, rng, 2)
    before = NO_DRAIN
    for drained in (elements[:1], elements, elements[1:], []):
        drain = drain_of(graph, drained)
        plan = surviving_plan(whole, NO_FAILURE, drain)
        for state in states(held, update_rounds_between(whole, before, drain), rng):
            assert prover.prove(state, every_host=False).undelivered == set()
            held = state
        assert transit(plan, drain) == transit(held, drain) == set()
        before = drain
    assert [set(s.rules) for s in held.switches] == [set(s.rules) for s in whole.switches]
    for now, first in zip(held.switches, whole.switches, strict=True):
        assert set(first.groups) <= set(now.groups)


def update_rounds_between(whole, before, after):
    """Returns the rounds from the plan for one drain to that for another."""
    plans = (surviving_plan(whole, NO_FAILURE, drain) for drain in (before, after))
    return update_rounds(*plans, NO_FAILURE, after)


@pytest.mark.parametrize("name", ROUTINGS)
@pytest.mark.parametrize("router", [4, *repeats(0, 12)])
def test_no_packet_crosses_a_drained_switch_and_its_own_hosts_are_reached(name, router):
    graph = PolarFly(3)
    whole, drain = make_plan(graph, 1, name), drain_of(graph, [switch(router)])
    assert transit(whole, drain)
    plan = surviving_plan(whole, NO_FAILURE, drain)
    proof = prove(plan)
    assert proof.delivered == proof.pairs == 13 * 12
    assert transit(plan, drain) == set()


@pytest.mark.parametrize("fabric", ["polarfly 3", "complete bipartite"])
def test_a_drained_element_can_fail_and_return_without_a_change_of_any_rule(fabric):
    graph = GRAPHS[fabric]()
    for name in routings_of(graph):
        whole = make_plan(graph, 1, name)
        for component in (switch(5), link_component(graph.link_list[3])):
            drain, failure = drain_of(graph, [component]), failure_of(graph, [component])
            plan, without = (surviving_plan(whole, state, drain) for state in (NO_FAILURE, failure))
            assert update_rounds(plan, without, failure, drain) == []
            proof = prove(plan, [failure])
            assert proof.delivered == proof.pairs


@pytest.mark.parametrize("seed", [0, 1, *repeats(*range(2, 8))])
@pytest.mark.parametrize("name", ["min", "ugal-pf", *repeats("valiant")])
def test_a_drain_beside_failures_is_planned_around_both(name, seed):
    graph, rng = PolarFly(3), random.Random(seed)
    failure = failure_of(graph, some_elements(graph, rng, 2))
    whole = make_plan(graph, 1, name)
    drain = NO_DRAIN
    while not drain.any_drained or cut_off(graph, failure, NO_DRAIN, drain):
        drain = drain_of(graph, [switch(rng.choice(sorted(set(range(13)) - failure.failed_routers)))])
    before, plan = surviving_plan(whole, failure), surviving_plan(whole, failure, drain)
    for held in states(before, update_rounds(before, plan, failure, drain), rng):
        assert prove(held, [failure], every_host=False).undelivered == set()
    assert transit(plan, drain, failure) == set()
    for held in states(plan, update_rounds(plan, before, failure), rng):
        assert prove(held, [failure], every_host=False).undelivered == set()


def test_packets_cross_a_drained_element_where_nothing_else_connects_their_switches():
    """A line of five: the middle one is all that connects its ends."""
    graph = FABRICS["line"]()
    whole, drain = make_plan(graph, 1, "min"), drain_of(graph, [switch(2)])
    plan = surviving_plan(whole, NO_FAILURE, drain)
    assert prove(plan).delivered == 20
    crossing = surviving_graph(graph, NO_FAILURE, drain).crossing
    assert transit(plan, drain) == set(zip(*crossing.nonzero(), strict=True))
    assert crossing.sum() == 2 * 2 * 2


def test_a_drained_element_is_used_again_once_another_failure_leaves_nothing_else():
    graph = FABRICS["ring of 9"]()
    whole, drain = make_plan(graph, 1, "min"), drain_of(graph, [switch(2)])
    failure = failure_of(graph, [switch(6)])
    plan = surviving_plan(whole, failure, drain)
    assert prove(plan, [failure]).delivered == 8 * 7


def test_packets_are_divided_among_all_shortest_paths_that_a_drain_leaves():
    graph = drawn(nx.complete_bipartite_graph(4, 4))
    whole = make_plan(graph, 1, "min")
    plan = surviving_plan(whole, NO_FAILURE, drain_of(graph, [switch(7)]))
    first = plan.switches[0]
    group = next(g for g in first.groups if g.number == first.untagged_groups[1])
    assert [bucket.watch_port for bucket in group.buckets] == [1, 2, 3]


def test_the_parallel_link_of_a_drained_one_carries_everything():
    graph = Drawn([(0, 1), (0, 1), (1, 2)])
    (one,) = parse_drained("link:s1-s2.2", graph)
    whole, drain = make_plan(graph, 1, "min"), drain_of(graph, [one])
    assert cut_off(graph, NO_FAILURE, NO_DRAIN, drain) == ()
    plan = surviving_plan(whole, NO_FAILURE, drain)
    assert prove(plan).delivered == 6
    assert transit(plan, drain) == set()


def test_no_detour_begins_over_or_leads_to_a_drained_switch():
    graph = PolarFly(3)
    for name in ("ugal", "ugal-pf", "valiant"):
        whole, drain = make_plan(graph, 1, name), drain_of(graph, [switch(3)])
        plan = surviving_plan(whole, NO_FAILURE, drain)
        fewer = [
            (old, new)
            for before, after in zip(whole.switches, plan.switches, strict=True)
            for old, new in zip(before.groups, after.groups, strict=False)
            if old != new
        ]
        assert fewer
        others = [switch.groups for switch in plan.switches if switch.router != 3]
        chosen = [g for groups in others for g in groups if g.candidates or g.number == valiant.GROUP]
        assert chosen
        assert 3 not in pushed_tags(chosen)
        for old, new in fewer:
            assert len(new.candidates or new.buckets) < len(old.candidates or old.buckets)
            assert len(new.ports) == len(new.candidates)
