"""Forwarding tables of changed plans: they change with the rules, or an error says what they lack."""

from dataclasses import replace

import numpy as np
import pytest
from support.builders.damaged_plans import damaged, unprotected
from support.builders.graphs import single_failures
from support.oracles.forwarding_walk import compare_with_walk

from routing.plan.model import (
    NO_VLAN,
    PORT_INGRESS,
    Bucket,
    CopyBits,
    Group,
    GroupKind,
    Output,
    PushVlan,
    Rule,
    SetField,
    Table,
    ToGroup,
    match,
)
from routing.plan.tables import tag_of
from routing.registry import make_plan
from routing.verification.proof import PlanError
from simulation.tables.check import check_against_walk, used_tags
from simulation.tables.compiler import compile_tables
from simulation.tables.model import NO_CHOICE
from topology.failures import NO_FAILURE
from topology.families.low_diameter.polarfly import PolarFly

ROUTINGS = ("min", "valiant", "compact-valiant", "ugal", "ugal-pf")
TOPOLOGY = PolarFly(2)


def plan_of(routing, hosts=1):
    return make_plan(TOPOLOGY, hosts, routing)


def changed(plan, router=0, rules=None, groups=None):
    """The plan with other rules or groups, made of those that there are, at one switch."""
    switches = list(plan.switches)
    switch = switches[router]
    if rules:
        switch = replace(switch, rules=tuple(rules(switch.rules)))
    if groups:
        switch = replace(switch, groups=tuple(groups(switch.groups)))
    switches[router] = switch
    return replace(plan, switches=tuple(switches))


def refusal(plan):
    """The error of a plan's tables, or "" if they agree with the walk."""
    try:
        compare_with_walk(plan, [NO_FAILURE])
    except PlanError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("routing", ROUTINGS)
def test_damaged_plans_are_treated_as_by_the_walk_or_refused(routing):
    plan = make_plan(PolarFly(3), 1, routing)
    refusals = [refusal(damaged(plan, seed)) for seed in range(8)]
    assert all("cannot be simulated" in text and "\n" not in text for text in refusals if text)
    assert "" in refusals


@pytest.mark.parametrize("routing", ROUTINGS)
def test_a_plan_with_fewer_alternates_has_other_tables_under_a_failure_alone(routing):
    plan = make_plan(PolarFly(3), 1, routing)
    wrong = unprotected(plan, 1)
    assert np.array_equal(compile_tables(wrong).choices.links, compile_tables(plan).choices.links)
    failures = single_failures(plan.topology)[1::9]
    assert compare_with_walk(wrong, failures)
    other = [
        not np.array_equal(compile_tables(wrong, one).untagged, compile_tables(plan, one).untagged)
        for one in failures
    ]
    assert any(other)


@pytest.mark.parametrize(
    ("table", "lost"), [(Table.SOURCE, [1, 0]), (Table.MINIMAL, [1, 1]), (Table.INGRESS, [6, 6])]
)
def test_packets_without_a_rule_are_dropped(table, lost):
    def without(rules):
        own = [rule for rule in rules if rule.table is table and (rule.goto or rule.actions)]
        gone = own if table is Table.INGRESS else own[-1:]
        return [rule for rule in rules if rule not in gone]

    plan = make_plan(TOPOLOGY, 1, "ugal" if table is Table.SOURCE else "min")
    tables = compile_tables(changed(plan, 0, without))
    dropped = [np.count_nonzero(array[0] == NO_CHOICE) - 1 for array in (tables.from_host, tables.untagged)]
    assert dropped == lost


def test_a_host_without_a_delivery_rule_gets_nothing():
    def without(rules):
        return [r for r in rules if not (r.table is Table.MINIMAL and r.actions == (Output(port),))]

    port = TOPOLOGY.host_port(0, 0)
    tables = compile_tables(changed(plan_of("min"), 0, without))
    assert tables.delivered.tolist() == [0, 1, 1, 1, 1, 1, 1]


def test_a_rule_of_higher_priority_decides():
    plan = plan_of("min")
    [own, other] = [
        rule for rule in plan.switches[0].rules if rule.table is Table.MINIMAL and rule.priority == 100
    ][:2]
    assert own.actions != other.actions
    higher = changed(plan, 0, lambda rules: [replace(own, priority=101, actions=other.actions), *rules])
    tables = compile_tables(higher)
    assert compare_with_walk(higher, [NO_FAILURE])
    assert not np.array_equal(tables.untagged[0], compile_tables(plan).untagged[0])
    lower = changed(plan, 0, lambda rules: [*rules, replace(own, priority=99, actions=other.actions)])
    assert np.array_equal(compile_tables(lower).untagged, compile_tables(plan).untagged)


def actions_of_group(plan, actions):
    """The plan whose first group has one bucket with some actions."""
    return changed(
        plan, 0, groups=lambda groups: [replace(groups[0], buckets=(Bucket(actions),)), *groups[1:]]
    )


def a_rule(table, priority=400, actions=(), goto=None, **fields):
    return lambda rules: [*rules, Rule(table, priority, match(**fields), actions, goto)]


