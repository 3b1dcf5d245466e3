"""Equivalence classes: destinations and ports that a switch treats alike, so that one stands for all."""

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
from routing.verification.equivalence_classes import destination_classes, ingress_port_classes
from routing.verification.errors import PlanError
from routing.verification.verifier import prove
from topology.addressing import hosts_of
from topology.families.polarfly import PolarFly

GRAPH = PolarFly(5)
HOSTS = hosts_of(GRAPH, 2)
PLAN = make_plan(GRAPH, 2, "min")


def test_destinations_behind_one_neighbour_are_alike_and_own_hosts_are_not():
    classes = destination_classes(PLAN.switches, HOSTS)
    for router in (0, 7, 30):
        hops = GRAPH.all_next_hops()[router]
        for one in HOSTS:
            for other in HOSTS:
                alike = classes[router][HOSTS.index(one)] == classes[router][HOSTS.index(other)]
                away = router not in (one.router, other.router)
                # A neighbour has other ways around its dead link than those behind it.
                near = (one.router == hops[one.router]) == (other.router == hops[other.router])
                expected = away and hops[one.router] == hops[other.router] and near
                assert alike == (expected or one == other)


def test_all_fabric_ports_are_alike_and_no_host_port_is():
    for switch, ports in zip(
        PLAN.switches, ingress_port_classes(PLAN.switches, GRAPH.degrees + 2), strict=True
    ):
        degree = int(GRAPH.degrees[switch.router])
        assert ports[1 : degree + 1] == [1] * degree
        assert ports[degree + 1 :] == [degree + 1, degree + 2]


def ports_of(actions, groups=(), degree=3):
    entries = [Rule(Table.INGRESS, 1, match(in_port=port), goto=Table.MINIMAL) for port in (1, 2, 3)]
    switch = SwitchPlan(0, (*entries, Rule(Table.MINIMAL, 1, (), actions)), groups)
    return ingress_port_classes([switch], [degree])[0][1:]


def test_a_port_that_a_packet_may_go_back_by_is_like_no_other():
    group = Group(5, GroupKind.INDIRECT, (Bucket((Output(2),)),))
    assert ports_of((Output(2),)) == [1, 2, 1]
    assert ports_of((ToGroup(5),), (group,)) == [1, 2, 1]
    assert ports_of((SetField("in_port", 0), ToGroup(5)), (group,)) == [1, 1, 1]
    assert ports_of((Output(PORT_INGRESS),)) == [1, 2, 3]


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
