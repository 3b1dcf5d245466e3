"""The in-memory switch: look-ups, actions and groups as OpenFlow 1.3 and Open vSwitch define them."""

import pytest

from routing.plan.model import (
    PORT_INGRESS,
    VLAN_PRESENT,
    Bucket,
    CopyBits,
    DecrementTtl,
    Group,
    GroupKind,
    LoadBits,
    Output,
    PopVlan,
    PushVlan,
    Rule,
    SetField,
    SwitchPlan,
    Table,
    ToGroup,
    match,
)
from routing.verification.packet_actions import Emission
from routing.verification.proof import PlanError
from routing.verification.rules import RuleBook
from routing.verification.switch_model import SwitchModel

ALL_UP = frozenset()


def switch(*rules: Rule, groups: tuple[Group, ...] = ()) -> SwitchModel:
    return SwitchModel(SwitchPlan(0, rules, groups))


def rule(*actions, table: Table = Table.INGRESS, priority: int = 1, goto: Table | None = None, **fields):
    return Rule(table, priority, match(**fields), actions, goto)


def ports(model: SwitchModel, dead: set[int] = ALL_UP, **packet: int) -> list[tuple[int, ...]]:
    """The ports that each possible outcome sends to."""
    packet = {"in_port": 9, "ip_ttl": 64, "vlan_vid": 0, **packet}
    return [tuple(e.port for e in outcome) for outcome in model.process(packet, frozenset(dead))]


def sent(*actions, **packet: int) -> dict[str, int]:
    """The packet as the given actions send it."""
    [[emission]] = switch(rule(*actions, Output(1))).process({"in_port": 9, **packet}, ALL_UP)
    return emission.packet


def group(kind: GroupKind, *buckets: Bucket, number: int = 1) -> SwitchModel:
    return switch(rule(ToGroup(number)), groups=(Group(number, kind, buckets),))


# ---- look-up ----


def test_a_table_miss_drops():
    assert ports(switch(rule(Output(1), vlan_vid=5))) == [()]
    assert ports(switch()) == [()]


def test_a_rule_without_actions_and_goto_drops():
    assert ports(switch(rule())) == [()]


@pytest.mark.parametrize("order", [1, -1])
def test_the_highest_priority_wins_whatever_the_order_of_the_rules(order):
    rules = [rule(Output(1), priority=1), rule(Output(2), priority=3, x=7), rule(Output(3), priority=2, x=7)]
    model = switch(*rules[::order])
    assert ports(model, x=7) == [(2,)]
    assert ports(model, x=8) == [(1,)]


def test_the_priority_of_the_rule_that_matches_counts_not_that_of_its_likes():
    model = switch(
        rule(Output(1), priority=5, x=7), rule(Output(2), priority=1, x=8), rule(Output(3), priority=3, y=1)
    )
    assert ports(model, x=7, y=1) == [(1,)]
    assert ports(model, x=8, y=1) == [(3,)]


def test_a_mask_makes_one_rule_stand_for_many_values():
    model = switch(rule(Output(1), ipv4_dst=(0x0A000100, 0xFFFFFF00)))
    assert ports(model, ipv4_dst=0x0A000101) == ports(model, ipv4_dst=0x0A0001FE) == [(1,)]
    assert ports(model, ipv4_dst=0x0A000201) == [()]


def test_a_field_that_the_packet_lacks_does_not_match():
    assert ports(switch(rule(Output(1), arp_op=(0, 0)))) == [()]


def test_rule_for_names_the_rule_that_takes_a_packet():
    wanted = rule(Output(1), table=Table.MINIMAL, x=1)
    model = switch(wanted)
    assert model.rule_for(Table.MINIMAL, {"x": 1}) is wanted
    assert model.rule_for(Table.MINIMAL, {"x": 2}) is None
    assert model.rule_for(Table.SOURCE, {"x": 1}) is None


def test_goto_goes_on_with_what_was_rewritten_and_keeps_what_was_sent():
    model = switch(
        rule(SetField("x", 2), Output(1), goto=Table.TRANSIT), rule(Output(3), table=Table.TRANSIT, x=2)
    )
    assert ports(model, x=1) == [(1, 3)]


# ---- actions ----


def test_output_to_the_ingress_port_is_dropped():
    assert ports(switch(rule(Output(9), Output(2)))) == [(2,)]


def test_output_to_the_ingress_port_works_by_its_reserved_name_or_once_in_port_is_cleared():
    assert ports(switch(rule(Output(PORT_INGRESS)))) == [(9,)]
    assert ports(switch(rule(SetField("in_port", 0), Output(9)))) == [(9,)]


def test_output_to_a_dead_port_is_lost():
    assert ports(switch(rule(Output(1), Output(2))), dead={1}) == [(2,)]


