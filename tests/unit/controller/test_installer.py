"""The installation of a plan, with the switches' messages played by the test."""

import zlib

import pytest
from support.builders.port_tables import with_shuffled_ports

from controller.installer import COOKIE_MASK, Installer, Stage
from controller.openflow.commands import AskGroups, AskRules, Barrier, DropRules, PutGroup, PutRule
from routing.algorithms.minimal import minimal_plan
from routing.plan.model import COOKIE_MARK, Group, GroupKind
from routing.replan.replan import surviving_plan
from routing.replan.update_order import update_rounds
from topology.failures import link_failures
from topology.families.low_diameter.polarfly import PolarFly

GRAPH = PolarFly(2)
PLAN = minimal_plan(GRAPH, 1)
FOREIGN = 99


def fingerprint(what) -> int:
    return zlib.crc32(repr(what).encode())


def cookie(rule) -> int:
    return COOKIE_MARK | fingerprint(rule)


@pytest.fixture
def installer() -> Installer:
    return Installer(PLAN, fingerprint)


def send_plan(installer: Installer, dpid: int, groups=None, cookies=()) -> list:
    """Connects a switch and returns its messages after it described its groups and rules."""
    installer.connected(dpid)
    assert installer.groups_described(dpid, groups or {}, more=False) == []
    return installer.rules_described(dpid, list(cookies), more=False)


def install(installer: Installer, dpid: int) -> None:
    assert installer.barrier_passed(dpid, send_plan(installer, dpid)[-1].xid).ready


def test_nothing_is_installed_before_switches_connect(installer):
    assert installer.total == 7
    assert installer.count(Stage.ABSENT) == 7
    assert not installer.installed


def test_a_switch_that_connects_is_asked_for_its_groups_and_rules(installer):
    messages = installer.connected(1)
    assert [message.command for message in messages] == [AskGroups(), AskRules()]
    assert installer.count(Stage.QUERIED) == 1


def test_an_empty_switch_is_sent_groups_then_rules_then_a_barrier(installer):
    commands = [message.command for message in send_plan(installer, 3)]
    plan = PLAN.switches[2]
    groups, rules = len(plan.groups), len(plan.rules)
    assert [c.group for c in commands[:groups]] == list(plan.groups)
    assert [c.rule for c in commands[groups : groups + rules]] == list(plan.rules)
    assert commands[groups + rules :] == [Barrier()]
    assert installer.count(Stage.SENT) == 1


def test_groups_that_differ_are_modified_and_missing_ones_added(installer):
    same, other, *missing = PLAN.switches[2].groups
    messages = send_plan(installer, 3, {same.number: fingerprint(same), other.number: 5, 777: 7})
    puts = [message.command for message in messages if isinstance(message.command, PutGroup)]
    assert {put.group.number: put.exists for put in puts} == {
        other.number: True,
        **{group.number: False for group in missing},
    }


def test_cookies_carry_the_mark_and_the_rules_fingerprint(installer):
    messages = send_plan(installer, 3)
    puts = [m.command for m in messages if isinstance(m.command, PutRule)]
    assert [put.cookie for put in puts] == [cookie(rule) for rule in PLAN.switches[2].rules]


def test_only_differences_are_sent_and_foreign_rules_are_left_alone(installer):
    rules = PLAN.switches[2].rules
    stale = COOKIE_MARK | 12345
    groups = {group.number: fingerprint(group) for group in PLAN.switches[2].groups}
    held = [*map(cookie, rules[1:]), stale, 0, 42]
    installer.take_charge()
    commands = [message.command for message in send_plan(installer, 3, groups, held)]
    assert commands == [PutRule(rules[0], cookie(rules[0])), DropRules(stale), Barrier()]
    assert installer.foreign_rules(3) == 2


def test_a_switch_with_very_many_stale_rules_loses_them_all_at_once(installer):
    """Its notes of ports that a controller has set down stay."""
    rules = PLAN.switches[2].rules
    note = installer.set_port(3, 1, down=True)[0].command
    installer.take_charge()
    installer.connected(3)
    installer.groups_described(3, {}, more=False)
    for first in range(0, 200_000, 1000):
        installer.rules_described(3, [COOKIE_MARK | 1 << 40 | first + n for n in range(1000)], more=True)
    held = [*map(cookie, rules), note.cookie]
    commands = [message.command for message in installer.rules_described(3, held, more=False)]
    assert commands[:2] == [DropRules(COOKIE_MARK, COOKIE_MASK), note]
    assert [c.rule for c in commands[2:] if isinstance(c, PutRule)] == list(rules)
    assert installer.noted_ports(3) == {1}
    assert sum(isinstance(command, DropRules) for command in commands) == 1


