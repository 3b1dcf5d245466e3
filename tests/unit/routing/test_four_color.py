"""Four-colour detours in our own order: paths of the plan's rules, their order, weights and protection."""

import networkx as nx
import pytest

from routing.algorithms.colour_detours import shares, weighted
from routing.path_sets.colours import router_colours
from routing.plan.model import REROUTED_DSCP, GroupKind, Table
from routing.registry import make_plan
from routing.replan.replan import surviving_plan
from routing.verification.forwarding_states import StateSpace
from routing.verification.paths import packet_paths
from routing.verification.verifier import prove
from topology.errors import UsageError
from topology.failures import NO_FAILURE, failure_of, link_failures
from topology.families.dragonflies.dragonfly import Dragonfly
from topology.faults import Component, ComponentKind

VALIANT, ADAPTIVE = "four-color-valiant:order=own", "four-color-adaptive:order=own"


def middle(arrangement="palmtree"):
    """Returns a dragonfly of 72 routers with four links between each two groups."""
    return Dragonfly(h=4, a=8, groups=9, trunking=4, arrangement=arrangement)


def dependencies(space):
    """Returns the graph of the links that packets wait for while they hold others, of all pairs."""
    graph = nx.DiGraph()
    for destination in space.hosts:
        steps = space.steps_toward(destination)
        reached = {
            s.number: s for s in map(space.initial_state, space.hosts) if s.router != destination.router
        }
        begun = list(reached.values())
        links = {}  # behind the links that lead to a state are those that lead away from it
        while begun:
            state = begun.pop()
            for step in steps(state, NO_FAILURE).steps:
                if step.target is None:
                    continue
                links.setdefault(state.number, set()).add(
                    (state.router, step.target.router, step.target.number)
                )
                if step.target.number not in reached:
                    reached[step.target.number] = step.target
                    begun.append(step.target)
        for before in links.values():
            for near, far, number in before:
                behind = links.get(number, ())
                graph.add_edges_from(((near, far), (a, b)) for a, b, _ in behind)
    return graph


def test_hierarchical_detours_do_wait_in_circles():
    plan = make_plan(Dragonfly(h=2, a=4, groups=5, trunking=2), 1, "valiant-group", local_repair=False)
    assert not nx.is_directed_acyclic_graph(dependencies(StateSpace(plan)))


@pytest.fixture(scope="module")
def valiant():
    return make_plan(middle(), 1, VALIANT)


@pytest.mark.parametrize(
    ("routing", "arrangement"),
    [
        (VALIANT, "palmtree"),
        pytest.param(VALIANT, "circulant", marks=pytest.mark.slow),
        pytest.param(ADAPTIVE, "palmtree", marks=pytest.mark.slow),
    ],
)
def test_packets_with_detours_never_wait_for_each_other_in_a_circle(routing, arrangement):
    dragonfly = middle(arrangement)
    plan = make_plan(dragonfly, 1, routing, local_repair=False)
    space = StateSpace(plan)
    colour, group_of = router_colours(dragonfly, 4, routing), dragonfly.group_of
    assert nx.is_directed_acyclic_graph(dependencies(space))
    detoured = 0
    for source in space.hosts[:2]:
        for destination in space.hosts[1:]:
            if source == destination:
                continue
            for path in packet_paths(space, source, destination):
                assert not path.fault
                groups = group_of[[*path.routers]]
                crossings = (groups[1:] != groups[:-1]).nonzero()[0].tolist()
                crossed = [colour[path.routers[place]] for place in crossings]
                assert crossed == sorted(set(crossed))
                assert len(path.routers) <= 6
                if len(crossed) == 2:  # with one hop in the group between
                    assert crossings[1] - crossings[0] == 2
                    detoured += 1
    assert detoured


def test_all_pairs_are_delivered_within_five_hops_and_protected_from_failed_links(valiant):
    proof = prove(valiant, [*link_failures(valiant.topology)][::7])
    assert proof.ok
    assert not valiant.unprotected


def test_an_intermediate_router_sends_packets_without_their_tag_to_gateways_of_higher_colours(valiant):
    colour = router_colours(middle(), 4, VALIANT)
    for switch in valiant.switches:
        topology = valiant.topology
        groups = {group.number: group for group in switch.groups}
        rules = [rule for rule in switch.rules if rule.table is Table.AFTER_TAG]
        assert bool(rules) == (colour[switch.router] < 3)
        for rule in rules:
            if rule.goto is not None:
                continue
            group = groups[rule.actions[-1].group]
            chosen = group.buckets if group.kind is GroupKind.SELECT else group.buckets[:1]
            gateways = [int(topology.neighbours(switch.router)[b.watch_port - 1]) for b in chosen]
            assert all(colour[gateway] > colour[switch.router] for gateway in gateways)
            assert {int(topology.whole.group_of[g]) for g in gateways} == {
                int(topology.whole.group_of[switch.router])
            }


def test_rerouted_packets_are_minimal_after_their_tag(valiant):
    rules = [rule for rule in valiant.switches[0].rules if rule.table is Table.AFTER_TAG]
    marked = max(rules, key=lambda rule: rule.priority)
    assert marked.goto is Table.MINIMAL
    assert {(field.field, field.value) for field in marked.match} >= {("ip_dscp", REROUTED_DSCP)}


def test_a_plan_for_what_has_failed_delivers(valiant):
    near, far = valiant.topology.whole.global_links[0].tolist()
    failure = failure_of(valiant.topology, [Component(ComponentKind.LINK, (near, far))])
    plan = surviving_plan(valiant, failure)
    assert prove(plan, [failure], every_host=False).delivered == 72 * 71


def test_other_plans_have_no_rules_after_the_tag():
    plan = make_plan(Dragonfly(h=2, a=4), 1, "valiant-group")
    assert not [rule for switch in plan.switches for rule in switch.rules if rule.table is Table.AFTER_TAG]


@pytest.mark.parametrize(
    ("classes", "weights", "wanted"),
    [
        ([0, 0, 1], (1, 1), [1, 1, 2]),
        ([0, 0, 1, 1, 1], (2, 3), [1, 1, 1, 1, 1]),
        ([0, 1], (0, 0), [1, 1]),
        ([0] * 200 + [1], (1, 2), [1] * 200 + [255]),
    ],
)
def test_classes_share_by_weight_and_their_items_equally(classes, weights, wanted):
    assert shares(classes, weights) == wanted


def test_items_without_weight_are_left_out_unless_all_are():
    assert weighted([0, 1, 1], (0, 2)) == [1, 2]
    assert weighted([0, 0], (0, 2)) == [0, 1]


@pytest.mark.parametrize("routing", [VALIANT, ADAPTIVE])
def test_a_dragonfly_with_too_few_links_between_groups_is_refused(routing):
    with pytest.raises(UsageError, match=f"trunking for {routing.partition(':')[0]} .* 4"):
        make_plan(Dragonfly(h=2, a=4, groups=5, trunking=2), 1, routing)