IP = {"eth_type": 0x0800}


def test_a_rule_for_all_destinations_decides_where_its_priority_is_the_highest():
    plan = plan_of("min")
    before = compile_tables(plan)
    low = compile_tables(changed(plan, 0, a_rule(Table.MINIMAL, 2, **IP)))
    assert np.array_equal(low.untagged, before.untagged)
    high = changed(plan, 0, a_rule(Table.MINIMAL, 199, **IP))
    assert compare_with_walk(high, [NO_FAILURE])
    assert (compile_tables(high).untagged[0] == NO_CHOICE).all()
    assert compile_tables(high).delivered.all()


def test_a_rule_for_one_port_that_takes_no_packet_does_not_matter():
    to_group = (ToGroup(1),)
    plan = changed(plan_of("min"), 0, a_rule(Table.MINIMAL, 2, to_group, in_port=1))
    assert compare_with_walk(plan, [NO_FAILURE])
    lost = next(r for r in plan.switches[0].rules if r.table is Table.MINIMAL and r.priority == 100)
    with pytest.raises(PlanError, match="their ingress port"):
        compile_tables(changed(plan, 0, lambda rules: [rule for rule in rules if rule is not lost]))


BAD_RULES = {
    "another field": (a_rule(Table.MINIMAL, ip_proto=6, **IP), "matches more"),
    "a source": (a_rule(Table.TRANSIT, ipv4_src=0x0A000101, **IP), "matches more"),
    "a port of arrival": (a_rule(Table.MINIMAL, in_port=1), "on their ingress port"),
    "a host of another router": (a_rule(Table.MINIMAL, ipv4_dst=0x0A000101, **IP), "hosts of another router"),
    "ports of arrival in the first table": (
        lambda rules: [r for r in rules if r.match != match(in_port=1)],
        "from all other routers",
    ),
    "tags in the first table": (a_rule(Table.INGRESS, in_port=1, vlan_vid=NO_VLAN), "from other routers"),
    "no port in the first table": (a_rule(Table.INGRESS, **IP), "one ingress port"),
    "destinations in the first table": (
        a_rule(Table.INGRESS, in_port=4, ipv4_dst=0x0A000101, **IP),
        "packets of a host",
    ),
    "an output in the first table": (
        a_rule(Table.INGRESS, actions=(Output(1),), in_port=4),
        "from all its hosts",
    ),
    "a copy": (
        a_rule(Table.MINIMAL, actions=(Output(1), Output(2)), **IP),
        "copy a packet",
    ),
    "an output on the way": (
        a_rule(Table.TRANSIT, actions=(Output(1),), goto=Table.MINIMAL, vlan_vid=NO_VLAN),
        "another table",
    ),
    "a return": (a_rule(Table.MINIMAL, actions=(Output(PORT_INGRESS),), **IP), "ingress port"),
    "an output without clearing the ingress": (
        a_rule(Table.MINIMAL, actions=(Output(1),), **IP),
        "sent back",
    ),
    "destinations of tagged packets": (
        a_rule(Table.TRANSIT, vlan_vid=tag_of(2), ipv4_dst=(0x0A000100, 0xFFFFFF00), **IP),
        "with tag 3",
    ),
    "a masked tag": (a_rule(Table.TRANSIT, vlan_vid=(0x1000, 0x1000)), "exactly one tag"),
    "the own tag": (
        lambda rules: [r for r in rules if r.match != match(vlan_vid=tag_of(0))],
        "its own tag",
    ),
    "another field's change": (
        a_rule(Table.MINIMAL, actions=(CopyBits("eth_src", "eth_dst", 48), Output(1)), **IP),
        "change a field",
    ),
    "a tag of no router": (
        a_rule(Table.TRANSIT, actions=(PushVlan(),), goto=Table.MINIMAL, vlan_vid=NO_VLAN),
        "a tag or a mark",
    ),
    "a port of a host": (
        a_rule(
            Table.MINIMAL,
            actions=(SetField("in_port", 0), Output(4)),
            ipv4_dst=(0x0A000200, 0xFFFFFF00),
            **IP,
        ),
        "another router's hosts",
    ),
    "a group that does not exist": (a_rule(Table.MINIMAL, actions=(ToGroup(99),), **IP), "does not exist"),
    "packets of the hosts alone": (
        lambda rules: [r for r in rules if not (r.table is Table.MINIMAL and r.actions == (Output(4),))],
        "only some",
    ),
}


@pytest.mark.parametrize("case", BAD_RULES)
def test_rules_that_tables_cannot_express_are_refused(case):
    change, text = BAD_RULES[case]
    # Router 1 has three neighbours and two hosts.
    plan = make_plan(TOPOLOGY, 2, "valiant")
    router = int(np.flatnonzero(TOPOLOGY.degrees == 3)[1])
    if case in ("the own tag",):
        router = 0
    with pytest.raises(PlanError, match=text):
        compile_tables(changed(plan, router, change))