def test_notes_are_those_of_the_ports_that_links_have():
    topology = with_shuffled_ports(GRAPH, 1)
    plan = minimal_plan(topology, 1)
    installer = Installer(plan, fingerprint)
    port = max(topology.link_ports(2).tolist())
    note = installer.set_port(3, port, down=True)[0].command
    send_plan(installer, 3, cookies=[*map(cookie, plan.switches[2].rules), note.cookie])
    assert installer.noted_ports(3) == {port}


def test_a_switch_that_holds_its_plan_is_sent_only_a_barrier(installer):
    plan = PLAN.switches[2]
    groups = {group.number: fingerprint(group) for group in plan.groups}
    installer.take_charge()
    messages = send_plan(installer, 3, groups, map(cookie, plan.rules))
    assert [message.command for message in messages] == [Barrier()]


def test_switches_with_rules_keep_them_until_the_controller_takes_charge(installer):
    """If they went one by one to the plan without failures, packets could loop between old and new rules."""
    left = BROKEN.switches[2]
    groups = {group.number: fingerprint(group) for group in left.groups}
    assert send_plan(installer, 3, groups, map(cookie, left.rules)) == []
    assert (installer.count(Stage.DESCRIBED), 3 in installer.missing()) == (1, False)
    installer.set_plan(BROKEN)
    messages = installer.take_charge().messages
    assert [message.command for message in messages[3]] == [Barrier()]
    assert installer.barrier_passed(3, messages[3][-1].xid).ready


def test_an_update_continues_without_switches_that_do_not_answer(installed):
    rounds = update_rounds(PLAN, BROKEN, FAILURE)
    first = installed.begin_update(BROKEN, rounds).messages
    assert installed.awaited == set(first)
    silent = max(first)
    for number in set(first) - {silent}:
        installed.barrier_passed(number, first[number][-1].xid)
    assert installed.awaited == {silent}
    passed = installed.skip_unanswered()
    assert passed.messages or passed.updated
    assert silent not in installed.ready()


def test_a_connection_that_replaces_another_is_not_waited_for(installed):
    first = installed.begin_update(BROKEN, update_rounds(PLAN, BROKEN, FAILURE)).messages
    number = max(first)
    installed.connected(number)
    assert number not in installed.awaited


def test_answers_in_several_parts_are_waited_for(installer):
    installer.connected(3)
    first, *rest = PLAN.switches[2].groups
    assert installer.groups_described(3, {first.number: fingerprint(first)}, more=True) == []
    assert installer.rules_described(3, [], more=False) == []
    assert installer.count(Stage.QUERIED) == 1
    messages = installer.groups_described(3, {group.number: fingerprint(group) for group in rest}, more=False)
    assert not any(isinstance(message.command, PutGroup) for message in messages)


def test_transaction_ids_of_a_switch_differ(installer):
    messages = installer.connected(1)
    installer.groups_described(1, {}, more=False)
    messages += installer.rules_described(1, [], more=False)
    assert len({message.xid for message in messages}) == len(messages)
    assert all(message.xid > 0 for message in messages)


def test_it_is_ready_when_its_own_last_barrier_comes_back(installer):
    barrier = send_plan(installer, 1)[-1].xid
    assert not installer.barrier_passed(1, barrier - 1).ready
    assert not installer.barrier_passed(2, barrier).ready
    assert installer.count(Stage.READY) == 0
    assert installer.barrier_passed(1, barrier).ready
    assert installer.count(Stage.READY) == 1
    assert not installer.barrier_passed(1, barrier).ready


def test_the_plan_is_installed_when_all_switches_are_ready(installer):
    for dpid in range(1, 7):
        install(installer, dpid)
        assert not installer.installed
    install(installer, 7)
    assert installer.installed


def test_an_error_names_the_switch_and_the_rule(installer):
    put = next(m for m in send_plan(installer, 3) if isinstance(m.command, PutRule))
    text = installer.refused(3, put.xid, "OFPET_FLOW_MOD_FAILED: OFPFMFC_TABLE_FULL")
    assert text == f"s3 reports OFPET_FLOW_MOD_FAILED: OFPFMFC_TABLE_FULL for {put.command.rule}"


