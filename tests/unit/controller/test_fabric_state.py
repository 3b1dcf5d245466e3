"""Link and switch state: failures, hold-down of flapping links, and the time to plan."""

import pytest

from controller.fabric_state import (
    FIRST_HOLD_S,
    FLAPS,
    LONGEST_WAIT_S,
    LOST_AFTER_S,
    REPEAT_S,
    SETTLE_S,
    FabricState,
    SetPort,
)
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import link_component

GRAPH = PolarFly(3)
LINK = GRAPH.link_list[0]
A, B = (LINK.a, LINK.port_a), (LINK.b, LINK.port_b)


def cut(state, now):
    return state.port_changed(*A, up=False, now_s=now) + state.port_changed(*B, up=False, now_s=now)


def restore(state, now):
    return state.port_changed(*A, up=True, now_s=now) + state.port_changed(*B, up=True, now_s=now)


def test_a_whole_fabric_needs_no_plan():
    state = FabricState(GRAPH)
    assert not state.failure().any_failed
    assert not state.plan_due(100.0)


def test_a_link_is_dead_while_either_end_is_down():
    state = FabricState(GRAPH)
    state.port_changed(*A, up=False, now_s=0.0)
    assert state.failure().failed_ends == {A, B}
    state.port_changed(*B, up=False, now_s=0.0)
    state.port_changed(*A, up=True, now_s=1.0)
    assert state.failure().failed_ends == {A, B}
    assert state.port_changed(*B, up=True, now_s=1.0) == []
    assert not state.failure().any_failed


def test_changes_in_quick_succession_are_planned_for_together():
    state = FabricState(GRAPH)
    for number, link in enumerate(GRAPH.link_list[:5]):
        state.port_changed(link.a, link.port_a, up=False, now_s=number * SETTLE_S / 2)
        assert not state.plan_due(number * SETTLE_S / 2 + SETTLE_S / 4)
    assert state.plan_due(4 * SETTLE_S / 2 + 1.01 * SETTLE_S)
    assert len(state.failure().failed_ends) == 10
    state.mark_planned()
    assert not state.plan_due(100.0)


def test_changes_that_do_not_cease_are_planned_for_after_the_longest_wait():
    state = FabricState(GRAPH)
    now = 0.0
    for link in GRAPH.link_list:
        state.port_changed(link.a, link.port_a, up=False, now_s=now)
        if state.plan_due(now):
            break
        now += SETTLE_S * 0.9
    assert now <= LONGEST_WAIT_S + SETTLE_S


def test_a_failure_that_ends_before_it_is_planned_for_needs_no_plan():
    state = FabricState(GRAPH)
    cut(state, 0.0)
    restore(state, 0.01)
    assert not state.plan_due(1.0)


def test_a_flapping_link_is_held_down_for_a_growing_time():
    state = FabricState(GRAPH)
    now = 0.0
    for _ in range(FLAPS - 1):
        cut(state, now)
        assert restore(state, now + 0.1) == []
        now += 0.2
    cut(state, now)
    assert restore(state, now + 0.1) == [SetPort(*B, down=True)]
    assert state.failure().failed_ends == {A, B}
    cut(state, now + 0.2)  # by ourselves
    assert state.tick(now + 0.1 + FIRST_HOLD_S / 2) == []
    up = state.tick(now + 0.1 + FIRST_HOLD_S)
    assert up == [SetPort(*B, down=False)]
    assert state.failure().failed_ends == {A, B}  # until its ports say that they are up
    now += 0.1 + FIRST_HOLD_S
    restore(state, now + 0.01)
    assert not state.failure().any_failed
    cut(state, now + 1.0)
    assert restore(state, now + 1.1) == [SetPort(*B, down=True)]  # at once, this time
    assert state.tick(now + 1.1 + 1.5 * FIRST_HOLD_S) == []
    assert state.tick(now + 1.1 + 2 * FIRST_HOLD_S) == [SetPort(*B, down=False)]