def test_each_output_sends_the_packet_as_it_is_then():
    model = switch(rule(Output(1), SetField("x", 2), Output(2)))
    [outcome] = model.process({"in_port": 9, "x": 1}, ALL_UP)
    assert [emission.packet["x"] for emission in outcome] == [1, 2]


def test_process_leaves_its_argument_alone():
    packet = {"in_port": 9, "ip_ttl": 64}
    switch(rule(DecrementTtl(), Output(1))).process(packet, ALL_UP)
    assert packet == {"in_port": 9, "ip_ttl": 64}


@pytest.mark.parametrize(
    ("action", "field", "before", "after"),
    [
        (SetField("x", 5), "x", 1, 5),
        (DecrementTtl(), "ip_ttl", 64, 63),
        (PushVlan(), "vlan_vid", 0, VLAN_PRESENT),
        (PopVlan(), "vlan_vid", VLAN_PRESENT | 7, 0),
        (LoadBits("x", 8, 8, 0xAB), "x", 0x111111, 0x11AB11),
        (LoadBits("x", 0, 4, 0), "x", 0xFF, 0xF0),
    ],
)
def test_an_action_rewrites_its_field(action, field, before, after):
    assert sent(action, **{field: before})[field] == after


def test_copying_low_bits_keeps_the_high_ones():
    packet = sent(CopyBits("a", "b", 8), a=0x1234, b=0x5678)
    assert (packet["a"], packet["b"]) == (0x1234, 0x5634)


def test_an_absent_register_counts_as_zero():
    assert sent(CopyBits("a", "reg0", 32), a=7)["reg0"] == 7


def test_an_unknown_action_is_refused():
    with pytest.raises(PlanError, match="unknown action"):
        ports(switch(rule("fly")))


# ---- groups ----


def test_an_indirect_group_applies_its_bucket():
    assert ports(group(GroupKind.INDIRECT, Bucket((Output(3),)))) == [(3,)]


def test_a_select_group_may_take_each_of_its_buckets():
    buckets = [Bucket((Output(port),)) for port in (1, 2, 3)]
    assert sorted(ports(group(GroupKind.SELECT, *buckets))) == [(1,), (2,), (3,)]


def test_a_select_group_takes_no_bucket_that_is_dead_or_weighs_nothing():
    buckets = (Bucket((Output(1),), 1), Bucket((Output(2),), 2), Bucket((Output(3),), 3, weight=0))
    assert ports(group(GroupKind.SELECT, *buckets), dead={1}) == [(2,)]
    assert ports(group(GroupKind.SELECT, *buckets), dead={1, 2}) == [()]


def test_a_fast_failover_group_takes_the_first_bucket_that_lives():
    model = group(GroupKind.FAST_FAILOVER, *(Bucket((Output(port),), port) for port in (1, 2, 3)))
    assert ports(model) == [(1,)]
    assert ports(model, dead={1}) == [(2,)]
    assert ports(model, dead={1, 2}) == [(3,)]
    assert ports(model, dead={1, 2, 3}) == [()]


def test_a_fast_failover_bucket_watches_its_port_not_where_it_sends_to():
    model = group(GroupKind.FAST_FAILOVER, Bucket((Output(1),), 5), Bucket((Output(2),)))
    assert ports(model, dead={5}) == [(2,)]
    assert ports(model, dead={1}) == [()]


@pytest.mark.parametrize("kind", [GroupKind.INDIRECT, GroupKind.FAST_FAILOVER])
def test_only_select_groups_have_weights(kind):
    model = group(kind, Bucket((Output(3),), 1, weight=0))
    assert model.process_with_shares({"in_port": 9}, ALL_UP) == [
        (1.0, (Emission(3, {"in_port": 9}),)),
    ]


def test_equal_buckets_of_a_select_group_are_one_outcome_with_their_weights_added():
    model = group(GroupKind.SELECT, *(Bucket((Output(port),), weight=2) for port in (1, 2, 1, 1)))
    outcomes = model.process_with_shares({"in_port": 9}, ALL_UP)
    assert [(share, outcome[0].port) for share, outcome in outcomes] == [(0.75, 1), (0.25, 2)]


def test_a_candidate_is_possible_without_a_share_of_the_packets():
    held, other = Bucket((Output(1),), 1), Bucket((Output(2),), 2)
    groups = (Group(1, GroupKind.SELECT, (held, held), (held, other)),)
    model = switch(rule(ToGroup(1)), groups=groups)
    for dead, shares in ((set(), [1.0, 0.0]), ({1}, [0.0, 0.0]), ({2}, [1.0, 0.0])):
        assert [s for s, _ in model.process_with_shares({"in_port": 9}, frozenset(dead))] == shares


def test_a_group_without_buckets_drops():
    assert ports(group(GroupKind.SELECT)) == [()]


