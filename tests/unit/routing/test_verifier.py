"""The proof of plans: right ones pass it, and every kind of wrong one fails it where it is wrong."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from support.builders.leaf_spine import LeafSpine
from support.builders.repeats import repeats

from routing.algorithms.minimal import minimal_plan
from routing.plan.model import (
    Bucket,
    DecrementTtl,
    FieldMatch,
    Group,
    GroupKind,
    Output,
    RoutePlan,
    Rule,
    SetField,
    Table,
    ToGroup,
)
from routing.registry import ROUTINGS, make_plan, routing
from routing.reroute.base import without_local_repair
from routing.verification.proof import PlanError
from routing.verification.verifier import prove
from topology.addressing import ROUTER_MASK, hosts_of, router_ip
from topology.base import Topology
from topology.errors import ParameterError, UsageError
from topology.failures import NO_FAILURE, Failure, link_failures, switch_failures
from topology.families.low_diameter.polarfly import PolarFly

er = lru_cache(PolarFly)
DECREMENT = DecrementTtl()


def minimal(q: int, hosts: int = 1) -> RoutePlan:
    """Minimal routing on its own; its fast reroute has tests of its own."""
    return without_local_repair(minimal_plan(er(q), hosts))


def with_switch(plan: RoutePlan, router: int, **changes) -> RoutePlan:
    """The plan with some attributes of one switch replaced."""
    switches = list(plan.switches)
    switches[router] = replace(switches[router], **changes)
    return replace(plan, switches=tuple(switches))


def with_rules(plan: RoutePlan, router: int, edit: Callable[[Rule], Rule | None]) -> RoutePlan:
    """The plan with every rule of one switch edited, or removed where `edit` returns None."""
    edited = [edit(rule) for rule in plan.switches[router].rules]
    assert edited != list(plan.switches[router].rules), "the mutation must change something"
    return with_switch(plan, router, rules=tuple(rule for rule in edited if rule is not None))


def with_groups(plan: RoutePlan, edit: Callable[[Group], Group], routers=None) -> RoutePlan:
    """The plan with every group of some switches (of all by default) edited."""
    for router in range(plan.topology.routers) if routers is None else routers:
        groups = tuple(edit(group) for group in plan.switches[router].groups)
        plan = with_switch(plan, router, groups=groups)
    return plan


def is_route_to(rule: Rule, router: int) -> bool:
    values = {(field.value, field.mask) for field in rule.match}
    return rule.table is Table.MINIMAL and (router_ip(router), ROUTER_MASK) in values


def redirected(plan: RoutePlan, at: int, destination: int, toward: int) -> RoutePlan:
    """The plan in which router `at` sends packets for `destination` to its neighbour `toward`."""
    action = ToGroup(int(plan.topology.ports_toward(at, toward)))
    return with_rules(
        plan, at, lambda rule: replace(rule, actions=(action,)) if is_route_to(rule, destination) else rule
    )


def free_to_return(plan: RoutePlan) -> RoutePlan:
    """The plan with in_port cleared before every hop, so that packets may go back."""
    clear = SetField("in_port", 0)
    return with_groups(
        plan,
        lambda group: replace(
            group, buckets=tuple(replace(b, actions=(clear, *b.actions)) for b in group.buckets)
        ),
    )


def paths(topology: Topology) -> dict[tuple[int, int], list[int]]:
    """The routers on the minimal path of every ordered pair of different routers."""
    hops = topology.all_next_hops()
    found = {}
    for s, d in np.argwhere(~np.eye(topology.routers, dtype=bool)).tolist():
        path = [s]
        while path[-1] != d:
            path.append(int(hops[path[-1], d]))
        found[s, d] = path
    return found


def two_hops(topology: Topology) -> tuple[int, int, int]:
    """A source, a middle and a destination on a two-hop path."""
    return next(tuple(path) for path in paths(topology).values() if len(path) == 3)


def triangle(topology: Topology) -> tuple[int, int, int]:
    for link in topology.link_list:
        shared = set(topology.neighbours(link.a).tolist()) & set(topology.neighbours(link.b).tolist())
        if shared:
            return link.a, link.b, shared.pop()
    raise AssertionError("no triangle")


# ---- right plans ----


@pytest.mark.parametrize(("q", "hosts"), [(2, 1), (2, 2), (3, 2), (4, 2), (5, 1), (7, 1), (8, 1), (9, 1)])
def test_minimal_plan_is_proven(q, hosts):
    proof = prove(minimal(q, hosts))
    endpoints = er(q).routers * hosts
    assert proof.ok
    assert proof.pairs == proof.delivered == endpoints * (endpoints - 1)
    assert (proof.scenarios, proof.max_hops, proof.faults) == (1, 2, [])


def test_size_of_the_minimal_plan_of_er_3():
    plan = minimal_plan(er(3), 2)
    size = plan.size()
    pushed = {
        action.value
        for switch in plan.switches
        for group in switch.groups
        for bucket in group.buckets
        for action in bucket.actions
        if isinstance(action, SetField) and action.field == "vlan_vid"
    }
    # Per host: 7 ingress and 2 delivery rules; per fabric port 1; ARP 1, transit 1, marked 1, source 1; two
    # rules for each other router, and one for every tag that some switch sends around a dead link with.
    assert 0 < len(pushed) < 13
    assert size.flows_per_switch_max == 2 * 9 + 4 + 4 + 2 * 12 + len(pushed)
    # Per fabric port: one bucket alone, and two groups with two alternates each at most.
    assert size.groups_per_switch_max == 4 * 3
    assert size.buckets_per_switch_max <= 4 * (1 + 2 * 3)
    assert size.groups == 3 * 2 * er(3).links
    assert size.flows == 13 * (2 * 9 + 4 + 2 * 12 + len(pushed)) + 2 * er(3).links


def test_make_plan_knows_the_routings_by_name():
    assert make_plan(er(2), 1, "min").routing == "min"
    assert "min" in ROUTINGS


def test_unknown_routing_is_refused_with_those_that_exist():
    with pytest.raises(UsageError, match=r"^routing .*min.*'shortest'"):
        routing("shortest")
    with pytest.raises(UsageError, match=r"^routing "):
        make_plan(er(2), 1, "shortest")


def test_plan_for_no_hosts_is_refused():
    with pytest.raises(ParameterError, match=r"^hosts .* 254, got 0"):
        minimal(2, 0)


# ---- wrong plans, one kind after the other ----


def test_removed_rule_is_a_blackhole_for_the_pairs_that_used_it():
    source, middle, destination = two_hops(er(3))
    plan = with_rules(minimal(3), middle, lambda rule: None if is_route_to(rule, destination) else rule)
    affected = [p for (_, d), p in paths(er(3)).items() if d == destination and middle in p[:-1]]
    proof = prove(plan)
    assert not proof.ok
    assert proof.blackholes == len(affected) > 1
    assert proof.delivered == proof.pairs - len(affected)
    expected = f"h{source + 1}_1 to h{destination + 1}_1: blackhole at s{middle + 1}"
    assert expected in proof.faults
    assert (proof.loops, proof.misdelivered, proof.over_bound, proof.miscounted) == (0, 0, 0, 0)


def test_two_routers_that_point_at_each_other_are_a_loop():
    source, middle, destination = two_hops(er(3))
    proof = prove(redirected(free_to_return(minimal(3)), middle, destination, source))
    assert not proof.ok
    assert proof.loops >= 2
    assert proof.blackholes == 0
    assert any("loop" in fault for fault in proof.faults)


def test_without_clearing_in_port_the_way_back_is_a_blackhole():
    source, middle, destination = two_hops(er(3))
    proof = prove(redirected(minimal(3), middle, destination, source))
    assert not proof.ok
    assert proof.loops == 0
    assert proof.blackholes >= 2


def test_three_routers_that_point_in_a_circle_are_a_loop():
    a, b, c = triangle(er(3))
    destination = next(d for d in range(13) if er(3).distances([a, b, c], d).tolist() == [2, 2, 2])
    plan = minimal(3)
    for at, toward in ((a, b), (b, c), (c, a)):
        plan = redirected(plan, at, destination, toward)
    proof = prove(plan)
    assert not proof.ok
    assert proof.loops >= 3


@pytest.mark.parametrize("wrong", ["other host", "no such port"])
def test_delivery_to_a_wrong_port_is_misdelivered(wrong):
    first, second = er(3).host_port(5, 0), er(3).host_port(5, 1)
    other = second if wrong == "other host" else 99

    def edit(rule: Rule) -> Rule:
        return replace(rule, actions=(Output(other),)) if rule.actions == (Output(first),) else rule

    proof = prove(with_rules(minimal(3, 2), 5, edit))
    assert not proof.ok
    assert proof.misdelivered == 25 - (wrong == "other host")  # the sibling's own would go back
    assert proof.blackholes == (wrong == "other host")
    assert any(f"misdelivered out of s6-eth{other}" in fault for fault in proof.faults)


def test_a_copy_beside_the_delivery_is_misdelivered():
    port = er(3).host_port(5, 0)

    def edit(rule: Rule) -> Rule:
        extra = (Output(port), Output(port + 1))
        return replace(rule, actions=extra) if rule.actions == (Output(port),) else rule

    proof = prove(with_rules(minimal(3, 2), 5, edit))
    assert not proof.ok
    assert proof.misdelivered == 24


def test_a_detour_is_over_the_bound_for_the_pairs_that_take_it():
    at, destination, third = triangle(er(3))
    proof = prove(redirected(minimal(3), at, destination, third))
    taking = [p for (_, d), p in paths(er(3)).items() if d == destination and at in p[:-1]]
    assert not proof.ok
    assert proof.over_bound == len(taking) > 1
    assert proof.delivered == proof.pairs
    assert proof.max_hops == 3
    assert f"h{at + 1}_1 to h{destination + 1}_1: over bound 2 hops, promised 1" in proof.faults


def test_a_detour_that_the_routing_promises_is_not_over_the_bound():
    at, destination, third = triangle(er(3))
    plan = redirected(minimal(3), at, destination, third)
    proof = prove(replace(plan, hop_bound=lambda distances: distances + 1))
    assert proof.ok


@pytest.mark.parametrize("actions", [(), (DECREMENT, DECREMENT)], ids=["none", "twice"])
def test_a_hop_that_does_not_take_one_from_the_ttl_is_miscounted(actions):
    def edit(group: Group) -> Group:
        return replace(group, buckets=(Bucket((*actions, Output(group.number))),))

    proof = prove(with_groups(minimal(3), edit, routers=[4]))
    crossing = [path for path in paths(er(3)).values() if 4 in path[:-1]]
    assert not proof.ok
    assert proof.miscounted == len(crossing)
    assert proof.delivered == proof.pairs


def test_a_delivery_that_takes_one_from_the_ttl_is_miscounted():
    port = er(3).host_port(5, 0)

    def edit(rule: Rule) -> Rule:
        return replace(rule, actions=(DECREMENT, Output(port))) if rule.actions == (Output(port),) else rule

    proof = prove(with_rules(minimal(3), 5, edit))
    assert not proof.ok
    assert proof.miscounted == 12


def test_a_packet_delivered_with_its_tag_is_not_delivered():
    port = er(3).host_port(5, 0)

    def edit(rule: Rule) -> Rule:
        tagged = (SetField("vlan_vid", 0x1001), Output(port))
        return replace(rule, actions=tagged) if rule.actions == (Output(port),) else rule

    proof = prove(with_rules(minimal(3), 5, edit))
    assert not proof.ok
    assert proof.delivered == proof.pairs - 12


GOOD, BAD = (DECREMENT, Output(1)), (DECREMENT, Output(99))


def select_plan(*buckets: Bucket) -> RoutePlan:
    """ER_3 with a select group in place of the first group of router 0."""
    return with_groups(
        minimal(3),
        lambda group: Group(1, GroupKind.SELECT, buckets) if group.number == 1 else group,
        routers=[0],
    )


def using_first_group() -> int:
    hop = (0, int(er(3).neighbours(0)[0]))
    return sum(hop in pairwise(p) for p in paths(er(3)).values())


def test_select_group_with_good_buckets_is_proven():
    assert prove(select_plan(Bucket(GOOD), Bucket(GOOD, weight=3))).ok


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    ("bucket", "kind"),
    [(Bucket(BAD), "misdelivered"), (Bucket(()), "blackholes"), (Bucket((Output(1),)), "miscounted")],
)
def test_one_bad_bucket_of_a_select_group_fails_the_proof(bucket, kind, place):
    buckets = [Bucket(GOOD), Bucket(GOOD)]
    buckets.insert(place, bucket)
    proof = prove(select_plan(*buckets))
    assert not proof.ok
    assert getattr(proof, kind) == using_first_group() > 0


@pytest.mark.parametrize("order", [1, -1])
def test_one_detour_of_a_select_group_is_over_the_bound(order):
    at, _, _ = triangle(er(3))
    assert at == 0
    detour = Bucket((DECREMENT, Output(2)))
    proof = prove(select_plan(*[Bucket(GOOD), detour][::order]))
    assert proof.over_bound > 0
    assert proof.max_hops > 2


def test_a_bucket_that_is_never_taken_does_no_harm():
    assert prove(select_plan(Bucket(GOOD), Bucket(BAD, weight=0))).ok


def test_a_bad_standby_bucket_shows_only_when_its_turn_comes():
    def edit(group: Group) -> Group:
        good, bad = Bucket(group.buckets[0].actions, group.number), Bucket(BAD)
        return Group(group.number, GroupKind.FAST_FAILOVER, (good, bad))

    plan = with_groups(minimal(3), edit)
    assert prove(plan).ok
    failure = next(link_failures(er(3)))
    assert prove(plan, [failure]).misdelivered == prove(minimal(3), [failure]).blackholes > 0


def test_rules_that_look_at_the_source_are_walked_for_every_source():
    source, middle, destination = two_hops(er(3))
    # Of two hosts that share every port on the way, one is let through.
    only = FieldMatch("ipv4_src", hosts_of(er(3), 2)[2 * source].ip)

    def edit(rule: Rule) -> Rule:
        return replace(rule, match=(*rule.match, only)) if is_route_to(rule, destination) else rule

    through = [p for (_, d), p in paths(er(3)).items() if d == destination and middle in p[:-1]]
    assert prove(with_rules(minimal(3, 2), middle, edit)).blackholes == 4 * len(through) - 2


def test_invalid_plan_raises_instead_of_being_walked():
    twice = minimal(2).switches[3].rules
    with pytest.raises(PlanError, match="same match"):
        prove(with_switch(minimal(2), 3, rules=(*twice, twice[-1])))
    with pytest.raises(PlanError, match=r"group .* not exist"):
        prove(with_switch(minimal(2), 3, groups=()))


# ---- failures ----


def test_link_failures_name_every_link_once():
    failures = list(link_failures(er(3)))
    assert len({failure.failed_ends for failure in failures}) == len(failures) == er(3).links
    assert all(len(failure.failed_ends) == 2 for failure in failures)
    first = er(3).link_list[0]
    assert failures[0].name == f"link s{first.a + 1}-s{first.b + 1}"


def test_switch_failures_name_every_switch_and_all_its_links():
    failures = list(switch_failures(er(3)))
    assert [failure.failed_routers for failure in failures] == [{r} for r in range(13)]
    assert [len(failure.failed_ends) for failure in failures] == (2 * er(3).degrees).tolist()
    assert failures[4].name == "switch s5"


@pytest.mark.parametrize("q", [2, 3, *repeats(4)])
def test_a_dead_link_is_a_blackhole_for_exactly_the_pairs_whose_path_used_it(q):
    plan, routes = minimal(q), paths(er(q)).values()
    for link, failure in zip(er(q).link_list, link_failures(er(q)), strict=True):
        ends = {link.a, link.b}
        using = sum(any({a, b} == ends for a, b in pairwise(p)) for p in routes)
        proof = prove(plan, [failure])
        assert proof.blackholes == using
        assert proof.delivered == proof.pairs - using
        assert (proof.loops, proof.misdelivered, proof.over_bound) == (0, 0, 0)


def test_faults_name_the_pairs_and_the_dead_link():
    failure = next(link_failures(er(2)))
    ends = {er(2).link_list[0].a, er(2).link_list[0].b}
    expected = {
        f"h{s + 1}_1 to h{d + 1}_1 with {failure.name} down"
        for (s, d), p in paths(er(2)).items()
        if any({a, b} == ends for a, b in pairwise(p))
    }
    assert {fault.partition(":")[0] for fault in prove(minimal(2), [failure]).faults} == expected


@pytest.mark.parametrize("q", [2, 3])
def test_a_dead_switch_is_a_blackhole_for_exactly_the_pairs_behind_it(q):
    plan, routes = minimal(q), paths(er(q)).values()
    for router, failure in enumerate(switch_failures(er(q))):
        proof = prove(plan, [failure])
        assert proof.pairs == (er(q).routers - 1) * (er(q).routers - 2)
        assert proof.blackholes == sum(path[1:-1] == [router] for path in routes)


def test_scenarios_add_up_and_faults_stay_few():
    proof = prove(minimal(3), [NO_FAILURE, *link_failures(er(3))])
    assert proof.scenarios == 1 + er(3).links
    # Every one-hop path uses one link, every two-hop path two.
    lost = sum(len(path) - 1 for path in paths(er(3)).values())
    assert proof.blackholes == lost
    assert proof.delivered == proof.scenarios * proof.pairs - lost
    assert len(proof.faults) == 20


def test_a_failure_of_nothing_changes_nothing():
    assert prove(minimal(2), [Failure("nothing")]).ok


# ---- hosts per router differ ----


class UnevenLeaves(LeafSpine):
    """A leaf-spine fabric whose leaves have 1, 2, 3, ... hosts, at most p."""

    def host_counts(self, hosts_per_router: int) -> np.ndarray:
        return np.minimum(super().host_counts(hosts_per_router), np.arange(self.routers) + 1)


UNEVEN = UnevenLeaves()


@pytest.mark.parametrize("name", ["min", "valiant", "ugal"])
def test_pairs_are_those_of_hosts_that_exist(name):
    # 1 + 2 + 3 + 3 hosts; their first ones are at four leaves.
    plan = make_plan(UNEVEN, 3, name)
    proof = prove(plan)
    assert (proof.ok, proof.pairs, proof.delivered) == (True, 9 * 8, 9 * 8)
    proof = prove(plan, every_host=False)
    assert (proof.ok, proof.pairs, proof.delivered) == (True, 4 * 3, 4 * 3)
    proof = prove(plan, toward=[0, 1, 5])
    assert (proof.ok, proof.pairs, proof.delivered) == (True, 3 * 8, 3 * 8)


def test_a_failure_of_a_switch_without_hosts_cuts_no_pair_off():
    for router, failure in enumerate(switch_failures(UNEVEN)):
        proof = prove(make_plan(UNEVEN, 3, "min"), [failure])
        hosts = 9 - int(UNEVEN.host_counts(3)[router])
        assert (proof.ok, proof.cut_off, proof.delivered) == (True, 0, hosts * (hosts - 1))


@pytest.mark.parametrize("router", range(UNEVEN.routers))
def test_a_rule_removed_at_a_leaf_or_a_spine_is_a_blackhole_for_the_hosts_behind_it(router):
    destination = (router + 1) % UNEVEN.leaves
    plan = without_local_repair(minimal_plan(UNEVEN, 3))
    plan = with_rules(plan, router, lambda rule: None if is_route_to(rule, destination) else rule)
    behind = int(UNEVEN.host_counts(3)[destination])
    # Every leaf may send by every spine.
    before = 9 - behind if router >= UNEVEN.leaves else int(UNEVEN.host_counts(3)[router])
    assert prove(plan).blackholes == before * behind > 0


def test_delivery_to_the_port_of_another_leafs_last_host_is_misdelivered():
    # Leaf 1 has 2 hosts at ports 3 and 4, so port 5 exists at leaves 2 and 3 only.
    port = UNEVEN.host_port(1, 1)
    plan = with_rules(
        minimal_plan(UNEVEN, 3),
        1,
        lambda rule: replace(rule, actions=(Output(port + 1),)) if rule.actions == (Output(port),) else rule,
    )
    assert prove(plan).misdelivered == 9 - 1