def test_an_error_names_the_group(installer):
    put = send_plan(installer, 3)[0]
    assert str(put.command.group) in installer.refused(3, put.xid, "OFPET_GROUP_MOD_FAILED")


def test_an_error_about_nothing_that_was_sent_names_the_switch(installer):
    send_plan(installer, 3)
    assert installer.refused(3, 123456, "OFPET_HELLO_FAILED") == "s3 reports OFPET_HELLO_FAILED"


def test_a_switch_that_refused_something_is_not_ready(installer):
    for dpid in range(1, 7):
        install(installer, dpid)
    messages = send_plan(installer, 7)
    installer.refused(7, messages[0].xid, "no")
    assert not installer.barrier_passed(7, messages[-1].xid).ready
    assert installer.count(Stage.REFUSED) == 1
    assert not installer.installed


def test_a_switch_that_connects_again_gets_its_plan_again(installer):
    for dpid in range(1, 8):
        install(installer, dpid)
    installer.disconnected(4)
    assert not installer.installed
    assert installer.count(Stage.ABSENT) == 1
    again = [message.command for message in send_plan(installer, 4)]
    assert again == [message.command for message in send_plan(Installer(PLAN, fingerprint), 4)]
    assert not installer.installed


def test_after_connecting_again_it_is_ready_by_the_new_barrier_only(installer):
    old = send_plan(installer, 4)[-1].xid
    installer.disconnected(4)
    new = send_plan(installer, 4)[-1].xid
    assert not installer.barrier_passed(4, old).ready
    assert installer.barrier_passed(4, new).ready


def test_a_refusal_is_forgotten_when_the_switch_connects_again(installer):
    messages = send_plan(installer, 4)
    installer.refused(4, messages[0].xid, "no")
    installer.barrier_passed(4, messages[-1].xid)
    install(installer, 4)
    assert installer.count(Stage.READY) == 1


def test_a_connection_that_replaces_another_starts_anew(installer):
    install(installer, 4)
    assert installer.connected(4)[0].command == AskGroups()
    assert installer.count(Stage.READY) == 0


def test_an_unrequested_description_is_ignored(installer):
    for _ in range(2):
        assert installer.groups_described(1, {}, more=False) == []
        assert installer.rules_described(1, [], more=False) == []
        send_plan(installer, 1)


def test_a_barrier_before_the_plan_was_sent_is_ignored(installer):
    installer.connected(1)
    assert not installer.barrier_passed(1, 0).ready
    assert installer.count(Stage.READY) == 0


def test_of_endless_errors_a_few_are_kept(installer):
    installer.connected(3)
    texts = [installer.refused(3, 1, "no") for _ in range(1000)]
    assert 10 < sum(text is not None for text in texts) < 1000


def test_an_unknown_datapath_is_ignored(installer):
    assert not installer.knows(FOREIGN)
    assert installer.knows(7)
    assert installer.connected(FOREIGN) == []
    assert installer.groups_described(FOREIGN, {}, more=False) == []
    assert installer.rules_described(FOREIGN, [], more=False) == []
    assert not installer.barrier_passed(FOREIGN, 1).ready
    installer.disconnected(FOREIGN)
    assert installer.count(Stage.ABSENT) == installer.total == 7


# ---- from one plan to another ----

FAILURE = next(iter(link_failures(GRAPH)))
BROKEN = surviving_plan(minimal_plan(GRAPH, 1), FAILURE)
ROUNDS = update_rounds(PLAN, BROKEN, FAILURE)


def pass_barriers(installer, messages):
    """Answers all barriers of a round and returns the outcome of the last."""
    for dpid, sent in messages.items():
        passed = installer.barrier_passed(dpid, sent[-1].xid)
        if passed.messages or passed.updated:
            return passed
    raise AssertionError("the round did not end")


@pytest.fixture
def installed(installer):
    for dpid in range(1, 8):
        install(installer, dpid)
    return installer


