"""Ingress ports that a switch treats alike, so that one stands for all."""

from dataclasses import replace

import pytest

from routing.plan.model import (
    PORT_INGRESS,
    Bucket,
    CopyBits,
    Group,
    GroupKind,
    Output,
    Rule,
    SetField,
    SwitchPlan,
    Table,
    ToGroup,
    match,
)
from routing.registry import make_plan
from routing.verification.ingress_ports import ingress_port_classes
from routing.verification.proof import PlanError
from routing.verification.rules import RuleBook
from routing.verification.verifier import prove
from topology.families.low_diameter.polarfly import PolarFly

GRAPH = PolarFly(5)
PLAN = make_plan(GRAPH, 2, "min")


def classes_of(switch, ports):
    """Returns the classes of the ports from 0 to a last one."""
    book = RuleBook()
    numbers = book.numbers(switch.rules, switch.router)
    return [*ingress_port_classes(switch, range(1, ports + 1), book, numbers).values()]


@pytest.mark.parametrize("routing", ["min", "ugal-pf"])
def test_all_fabric_ports_are_alike_and_no_host_port_is(routing):
    for switch in make_plan(GRAPH, 2, routing).switches:
        degree = int(GRAPH.degrees[switch.router])
        ports = classes_of(switch, degree + 2)
        assert ports[1 : degree + 1] == [1] * degree
        assert ports[degree + 1 :] == [degree + 1, degree + 2]


def ports_of(actions, groups=(), degree=3):
    entries = [Rule(Table.INGRESS, 1, match(in_port=port), goto=Table.MINIMAL) for port in (1, 2, 3)]
    switch = SwitchPlan(0, (*entries, Rule(Table.MINIMAL, 1, (), actions)), groups)
    return classes_of(switch, degree)[1:]


def test_a_port_that_a_packet_may_go_back_by_is_like_no_other():
    group = Group(5, GroupKind.INDIRECT, (Bucket((Output(2),)),))
    assert ports_of((Output(2),)) == [1, 2, 1]
    assert ports_of((ToGroup(5),), (group,)) == [1, 2, 1]
    assert ports_of((SetField("in_port", 0), ToGroup(5)), (group,)) == [1, 1, 1]
    assert ports_of((Output(PORT_INGRESS),)) == [1, 2, 3]


def test_only_rules_that_a_packet_may_meet_count():
    elsewhere = Rule(Table.MARKED, 1, (), (Output(2),))
    entries = [Rule(Table.INGRESS, 1, match(in_port=port), (), Table.MINIMAL) for port in (1, 2, 3)]
    switch = SwitchPlan(0, (*entries, elsewhere), ())
    assert classes_of(switch, 3)[1:] == [1, 1, 1]
    onward = Rule(Table.MINIMAL, 1, (), (), Table.MARKED)
    assert classes_of(replace(switch, rules=(*switch.rules, onward)), 3)[1:] == [1, 2, 1]


@pytest.mark.parametrize("action", [SetField("ipv4_dst", 1), CopyBits("eth_dst", "reg0", 8)])
def test_a_plan_that_rewrites_or_copies_destinations_is_not_walked(action):
    switch = PLAN.switches[3]
    rules = tuple(
        replace(rule, actions=(action, *rule.actions)) if rule.table is Table.MINIMAL else rule
        for rule in switch.rules
    )
    switches = (*PLAN.switches[:3], replace(switch, rules=rules), *PLAN.switches[4:])
    with pytest.raises(PlanError, match=r"s4 .*_dst"):
        prove(replace(PLAN, switches=switches))
