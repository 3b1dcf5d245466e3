"""The installation of a plan, told from memory what switches say."""

import pytest

from controller.installer import AskGroups, Barrier, Installer, PutGroup, PutRule, Stage
from controller.minimal import minimal_plan
from controller.plan import COOKIE_MARK
from topology.polarfly import PolarFly

PLAN = minimal_plan(PolarFly(2), 1)
FOREIGN = 99


@pytest.fixture
def installer() -> Installer:
    return Installer(PLAN)


def send_plan(installer: Installer, dpid: int, held: frozenset[int] = frozenset()) -> list:
    """Connects a switch and returns what it is sent after it told its groups."""
    installer.connected(dpid)
    return installer.groups_held(dpid, held)


def install(installer: Installer, dpid: int) -> None:
    assert installer.barrier_passed(dpid, send_plan(installer, dpid)[-1].xid)


def test_nothing_is_installed_before_switches_connect(installer):
    assert installer.total == 7
    assert installer.count(Stage.ABSENT) == 7
    assert not installer.installed


def test_a_switch_that_connects_is_asked_for_its_groups(installer):
    [message] = installer.connected(1)
    assert message.command == AskGroups()
    assert installer.count(Stage.ASKED) == 1


def test_it_is_sent_groups_then_rules_then_a_barrier(installer):
    commands = [message.command for message in send_plan(installer, 3)]
    plan = PLAN.switches[2]
    groups, rules = len(plan.groups), len(plan.rules)
    assert [c.group for c in commands[:groups]] == list(plan.groups)
    assert [c.rule for c in commands[groups : groups + rules]] == list(plan.rules)
    assert commands[groups + rules :] == [Barrier()]
    assert installer.count(Stage.SENT) == 1


def test_groups_that_it_holds_are_modified_and_others_added(installer):
    messages = send_plan(installer, 3, frozenset({2, 77}))
    puts = [message.command for message in messages if isinstance(message.command, PutGroup)]
    assert {put.group.number: put.exists for put in puts} == {1: False, 2: True}


def test_cookies_are_marked_and_tell_the_rules_apart(installer):
    messages = send_plan(installer, 3)
    cookies = [m.command.cookie for m in messages if isinstance(m.command, PutRule)]
    assert cookies == [COOKIE_MARK | index for index in range(len(PLAN.switches[2].rules))]


def test_transaction_ids_of_a_switch_differ(installer):
    messages = [*installer.connected(1), *installer.groups_held(1, frozenset())]
    assert len({message.xid for message in messages}) == len(messages)
    assert all(message.xid > 0 for message in messages)


def test_it_is_ready_when_its_own_last_barrier_comes_back(installer):
    barrier = send_plan(installer, 1)[-1].xid
    assert not installer.barrier_passed(1, barrier - 1)
    assert not installer.barrier_passed(2, barrier)
    assert installer.count(Stage.READY) == 0
    assert installer.barrier_passed(1, barrier)
    assert installer.count(Stage.READY) == 1
    assert not installer.barrier_passed(1, barrier)


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
    assert not installer.barrier_passed(7, messages[-1].xid)
    assert installer.count(Stage.REFUSED) == 1
    assert not installer.installed


def test_a_switch_that_connects_again_gets_its_plan_again(installer):
    for dpid in range(1, 8):
        install(installer, dpid)
    installer.disconnected(4)
    assert not installer.installed
    assert installer.count(Stage.ABSENT) == 1
    again = [message.command for message in send_plan(installer, 4)]
    assert again == [message.command for message in send_plan(Installer(PLAN), 4)]
    assert not installer.installed


def test_after_connecting_again_it_is_ready_by_the_new_barrier_only(installer):
    old = send_plan(installer, 4)[-1].xid
    installer.disconnected(4)
    new = send_plan(installer, 4)[-1].xid
    assert not installer.barrier_passed(4, old)
    assert installer.barrier_passed(4, new)


def test_a_refusal_is_forgotten_when_the_switch_connects_again(installer):
    messages = send_plan(installer, 4)
    installer.refused(4, messages[0].xid, "no")
    installer.barrier_passed(4, messages[-1].xid)
    install(installer, 4)
    assert installer.count(Stage.READY) == 1


def test_a_connection_that_replaces_another_starts_anew(installer):
    install(installer, 4)
    [message] = installer.connected(4)
    assert message.command == AskGroups()
    assert installer.count(Stage.READY) == 0


def test_groups_told_unasked_are_ignored(installer):
    assert installer.groups_held(1, frozenset()) == []
    send_plan(installer, 1)
    assert installer.groups_held(1, frozenset()) == []


def test_a_barrier_before_the_plan_was_sent_means_nothing(installer):
    installer.connected(1)
    assert not installer.barrier_passed(1, 0)
    assert installer.count(Stage.READY) == 0


def test_an_unknown_datapath_is_ignored(installer):
    assert not installer.knows(FOREIGN)
    assert installer.knows(7)
    assert installer.connected(FOREIGN) == []
    assert installer.groups_held(FOREIGN, frozenset()) == []
    assert not installer.barrier_passed(FOREIGN, 1)
    installer.disconnected(FOREIGN)
    text = installer.refused(FOREIGN, 1, "OFPET_BAD_REQUEST")
    assert text == "datapath 0x63, not of this fabric, reports OFPET_BAD_REQUEST"
    assert installer.count(Stage.ABSENT) == installer.total == 7