def returned(state, router, now_s):
    """Has a switch filled, planned for and admitted; returns the ports to set."""
    state.switch_filled(router, now_s)
    state.mark_planned()
    return state.admit(now_s)


def test_a_port_that_others_set_down_is_not_set_up():
    state = FabricState(GRAPH)
    link = GRAPH.link_list[0]
    state.port_changed(link.a, link.port_a, up=False, now_s=0.0, admin_down=True)
    state.switch_disconnected(link.b, 1.0)
    commands = state.tick(1.0 + LOST_AFTER_S)
    assert SetPort(link.a, link.port_a, down=True) not in commands
    assert SetPort(link.a, link.port_a, down=False) not in returned(state, link.b, 5.0)


def test_a_port_that_an_earlier_controller_set_down_is_set_up_unless_its_link_is_held():
    state = FabricState(GRAPH)
    first = next(link for link in GRAPH.link_list if link.b == GRAPH.link_list[-1].b)
    for link in (first, GRAPH.link_list[0]):
        state.port_changed(link.a, link.port_a, up=False, now_s=0.0, admin_down=True)
        state.adopt(link.a, link.port_a)
    state.switch_disconnected(first.b, 0.0)
    state.tick(1.0)
    other = GRAPH.link_list[0]
    assert state.release_adopted() == [SetPort(other.a, other.port_a, down=False)]
    assert SetPort(first.a, first.port_a, down=False) in returned(state, first.b, 5.0)


def test_a_link_that_fails_rarely_is_not_held():
    state = FabricState(GRAPH)
    for number in range(5):
        cut(state, 100.0 * number)
        assert restore(state, 100.0 * number + 1) == []


def test_neighbours_of_a_lost_switch_set_their_ports_down_until_it_is_filled():
    state = FabricState(GRAPH)
    router = 4
    state.switch_disconnected(router, 0.0)
    assert state.tick(LOST_AFTER_S / 2) == []
    assert not state.failure().any_failed
    down = state.tick(LOST_AFTER_S)
    links = [link for link in GRAPH.link_list if router in (link.a, link.b)]
    assert len(down) == len(links)
    assert all(command.down and command.router != router for command in down)
    assert state.failure().failed_routers == {router}
    assert len(state.failure().failed_ends) == 2 * len(links)
    up = returned(state, router, 5.0)
    assert {(c.router, c.port) for c in down} == {(c.router, c.port) for c in up}
    assert not any(command.down for command in up)
    assert state.failure().failed_routers == frozenset()


def test_a_filled_switch_returns_once_it_is_admitted_unless_it_is_lost_again():
    state = FabricState(GRAPH)
    state.switch_filled(4, 0.0)
    assert state.returning == frozenset()  # it was never lost
    state.switch_lost(4, 1.0)
    state.mark_planned()
    assert state.admit(1.0) == []
    state.switch_filled(4, 2.0)
    assert state.plan_due(3.0)
    assert state.admit(3.0) == []
    assert (state.returning, state.failure().failed_routers) == ({4}, {4})
    state.mark_planned()
    state.switch_lost(4, 3.0)
    assert state.admit(3.0) == []
    assert returned(state, 4, 4.0)
    assert (state.returning, state.failure().failed_routers) == (frozenset(), frozenset())


def test_a_port_of_a_disconnected_switch_is_set_up_when_the_switch_is_back():
    """Otherwise the command is lost, and the link stays down if the switch loses its note of the port."""
    state = FabricState(GRAPH)
    lost, away = LINK.a, LINK.b
    state.switch_lost(lost, 0.0)
    state.switch_disconnected(away, 1.0)
    up = returned(state, lost, 1.0)
    assert up
    assert away not in {command.router for command in up}
    state.switch_connected(away)
    assert state.release_adopted() == [SetPort(away, LINK.port_b, down=False)]
    assert state.release_adopted() == []


def test_a_port_to_a_host_is_ignored():
    state = FabricState(GRAPH)
    assert state.port_changed(0, 200, up=False, now_s=0.0) == []
    assert not state.failure().any_failed


