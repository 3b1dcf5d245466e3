"""Digests of plans: equal in every process for equal plans, and different after any change."""

import copy
import os
import pickle
import subprocess
import sys
from dataclasses import fields, replace

import pytest
from support.builders.graphs import routings_of
from support.builders.leaf_spine import LeafSpine

from routing.interner import Interner
from routing.plan.digest import plan_digest
from routing.plan.model import (
    Action,
    Bucket,
    CopyBits,
    DecrementTtl,
    Group,
    LoadBits,
    Output,
    PopVlan,
    PushVlan,
    RoutePlan,
    SetField,
    SwitchPlan,
    Table,
    ToGroup,
)
from routing.registry import make_plan
from topology.families.low_diameter.polarfly import PolarFly

GRAPH = PolarFly(3)
PLAN = make_plan(GRAPH, 1, "ugal-pf")
ROUTER = 4
SWITCH = PLAN.switches[ROUTER]
RULE = next(place for place, rule in enumerate(SWITCH.rules) if rule.table is Table.SOURCE and rule.actions)
GROUP = next(place for place, group in enumerate(SWITCH.groups) if group.candidates)

IN_ANOTHER_PROCESS = """
from routing.plan.digest import plan_digest
from routing.registry import make_plan
from topology.families.low_diameter.polarfly import PolarFly
print(plan_digest(make_plan(PolarFly(3), 1, "ugal-pf")))
"""


@pytest.mark.parametrize("hash_seed", ["0", "1", "4711"])
def test_equal_plans_of_other_processes_have_one_digest(hash_seed):
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == [plan_digest(PLAN)]


def test_a_digest_has_64_hexadecimal_digits():
    assert len(bytes.fromhex(plan_digest(PLAN))) == 32


def test_the_digest_does_not_depend_on_which_objects_are_shared():
    unshared = tuple(
        replace(
            switch,
            rules=tuple(copy.deepcopy(rule) for rule in switch.rules),
            groups=tuple(copy.deepcopy(group) for group in switch.groups),
        )
        for switch in PLAN.switches
    )
    assert unshared == PLAN.switches
    assert plan_digest(replace(PLAN, switches=unshared)) == plan_digest(PLAN)
    one_object_each = Interner(lambda rule: rule)
    shared = tuple(replace(s, rules=tuple(one_object_each.intern(s.rules))) for s in PLAN.switches)
    assert plan_digest(replace(PLAN, switches=shared)) == plan_digest(PLAN)
    unpickled = pickle.loads(pickle.dumps(PLAN.switches))
    assert plan_digest(replace(PLAN, switches=unpickled)) == plan_digest(PLAN)


def test_different_routings_fabrics_and_hosts_have_different_digests():
    plans = [make_plan(GRAPH, hosts, name) for hosts in (1, 2) for name in routings_of("polarfly")]
    plans += [make_plan(GRAPH, 1, name, local_repair=False) for name in routings_of("polarfly")]
    plans += [make_plan(PolarFly(2), 1, "min"), make_plan(LeafSpine(), 1, "min")]
    assert len({plan_digest(plan) for plan in plans}) == len(plans)


# ---- any change is another digest ----


def with_switch(**changes) -> RoutePlan:
    switches = list(PLAN.switches)
    switches[ROUTER] = replace(SWITCH, **changes)
    return replace(PLAN, switches=tuple(switches))


def with_rule(**changes) -> RoutePlan:
    rules = list(SWITCH.rules)
    rules[RULE] = replace(rules[RULE], **changes)
    return with_switch(rules=tuple(rules))


def with_group(**changes) -> RoutePlan:
    groups = list(SWITCH.groups)
    groups[GROUP] = replace(groups[GROUP], **changes)
    return with_switch(groups=tuple(groups))


def with_bucket(place: int = -1, **changes) -> RoutePlan:
    buckets = list(SWITCH.groups[GROUP].buckets)
    buckets[place] = replace(buckets[place], **changes)
    return with_group(buckets=tuple(buckets))


