"""Plans as columns: they read, digest and prove as the same plans of objects do, with faults and without."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from support.builders.graphs import FABRICS, single_failures
from support.builders.repeats import repeats

from routing.plan.columns import GroupColumns, SwitchColumns, group_parts
from routing.plan.digest import plan_digest
from routing.plan.model import GroupKind, SwitchPlan, Table
from routing.registry import make_plan
from routing.verification.proof import PlanError
from routing.verification.verifier import prove

ROUTER = 1


def of_objects(plan):
    """The plan with the same rules and groups, of which none are columns."""
    return replace(plan, switches=tuple(replace(switch) for switch in plan.switches))


def with_columns(plan, change):
    """The plan with other columns at one switch: change(columns) -> (numbers of rules, parts of groups)."""
    switch = plan.switches[ROUTER]
    columns = SwitchColumns(switch.columns.store, *change(switch.columns))
    changed = SwitchPlan.of_columns(ROUTER, columns, switch.untagged_groups, switch.tagged_groups)
    return replace(plan, switches=(*plan.switches[:ROUTER], changed, *plan.switches[ROUTER + 1 :]))


def other_groups(columns, make):
    """The columns with other groups in place of the searched ones."""
    parts = (make(part) if isinstance(part, GroupColumns) else part for part in columns.groups)
    return columns.rules, tuple(parts)


def searched(plan):
    return next(part for part in group_parts(plan.switches[ROUTER]) if isinstance(part, GroupColumns))


# Of whose families there are smaller ones.
LARGER = ("polarstar 2 iq 3", "polarstar 3 paley 2", "slimfly 4", "slimfly 5")
CASES = [
    *((fabric, "min") for fabric in FABRICS if fabric not in LARGER),
    *repeats(*((fabric, "min") for fabric in LARGER)),
    ("petersen", "valiant"),
    ("slimfly 3", "ugal"),
    ("a ring with every link twice", "ugal"),
]


@pytest.mark.parametrize(("fabric", "routing"), CASES)
def test_columns_are_proven_as_their_objects_are(fabric, routing):
    topology = FABRICS[fabric]()
    plan = make_plan(topology, 1, routing)
    objects = of_objects(plan)
    assert all(switch.columns is not None for switch in plan.switches)
    assert all(switch.columns is None for switch in objects.switches)
    failures = single_failures(topology)[:20]
    again = make_plan(topology, 1, routing)  # nothing of it has been read
    assert prove(again, failures) == prove(objects, failures)
    assert prove(again) == prove(objects)
    assert again.size() == objects.size()
    assert again.switches == objects.switches
    assert hash(again.switches) == hash(objects.switches)
    assert plan_digest(again) == plan_digest(objects)


def test_rules_and_groups_are_tuples_and_the_same_objects_whenever_they_are_read():
    plan = make_plan(FABRICS["torus"](), 1, "min")
    for switch in plan.switches:
        assert type(switch.rules) is type(switch.groups) is tuple
        assert switch.rules is switch.rules
        assert switch.groups is switch.groups
        assert len(set(map(id, switch.rules))) == len(switch.rules)
    shared = {id(rule) for rule in plan.switches[0].rules} & {id(rule) for rule in plan.switches[1].rules}
    assert shared
    assert pickle.loads(pickle.dumps(plan.switches)) == plan.switches
    with pytest.raises(AttributeError):
        _ = plan.switches[0].unknown


def test_a_rule_left_out_of_the_columns_is_found():
    plan = make_plan(FABRICS["petersen"](), 1, "min")
    minimal = [rule.table is Table.MINIMAL and len(rule.actions) == 2 for rule in plan.switches[ROUTER].rules]
    broken = with_columns(plan, lambda c: (np.delete(c.rules, minimal.index(True)), c.groups))
    proof = prove(broken)
    assert proof.blackholes
    assert proof == prove(of_objects(broken))


def test_a_wrong_bucket_in_the_columns_is_found():
    plan = make_plan(FABRICS["petersen"](), 1, "min")

    def turned(groups):
        members = np.roll(groups.members, -1)
        return GroupColumns(groups.buckets, groups.numbers, groups.selects, groups.counts, members)

    broken = with_columns(plan, lambda c: other_groups(c, turned))
    failures = single_failures(plan.topology)
    assert prove(plan, failures).ok
    proof = prove(broken, failures)
    assert not proof.ok
    assert proof == prove(of_objects(broken), failures)


def test_groups_without_buckets_in_the_columns_lose_packets():
    plan = make_plan(FABRICS["petersen"](), 1, "min")

    def emptied(groups):
        none = np.zeros(len(groups), np.intp)
        return GroupColumns(groups.buckets, groups.numbers, groups.selects, none, groups.members[:0])

    broken = with_columns(plan, lambda c: other_groups(c, emptied))
    proof = prove(broken)
    assert proof.blackholes
    assert proof == prove(of_objects(broken))


def test_a_rule_twice_in_the_columns_is_refused():
    plan = make_plan(FABRICS["petersen"](), 1, "min")
    broken = with_columns(plan, lambda c: (np.append(c.rules, c.rules[-1]), c.groups))
    with pytest.raises(PlanError, match="same match"):
        prove(broken)


def test_a_group_number_twice_in_the_columns_is_refused():
    plan = make_plan(FABRICS["petersen"](), 1, "min")

    def alike(groups):
        numbers = np.append(groups.numbers[:-1], groups.numbers[0])
        return GroupColumns(groups.buckets, numbers, groups.selects, groups.counts, groups.members)

    with pytest.raises(PlanError, match="same number"):
        prove(with_columns(plan, lambda c: other_groups(c, alike)))


def test_rules_that_name_a_group_which_the_columns_lack_are_refused():
    plan = make_plan(FABRICS["petersen"](), 1, "min")
    broken = with_columns(plan, lambda c: (c.rules, tuple(p for p in c.groups if p is not searched(plan))))
    with pytest.raises(PlanError, match="does not exist"):
        prove(broken)


def test_a_backward_jump_in_the_columns_is_refused_with_its_rule():
    plan = make_plan(FABRICS["petersen"](), 1, "min")
    rule = plan.switches[ROUTER].rules[-1]
    backward = replace(rule, goto=Table.INGRESS)
    broken = with_columns(plan, lambda c: (np.append(c.rules[:-1], c.store.add([backward])), c.groups))
    with pytest.raises(PlanError, match="later table"):
        prove(broken)


def test_a_bucket_of_the_columns_that_names_a_missing_group_is_refused():
    plan = make_plan(FABRICS["a ring with every link twice"](), 1, "min")

    def without_the_first(groups):
        assert groups.group(0).kind is GroupKind.FAST_FAILOVER  # one of those among which another selects
        members = groups.members[groups.counts[0] :]
        return GroupColumns(
            groups.buckets, groups.numbers[1:], groups.selects[1:], groups.counts[1:], members
        )

    with pytest.raises(PlanError, match="a bucket names group"):
        prove(with_columns(plan, lambda c: other_groups(c, without_the_first)))