@pytest.mark.parametrize("times", [2, 3])
def test_a_switch_that_is_lost_again_before_it_was_filled_stays_lost(times):
    state = FabricState(GRAPH)
    for number in range(times):
        state.switch_disconnected(4, float(number))
        state.tick(number + LOST_AFTER_S)
        state.switch_connected(4)
    assert state.failure().failed_routers == {4}


def test_a_switch_that_reconnects_at_once_is_not_lost():
    state = FabricState(GRAPH)
    state.switch_disconnected(4, 0.0)
    state.switch_connected(4)
    assert state.tick(10.0) == []
    assert not state.failure().any_failed


def test_a_port_that_others_set_up_while_its_link_is_held_is_set_down_again():
    state = FabricState(GRAPH)
    state.switch_lost(LINK.b, 0.0)
    state.port_changed(*A, up=False, now_s=0.1, admin_down=True)
    assert state.port_changed(*A, up=True, now_s=1.0) == [SetPort(*A, down=True)]


def test_a_held_port_that_is_set_up_again_and_again_is_set_down_now_and_then():
    state = FabricState(GRAPH)
    state.switch_lost(LINK.b, 0.0)
    commands = []
    for number in range(10_000):
        now = number * 1e-4
        commands += state.port_changed(*A, up=number % 2 == 1, now_s=now, admin_down=number % 2 == 0)
        commands += state.tick(now)
    assert 1 <= len(commands) <= 1 / REPEAT_S
    assert state.tick(1.0 + REPEAT_S) == [SetPort(*A, down=True)]  # it is up
    assert state.tick(2.0 + REPEAT_S) == []


def test_a_link_that_is_held_before_it_was_planned_for_is_planned_around():
    state = FabricState(GRAPH)
    for number in range(FLAPS):
        cut(state, number * 1e-3)
        restore(state, number * 1e-3)
    assert state.held_until_s() == {link_component(LINK).location: (FLAPS - 1) * 1e-3 + FIRST_HOLD_S}
    assert state.plan_due(1.0)
    state.mark_planned()
    state.tick(1.0)
    restore(state, 1.0)
    assert state.held_until_s() == {}
    assert state.plan_due(2.0)


def test_a_cable_that_comes_back_to_a_dead_switch_is_held():
    state = FabricState(GRAPH)
    state.port_changed(*A, up=False, now_s=0.0, admin_down=True)  # pulled
    assert SetPort(*A, down=True) not in state.switch_lost(LINK.b, 1.0)
    assert state.port_changed(*A, up=True, now_s=2.0) == [SetPort(*A, down=True)]
    assert SetPort(*A, down=False) in returned(state, LINK.b, 3.0)


def test_a_report_without_a_change_does_not_prolong_the_wait():
    """Every switch reports all its ports when it connects, most of them unchanged."""
    state = FabricState(GRAPH)
    cut(state, 10.0)
    other = GRAPH.link_list[5]
    state.port_changed(other.a, other.port_a, up=True, now_s=10.0 + 0.9 * SETTLE_S)
    assert state.plan_due(10.0 + 1.1 * SETTLE_S)


def test_a_switch_is_seen_while_a_present_neighbour_has_its_port_up():
    state = FabricState(GRAPH)
    towards = [
        next(end for end in link.ends if end[0] != 0) for link in GRAPH.link_list if 0 in (link.a, link.b)
    ]
    assert state.seen_by_neighbour(0, {0})
    assert not state.seen_by_neighbour(0, {0, *(router for router, _ in towards)})
    for router, port in towards[:-1]:
        state.port_changed(router, port, up=False, now_s=0.0)
    assert state.seen_by_neighbour(0, {0})
    assert not state.seen_by_neighbour(0, {0, towards[-1][0]})
    state.port_changed(*towards[-1], up=False, now_s=0.0)
    assert not state.seen_by_neighbour(0, {0})