def test_a_tag_that_no_packet_has_needs_no_rules():
    def by_others(groups):
        for group in groups:
            others = tuple(one for one in group.buckets if SetField("vlan_vid", tag_of(3)) not in one.actions)
            yield replace(group, buckets=others) if group.kind is GroupKind.SELECT else group

    without = plan_of("valiant:intermediates=2")
    for router in range(TOPOLOGY.routers):
        without = changed(without, router, groups=by_others)
    own = match(vlan_vid=tag_of(3))
    without = changed(without, 3, lambda rules: [rule for rule in rules if rule.match != own])
    assert compare_with_walk(without, [NO_FAILURE])
    tables = compile_tables(without)
    check_against_walk(without, tables)
    assert np.flatnonzero(used_tags(tables)[0]).tolist() == [0, 1, 2, 4, 5, 6]
    assert not used_tags(tables)[1].any()


BAD_GROUPS = {
    "a copy": ((Output(1), Output(2)), "copy a packet"),
    "a return": ((Output(PORT_INGRESS),), "ingress port"),
    "a circle": ((ToGroup(2),), "cyclically"),
    "an unknown group": ((ToGroup(99),), "does not exist"),
    "an unknown mark": ((SetField("ip_dscp", 5), Output(1)), "a tag or a mark"),
    "another port of arrival": ((SetField("in_port", 1), Output(1)), "change a field"),
}


@pytest.mark.parametrize("case", BAD_GROUPS)
def test_groups_that_tables_cannot_express_are_refused(case):
    actions, text = BAD_GROUPS[case]
    plan = make_plan(TOPOLOGY, 1, "min", local_repair=False)

    def groups(own):
        first, second, *rest = own
        back = replace(second, buckets=(Bucket((ToGroup(first.number),)),)) if case == "a circle" else second
        return [replace(first, buckets=(Bucket(actions),)), back, *rest]

    with pytest.raises(PlanError, match=text):
        compile_tables(changed(plan, 0, groups=groups))


def test_two_groups_of_one_number_are_refused():
    with pytest.raises(PlanError, match="same number"):
        compile_tables(changed(plan_of("min"), 0, groups=lambda own: [*own, own[0]]))


def test_an_adaptive_group_must_begin_with_its_minimal_path():
    def detoured(groups):
        return [replace(g, buckets=(*g.buckets[1:], g.candidates[1])) if g.candidates else g for g in groups]

    with pytest.raises(PlanError, match="minimal path"):
        compile_tables(changed(plan_of("ugal-pf"), 0, groups=detoured))


def test_an_adaptive_group_behind_another_group_is_refused():
    plan = plan_of("ugal-pf")
    adaptive = next(g for g in plan.switches[0].groups if g.candidates)
    inner = replace(adaptive, number=1 << 24)
    outer = Group(adaptive.number, GroupKind.INDIRECT, (Bucket((ToGroup(inner.number),)),))
    wrong = changed(plan, 0, groups=lambda own: [inner, *(outer if g is adaptive else g for g in own)])
    with pytest.raises(PlanError, match="must not refer"):
        compile_tables(wrong)


def test_weights_beyond_32_bits_are_refused():
    def heavy(groups):
        return [
            replace(g, buckets=(replace(g.buckets[0], weight=(1 << 31) + 1), *g.buckets[1:]))
            if g.kind is GroupKind.SELECT
            else g
            for g in groups
        ]

    with pytest.raises(PlanError, match="32 bits"):
        compile_tables(changed(plan_of("valiant"), 0, groups=heavy))


# ---- the check ----


@pytest.mark.parametrize("routing", ROUTINGS)
def test_the_check_passes_sound_tables_and_finds_wrong_ones(routing):
    plan = plan_of(routing, 2)
    for failure in single_failures(TOPOLOGY)[::4]:
        check_against_walk(plan, compile_tables(plan, failure), 500, 1, failure)
    tables = compile_tables(plan)
    for name in ("from_host", "untagged", *(["tagged"] if routing != "min" else [])):
        wrong = getattr(tables, name).copy()
        wrong[3] = np.roll(wrong[3], 1)
        with pytest.raises(PlanError, match="s4 must agree"):
            check_against_walk(plan, replace(tables, **{name: wrong}))
    with pytest.raises(PlanError, match="must agree"):
        check_against_walk(plan, replace(tables, delivered=1 - tables.delivered))


def test_the_check_finds_wrong_weights_and_detours():
    plan = plan_of("compact-valiant")
    tables = compile_tables(plan)
    choices = replace(tables.choices, weights=tables.choices.weights + np.arange(len(tables.choices.weights)))
    with pytest.raises(PlanError, match="must agree"):
        check_against_walk(plan, replace(tables, choices=choices))
    plan = plan_of("ugal-pf")
    tables = compile_tables(plan)
    adaptive = replace(tables.adaptive, detours=np.roll(tables.adaptive.detours, 5))
    with pytest.raises(PlanError, match="must agree"):
        check_against_walk(plan, replace(tables, adaptive=adaptive))