OLD_RULE, OLD_GROUP = SWITCH.rules[RULE], SWITCH.groups[GROUP]
PART, *OTHER_PARTS = OLD_RULE.match
CHANGES = {
    "rule's table": with_rule(table=Table.TRANSIT),
    "rule's priority": with_rule(priority=OLD_RULE.priority + 1),
    "rule's goto": with_rule(goto=Table.MINIMAL),
    "rule's actions": with_rule(actions=()),
    "match's field": with_rule(match=(replace(PART, field="ipv4_src"), *OTHER_PARTS)),
    "match's value": with_rule(match=(replace(PART, value=PART.value + 1), *OTHER_PARTS)),
    "match's mask": with_rule(match=(replace(PART, mask=0xFF), *OTHER_PARTS)),
    "match's parts": with_rule(match=tuple(OTHER_PARTS)),
    "rule left out": with_switch(rules=SWITCH.rules[1:]),
    "rule twice": with_switch(rules=(*SWITCH.rules, SWITCH.rules[-1])),
    "order of rules": with_switch(rules=SWITCH.rules[::-1]),
    "group's number": with_group(number=OLD_GROUP.number + 1),
    "group's kind": with_group(kind=next(g.kind for g in SWITCH.groups if g.kind != OLD_GROUP.kind)),
    "group's buckets": with_group(buckets=OLD_GROUP.buckets[:-1]),
    "group's candidates": with_group(candidates=OLD_GROUP.candidates[:-1]),
    "bucket moved to candidates": with_group(
        buckets=OLD_GROUP.buckets[:-1], candidates=(OLD_GROUP.buckets[-1], *OLD_GROUP.candidates)
    ),
    "group's hops": with_group(hops=(1.5,)),
    "group's ports": with_group(ports=((1, 2), *OLD_GROUP.ports[1:])),
    "group's far ports": with_group(far_ports=(((1, 2),),)),
    "group left out": with_switch(groups=SWITCH.groups[:-1]),
    "bucket's actions": with_bucket(actions=(DecrementTtl(),)),
    "bucket's watched port": with_bucket(watch_port=7),
    "bucket's weight": with_bucket(weight=2),
    "router": with_switch(router=ROUTER + 1),
    "untagged groups": with_switch(untagged_groups=SWITCH.untagged_groups[::-1]),
    "tagged groups": with_switch(tagged_groups=SWITCH.tagged_groups[::-1]),
    "order of switches": replace(PLAN, switches=PLAN.switches[::-1]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_another_digest(change):
    assert CHANGES[change].switches != PLAN.switches, "the change must change something"
    assert plan_digest(CHANGES[change]) != plan_digest(PLAN)


def test_all_changes_have_different_digests():
    assert len({plan_digest(plan) for plan in CHANGES.values()}) == len(CHANGES)


def test_every_field_of_a_plan_for_a_switch_has_a_change_above():
    assert {field.name for field in fields(SwitchPlan)} == {
        "router",
        "rules",
        "groups",
        "untagged_groups",
        "tagged_groups",
    }
    assert {field.name for field in fields(Group)} == {
        "number",
        "kind",
        "buckets",
        "candidates",
        "hops",
        "ports",
        "far_ports",
    }
    assert {field.name for field in fields(Bucket)} == {"actions", "watch_port", "weight"}


ACTIONS: list[Action] = [
    Output(1),
    Output(2),
    ToGroup(1),
    SetField("x", 1),
    SetField("y", 1),
    SetField("x", 2),
    CopyBits("a", "b", 8),
    CopyBits("b", "a", 8),
    CopyBits("a", "b", 9),
    LoadBits("a", 0, 8, 1),
    LoadBits("a", 8, 8, 1),
    LoadBits("a", 0, 9, 1),
    LoadBits("a", 0, 8, 2),
    LoadBits("b", 0, 8, 1),
    PushVlan(),
    PopVlan(),
    DecrementTtl(),
]


def test_every_action_has_a_digest_of_its_own():
    plans = [with_rule(actions=(action,)) for action in ACTIONS]
    plans += [with_bucket(actions=(action,)) for action in ACTIONS]
    plans += [with_rule(actions=(PopVlan(), Output(1))), with_rule(actions=(Output(1), PopVlan()))]
    assert len({plan_digest(plan) for plan in plans}) == len(plans)