def test_an_update_goes_round_by_round_behind_barriers(installed):
    passed = installed.begin_update(BROKEN, ROUNDS)
    sent = []
    while not passed.updated:
        assert installed.updating
        for messages in passed.messages.values():
            assert isinstance(messages[-1].command, Barrier)
            sent += [message.command.rule for message in messages[:-1]]
        passed = pass_barriers(installed, passed.messages)
    assert not installed.updating
    assert sent == [rule for changes in ROUNDS for changed in changes.values() for rule in changed]
    assert installed.installed


def test_no_round_begins_before_the_last_is_done_everywhere(installed):
    passed = installed.begin_update(BROKEN, ROUNDS)
    first, *others = passed.messages.items()
    assert others
    assert not installed.barrier_passed(first[0], first[1][-1].xid).messages
    assert installed.updating


def test_a_switch_that_disconnects_during_an_update_is_not_waited_for(installed):
    passed = installed.begin_update(BROKEN, ROUNDS)
    gone, *others = passed.messages
    assert not installed.disconnected(gone).messages
    following = pass_barriers(installed, {dpid: passed.messages[dpid] for dpid in others})
    assert gone not in following.messages
    commands = [m.command for m in send_plan(installed, gone) if isinstance(m.command, PutRule)]
    assert [command.rule for command in commands] == list(BROKEN.switches[gone - 1].rules)


def test_a_switch_that_was_sent_the_plan_before_is_asked_again(installer):
    for dpid in range(2, 8):
        install(installer, dpid)
    messages = send_plan(installer, 1)
    installer.begin_update(BROKEN, ROUNDS)
    passed = installer.barrier_passed(1, messages[-1].xid)
    assert not passed.ready
    assert [message.command for message in passed.messages[1]] == [AskGroups(), AskRules()]


def test_an_update_without_changes_is_done_at_once(installed):
    assert installed.begin_update(PLAN, []).updated


def test_a_switch_that_answers_after_it_was_skipped_is_asked_again(installer):
    for number in range(1, 8):
        install(installer, number)
    passed = installer.begin_update(BROKEN, update_rounds(PLAN, BROKEN, FAILURE))
    slow, messages = next(iter(passed.messages.items()))
    installer.skip_unanswered()
    assert slow not in installer.ready()
    late = installer.barrier_passed(slow, messages[-1].xid)
    assert [message.command for message in late.messages[slow]] == [AskGroups(), AskRules()]


def test_a_switch_that_refuses_part_of_an_update_is_asked_again_and_brought_to_the_plan(installed):
    passed = installed.begin_update(BROKEN, ROUNDS)
    stubborn, messages = next(iter(passed.messages.items()))
    others = {number: sent for number, sent in passed.messages.items() if number != stubborn}
    assert "reports EPERM for" in installed.refused(stubborn, messages[0].xid, "EPERM")
    asked = installed.barrier_passed(stubborn, messages[-1].xid)
    assert [message.command for message in asked.messages[stubborn]] == [AskGroups(), AskRules()]
    assert stubborn not in installed.ready()
    passed = pass_barriers(installed, others)
    while not passed.updated:  # the others go on without it
        assert stubborn not in passed.messages
        passed = pass_barriers(installed, passed.messages)
    assert installed.groups_described(stubborn, {}, more=False) == []
    mending = installed.rules_described(stubborn, [], more=False)
    rules = [message.command.rule for message in mending if isinstance(message.command, PutRule)]
    assert rules == list(BROKEN.switches[stubborn - 1].rules)
    assert installed.barrier_passed(stubborn, mending[-1].xid).ready


def test_an_update_with_pauses_rests_behind_every_round(installed):
    passed = installed.begin_update(BROKEN, ROUNDS, pauses=True)
    for _ in ROUNDS:
        assert not installed.resting
        for dpid, sent in passed.messages.items():
            rested = installed.barrier_passed(dpid, sent[-1].xid)
            assert (rested.messages, rested.updated) == ({}, False)
        assert installed.resting
        assert installed.updating
        passed = installed.next_round()
    assert passed.updated
    assert not installed.updating


def test_an_update_adds_new_groups_once_and_modifies_those_that_switches_hold(installed):
    new, old = Group(1 << 29, GroupKind.SELECT, ()), PLAN.switches[2].groups[0]
    for exists in (False, True):
        sent = installed.begin_update(PLAN, [{2: [new, old]}]).messages
        commands = [message.command for message in sent[3][:-1]]
        assert commands == [PutGroup(new, exists), PutGroup(old, exists=True)]
        pass_barriers(installed, sent)