def test_what_a_bucket_rewrites_is_not_seen_after_the_group():
    bucket = Bucket((SetField("x", 2), Output(1)))
    model = switch(rule(ToGroup(1), Output(2)), groups=(Group(1, GroupKind.INDIRECT, (bucket,)),))
    [outcome] = model.process({"in_port": 9, "x": 1}, ALL_UP)
    assert [(emission.port, emission.packet["x"]) for emission in outcome] == [(1, 2), (2, 1)]


def test_groups_can_be_chained():
    choices = Group(2, GroupKind.SELECT, (Bucket((Output(1),)), Bucket((Output(2),))))
    front = Group(1, GroupKind.FAST_FAILOVER, (Bucket((ToGroup(2),), 1), Bucket((Output(3),))))
    model = switch(rule(ToGroup(1)), groups=(front, choices))
    assert sorted(ports(model)) == [(1,), (2,)]
    assert ports(model, dead={1}) == [(3,)]


def test_choices_of_groups_in_several_tables_multiply():
    two = (Bucket((Output(1),)), Bucket((Output(2),)))
    three = (*two, Bucket((Output(3),)))
    model = switch(
        rule(ToGroup(1), goto=Table.SOURCE),
        rule(ToGroup(2), table=Table.SOURCE),
        groups=(Group(1, GroupKind.SELECT, two), Group(2, GroupKind.SELECT, three)),
    )
    assert len(set(ports(model))) == 6


# ---- plans that no switch can hold ----


@pytest.mark.parametrize("goto", [Table.SOURCE, Table.TRANSIT])
def test_a_jump_backwards_or_to_itself_is_refused(goto):
    with pytest.raises(PlanError, match=rf"goto .* got {goto}"):
        switch(rule(table=Table.TRANSIT, goto=goto))


def test_an_unknown_group_is_refused():
    with pytest.raises(PlanError, match=r"group 4.*not exist"):
        switch(rule(ToGroup(4)))


def test_an_unknown_group_in_a_bucket_is_refused():
    with pytest.raises(PlanError, match=r"group 4.*not exist"):
        group(GroupKind.INDIRECT, Bucket((ToGroup(4),)))


def test_two_rules_with_one_match_and_priority_are_refused():
    with pytest.raises(PlanError, match="same match"):
        switch(rule(Output(1), x=1), rule(Output(2), x=1))


@pytest.mark.parametrize("priorities", [(1, 2, 1), (2, 1, 1), (1, 1, 2)])
def test_two_such_rules_are_refused_beside_one_of_another_priority(priorities):
    with pytest.raises(PlanError, match="same match"):
        switch(*(rule(Output(1), priority=priority, x=1) for priority in priorities))


def test_two_such_rules_are_refused_whatever_the_order_of_their_fields():
    with pytest.raises(PlanError, match="same match"):
        switch(rule(Output(1), x=1, y=2), rule(Output(2), y=2, x=1))


def test_the_same_match_may_come_again_in_another_table_or_with_another_priority():
    switch(rule(x=1), rule(x=1, priority=2), rule(x=1, table=Table.SOURCE))


# ---- what the models of a fabric's switches share ----


def fabric(*groups_of_switches: tuple[Group, ...]) -> list[SwitchModel]:
    """Models of switches that hand all packets to their group 1, and share what they know."""
    book, known = RuleBook(), {}
    to_group = rule(ToGroup(1))
    return [
        SwitchModel(SwitchPlan(router, (to_group,), groups), book, None, known)
        for router, groups in enumerate(groups_of_switches)
    ]


def test_a_bucket_that_names_a_group_means_that_of_its_own_switch():
    chain = Group(1, GroupKind.INDIRECT, (Bucket((PushVlan(), ToGroup(2))),))
    ends = [Group(2, GroupKind.INDIRECT, (Bucket((Output(port),)),)) for port in (3, 4)]
    first, second = fabric((chain, ends[0]), (chain, ends[1]))
    for _ in range(2):
        assert ports(first) == [(3,)]
        assert ports(second) == [(4,)]


def test_equal_buckets_of_several_switches_do_the_same_to_equal_packets_only():
    groups = [(Group(1, GroupKind.FAST_FAILOVER, (Bucket((Output(3),), 3), Bucket((Output(4),), 4))),)] * 2
    first, second = fabric(*groups)
    assert ports(first) == ports(second) == [(3,)]
    assert ports(first, {3}) == [(4,)]
    assert ports(second) == [(3,)]
    assert ports(second, in_port=3) == [()]
    assert ports(first) == [(3,)]


def test_a_group_that_one_switch_has_is_missed_on_another_that_names_it():
    plain = Bucket((Output(3),))
    to_group = Bucket((ToGroup(2),))
    end = Group(2, GroupKind.INDIRECT, (plain,))
    fabric((Group(1, GroupKind.SELECT, (plain, to_group)), end))
    with pytest.raises(PlanError, match="names group 2"):
        fabric(
            (Group(1, GroupKind.SELECT, (plain, to_group)), end),
            (Group(1, GroupKind.SELECT, (plain, to_group)),),
        )
