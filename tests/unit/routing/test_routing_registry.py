"""The routings by name: proofs of all their choices, their detours, and the size of their state."""

import itertools
from collections import Counter
from itertools import chain

import numpy as np
import pytest
from support.builders.graphs import routings_of
from support.builders.repeats import repeats

from routing.plan.digest import plan_digest
from routing.plan.groups import GroupRole, pushed_tags
from routing.plan.model import GroupKind, PushVlan, SetField, Table, ToGroup
from routing.plan.tables import to_router
from routing.registry import ROUTINGS, make_plan, routing
from routing.verification.verifier import prove
from topology.base import Adjacency, Topology
from topology.errors import UsageError
from topology.families.low_diameter.polarfly import PolarFly
from topology.families.low_diameter.polarfly_detours import RouterDetours

PROVEN = [
    *[("compact-valiant", q) for q in (2, 3, 4, 5)],
    *[("valiant", q) for q in (2, 3, 4, 5)],
    *[("ugal", q) for q in (2, 3, 4, 5)],
    *[("ugal-pf", q) for q in (2, 3, 4, 5)],
    *repeats(("compact-valiant", 7), ("ugal-pf", 7)),
]


@pytest.mark.parametrize(("name", "q"), PROVEN)
def test_every_choice_of_every_group_delivers_within_the_bound(name, q):
    proof = prove(make_plan(PolarFly(q), 1, name))
    assert proof.ok, proof.faults
    assert proof.delivered == proof.pairs
    assert proof.max_hops <= 4


@pytest.mark.parametrize("name", routings_of("polarfly"))
def test_two_hosts_a_router_are_told_apart(name):
    proof = prove(make_plan(PolarFly(3), 2, name))
    assert proof.ok
    assert proof.pairs == 26 * 25


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, 8, *repeats(9, 11)])
def test_the_neighbours_of_a_far_detour_are_two_hops_from_the_destination(q):
    graph = PolarFly(q)
    everyone = np.arange(graph.routers)
    for source in range(0, graph.routers, 1 + graph.routers // 30):
        hops = graph.next_hops(source, everyone)
        for destination in np.flatnonzero(graph.distances(source, everyone) == 2):
            detours = RouterDetours(graph, source).far(int(hops[destination]))
            assert len(detours) == graph.degrees[source] - 1
            onward = graph.next_hops(detours, destination)
            assert (graph.distances(detours, destination) == 2).all()
            assert (onward != source).all()


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, 8, *repeats(9)])
def test_near_detours_exist_for_every_adjacent_pair_and_never_come_back(q):
    graph = PolarFly(q)
    plain, tagged = [], []
    for link in graph.link_list:
        for source, destination in ((link.a, link.b), (link.b, link.a)):
            detours = [*chain.from_iterable(RouterDetours(graph, source).near(destination))]
            assert detours
            plain += [(d.first_hop, destination) for d in detours if d.intermediate is None]
            tagged += [
                (source, d.first_hop, d.intermediate, destination)
                for d in detours
                if d.intermediate is not None
            ]
    assert (graph.distances(*np.array(plain).T) == 1).all()
    source, first, middle, destination = np.array(tagged).T
    paths = np.array([source, first, middle, graph.next_hops(middle, destination), destination])
    assert (np.diff(np.sort(paths, axis=0), axis=0) > 0).all()  # five routers, all different
    assert (graph.distances(paths[:-1], paths[1:]) == 1).all()


@pytest.mark.parametrize("q", [3, 4, 5])
def test_a_triangle_is_used_wherever_no_end_is_a_quadric(q):
    graph = PolarFly(q)
    for link in graph.link_list:
        quadric = q in (graph.degrees[link.a], graph.degrees[link.b])
        triangles = [d for [d, *_] in RouterDetours(graph, link.a).near(link.b) if d.intermediate is None]
        assert len(triangles) == (0 if quadric else 1)


def test_valiant_uses_every_other_router_as_an_intermediate():
    plan = make_plan(PolarFly(5), 1, "valiant")
    for switch in plan.switches:
        (group,) = [g for g in switch.groups if g.kind is GroupKind.SELECT]
        tags = {a.value & 0xFFF for b in group.buckets for a in b.actions if isinstance(a, SetField)}
        assert tags == set(range(1, 32)) - {switch.router + 1}


def test_valiant_has_at_most_256_buckets_whatever_the_size():
    plan = make_plan(PolarFly(17), 1, "valiant")
    groups = [g for g in plan.switches[5].groups if g.kind is GroupKind.SELECT]
    assert [len(g.buckets) for g in groups] == [256]
    assert len({bucket.actions for bucket in groups[0].buckets}) == 256


def test_compact_valiant_has_two_groups_a_port_and_no_path_of_one_hop():
    graph = PolarFly(5)
    plan = make_plan(graph, 1, "compact-valiant")
    for switch in plan.switches:
        select = [g for g in switch.groups if g.kind is GroupKind.SELECT]
        assert len(select) == 2 * graph.degrees[switch.router]
        for group in select:
            minimal_port = group.number & 0xFFF
            for bucket in group.buckets:
                (onward,) = [a.group for a in bucket.actions if isinstance(a, ToGroup)]
                assert onward & 0xFFF != minimal_port
                if any(isinstance(a, PushVlan) for a in bucket.actions):
                    assert (group.number >> 12, onward >> 12) == (GroupRole.CHOICE_NEAR, GroupRole.TAGGED)


@pytest.mark.parametrize("name", ["valiant", "compact-valiant"])
def test_tags_are_followed_by_every_switch(name):
    plan = make_plan(PolarFly(3), 1, name)
    for switch in plan.switches:
        tagged = [rule for rule in switch.rules if rule.table is Table.TRANSIT]
        assert len(tagged) == 1 + plan.topology.routers


class Ring(Topology):
    """A ring of five routers."""

    name = "ring"
    params = {}  # noqa: RUF012  # as every family has

    @property
    def adjacency(self):
        neighbours = [sorted(((r - 1) % 5, (r + 1) % 5)) for r in range(5)]
        return Adjacency(np.arange(0, 11, 2), np.array(neighbours, np.int32).ravel())

    def distances(self, sources, destinations):
        apart = np.abs(np.asarray(sources) - np.asarray(destinations))
        return np.minimum(apart, 5 - apart).astype(np.int8)

    def next_hops(self, sources, destinations):
        s, d = np.broadcast_arrays(np.asarray(sources), np.asarray(destinations))
        ahead = (d - s) % 5
        return np.where(ahead == 0, s, (s + np.where(ahead <= 2, 1, -1)) % 5).astype(np.int32)

    def pairs_by_distance(self):
        return {1: 10, 2: 10}


def hops_of(graph, path):
    return sum(int(graph.distances(a, b)) for a, b in itertools.pairwise(path))


def test_ugal_goes_by_way_of_all_routers_that_lead_elsewhere_and_knows_their_hops():
    graph = PolarFly(4)
    plan = make_plan(graph, 1, "ugal")
    for switch in plan.switches:
        for group in (g for g in switch.groups if g.kind is GroupKind.SELECT):
            taken = [rule.match for rule in switch.rules if rule.actions == (ToGroup(group.number),)]
            ends = [d for d in range(graph.routers) if to_router(graph, d) in taken]
            (first,) = {int(graph.next_hops(switch.router, d)) for d in ends}
            (distance,) = {int(graph.distances(switch.router, d)) for d in ends}
            assert group.hops[0] == distance
            for bucket, hops in zip(group.candidates[1:], group.hops[1:], strict=True):
                (tag,) = {a.value & 0xFFF for a in bucket.actions if isinstance(a, SetField)}
                assert graph.next_hops(switch.router, tag - 1) != first
                taken = [hops_of(graph, (switch.router, tag - 1, end)) for end in ends]
                assert hops == pytest.approx(np.mean(taken))
                assert min(taken) > distance


@pytest.mark.parametrize("q", [3, 4, 5, 7, 8, 9, *repeats(11, 13)])
def test_the_adaptive_state_of_a_switch_is_of_order_q(q):
    graph = PolarFly(q)
    plan = make_plan(graph, 1, "ugal-pf")
    for switch in plan.switches[:: 1 + graph.routers // 20]:
        select = [g for g in switch.groups if g.kind is GroupKind.SELECT]
        assert len(select) == 2 * graph.degrees[switch.router]
        assert {len(g.buckets) for g in select} == {64}
        assert len(switch.groups) <= 6 * (q + 1)


@pytest.mark.parametrize("name", ["min", "valiant", "ugal"])
def test_a_topology_without_a_family_is_routed_and_proven(name):
    proof = prove(make_plan(Ring(), 2, name))
    assert proof.ok, proof.faults
    assert proof.max_hops == (2 if name == "min" else 4)


def test_routings_that_promise_shortest_paths():
    assert [name for name in ROUTINGS if routing(name).shortest] == ["min", "dor", "nca"]


# ---- parameters ----


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("min", "min"),
        ("ugal-pf", "ugal-pf"),
        ("ugal-pf:0.5", "ugal-pf:threshold=0.5"),
        ("ugal-pf:threshold=0.50", "ugal-pf:threshold=0.5"),
        ("ugal-pf:buckets=32,threshold=0.5", "ugal-pf:threshold=0.5,buckets=32"),
        ("ugal-pf:release=0.3", "ugal-pf"),
        ("ugal-pf:threshold=2/3,detour-step=1/2", "ugal-pf:detour-step=0.5"),
        ("valiant:8", "valiant:intermediates=8"),
        ("ugal:rest-returned=20", "ugal"),
    ],
)
def test_a_routing_has_one_name_for_all_texts_that_mean_the_same(text, name):
    assert routing(text).name == name
    assert routing(name).name == name
    assert make_plan(PolarFly(2), 1, text).routing == name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ugal-fp", "did you mean 'ugal-pf'"),
        ("best", r"compact-valiant, dor, .*, min, .*nca, .*, valiant-group, got .best."),
        (
            "ugal-pf:thresholds=0.5",
            "threshold, release, .*rest-returned, got 'thresholds=0.5'; did you mean 'threshold'",
        ),
        (
            "ugal-pf:threshold=1.5",
            "in 'ugal-pf:threshold=1.5', threshold must be over 0 and at most 1, got 1.5",
        ),
        ("min:threshold=0.5", "min has no parameters, got 'threshold=0.5'"),
        ("ugal-pf:buckets=1", "buckets must be 2 to 256, got 1"),
    ],
)
def test_what_a_routing_does_not_have_is_refused(text, words):
    with pytest.raises(UsageError, match=words):
        routing(text)


@pytest.mark.parametrize("name", ROUTINGS)
def test_every_parameter_says_what_it_is_and_takes_its_default(name):
    chosen = routing(name)
    for parameter in chosen.parameters:
        assert parameter.help
        assert parameter.default_in_words
        if parameter.default is not None:
            assert parameter.check(parameter.default) == parameter.default
    assert len({parameter.name for parameter in chosen.parameters}) == len(chosen.parameters)
    assert chosen.source


@pytest.mark.parametrize(
    "text", ["ugal-pf:threshold=0.3", "ugal:sampled=1", "ugal:rest-detoured=1,threshold=2"]
)
def test_parameters_of_a_law_leave_the_plan_as_it_is(text):
    plain = make_plan(PolarFly(3), 1, text.partition(":")[0])
    assert plan_digest(make_plan(PolarFly(3), 1, text)) == plan_digest(plain)


@pytest.mark.parametrize(
    "text",
    [
        "ugal-pf:buckets=16",
        "ugal-pf:detours=1",
        "compact-valiant:detours=2",
        "valiant:intermediates=3",
        "ugal:intermediates=2,buckets=8",
    ],
)
def test_parameters_of_a_plan_change_it_and_its_proof_holds(text):
    plain = make_plan(PolarFly(3), 1, text.partition(":")[0])
    plan = make_plan(PolarFly(3), 1, text)
    assert plan_digest(plan) != plan_digest(plain)
    proof = prove(plan)
    assert proof.ok, proof.faults


@pytest.mark.parametrize("text", ["valiant:intermediates=4", "ugal:intermediates=4"])
def test_sources_that_choose_among_few_routers_choose_different_ones(text):
    """Else the detours of all sources of a large network would meet at the same few routers."""
    plan = make_plan(PolarFly(5), 1, text)
    choices = [[one for one in switch.groups if one.kind is GroupKind.SELECT] for switch in plan.switches]
    sources = Counter(tag for groups in choices for tag in set(pushed_tags(groups)))
    assert sources.keys() == set(range(31))
    assert max(sources.values()) <= 3 * min(sources.values())


@pytest.mark.parametrize(
    ("text", "buckets", "candidates"),
    [
        ("ugal-pf:buckets=16", {16}, None),
        ("ugal-pf:detours=2", {64}, {3}),
        ("compact-valiant:detours=2", {2}, None),
        ("valiant:intermediates=3", {3}, None),
        ("ugal:intermediates=5,buckets=8", {8}, {6}),
    ],
)
def test_groups_have_as_many_buckets_and_candidates_as_asked_for(text, buckets, candidates):
    plan = make_plan(PolarFly(4), 1, text)
    groups = [g for switch in plan.switches for g in switch.groups if g.kind is GroupKind.SELECT]
    assert {len(group.buckets) for group in groups} == buckets
    if candidates:
        assert {len(group.candidates) for group in groups} == candidates
