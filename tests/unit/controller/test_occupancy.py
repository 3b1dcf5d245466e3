"""Occupancies: queues read over netlink, estimates from port statistics, and the problems of both."""

import os
import socket

import pytest

from controller.occupancy.port_statistics import EVERY_S, LATE_S, PortCounters, PortStatisticsOccupancy
from controller.occupancy.queues import SwitchQueues
from controller.occupancy.source import NetlinkOccupancy

RATE_BPS, QUEUE = 500_000, 32
SECOND = RATE_BPS // 8  # the bytes of a busy second


def source():
    return PortStatisticsOccupancy({1: frozenset({1, 2}), 2: frozenset({1})}, RATE_BPS, QUEUE)


def answered(asked, utilisation, dropped=0, seconds=2.0):
    """Lets switch 1 answer for `seconds` with one utilisation of port 1, port 2 idle; returns occupancies."""
    steps = int(seconds / EVERY_S)
    for step in range(steps + 1):
        now = step * EVERY_S
        assert 1 in asked.due([1], now)
        sent = PortCounters(int(SECOND * utilisation * now), dropped * (step == steps))
        asked.add_counters(1, now, {1: sent, 2: PortCounters(0, 0)})
    return asked.read().get(1)


@pytest.mark.parametrize(("utilisation", "packets"), [(0.0, 0), (0.5, 0.25), (0.9, 4.05), (0.95, 9.025)])
def test_an_occupancy_is_the_mean_queue_at_the_ports_utilisation(utilisation, packets):
    assert answered(source(), utilisation)[1] == pytest.approx(packets / QUEUE, rel=0.01)


def test_a_port_that_drops_or_is_always_busy_is_full():
    assert answered(source(), 0.5, dropped=1) == {1: 1.0, 2: 0.0}
    assert answered(source(), 1.0) == {1: 1.0, 2: 0.0}


def test_nothing_is_estimated_from_a_moment():
    assert answered(source(), 1.0, seconds=2 * EVERY_S) is None


def test_a_switch_is_asked_again_only_when_it_answered_or_is_late():
    asked = source()
    assert asked.due([1, 2], 0.0) == [1, 2]
    assert asked.due([1, 2], EVERY_S) == []
    asked.add_counters(1, EVERY_S, {1: PortCounters(0, 0), 2: PortCounters(0, 0)})
    assert asked.due([1, 2], EVERY_S) == [1]
    assert asked.due([1, 2], LATE_S + 0.1) == [2]
    assert asked.new_problems() == ["s2 does not answer requests for port statistics"]
    assert asked.due([1, 2], 3 * LATE_S)
    assert not [text for text in asked.new_problems() if "s2" in text]


def test_a_late_answer_counts_and_is_a_problem_once():
    asked = source()
    for step in range(3):
        now = step * 2 * LATE_S
        asked.due([1], now)
        asked.add_counters(1, now + 1.5 * LATE_S, {1: PortCounters(step * SECOND, 0), 2: PortCounters(0, 0)})
    assert asked.read()[1][1] < 1
    assert asked.new_problems() == ["s1 answers requests for port statistics late"]


def test_a_port_without_statistics_is_left_out_and_is_a_problem_once():
    asked = source()
    for step in range(10):
        asked.due([1], step * EVERY_S)
        asked.add_counters(1, step * EVERY_S, {1: PortCounters(0, 0), 0xFFFFFFFE: PortCounters(9, 9)})
    assert asked.read() == {1: {1: 0.0}}
    assert asked.new_problems() == ["s1 reports no statistics for port 2"]


def test_counters_that_begin_anew_are_not_compared_with_those_before():
    asked = source()
    answered(asked, 0.5)
    asked.due([1], 3.0)
    asked.add_counters(1, 3.0, {1: PortCounters(10, 0), 2: PortCounters(0, 0)})
    assert asked.read() == {}


def test_an_answer_of_a_foreign_switch_is_ignored():
    asked = source()
    asked.add_counters(77, 0.0, {1: PortCounters(0, 0)})
    assert asked.read() == {}


def test_a_socket_of_another_kind_is_a_problem_once_and_the_others_are_read():
    dead, other = socket.socketpair()
    other.close()
    occupancy = NetlinkOccupancy({7: SwitchQueues(os.dup(dead.fileno()), {5: 1})}, QUEUE)
    dead.close()
    assert occupancy.read() == {}
    assert occupancy.read() == {}
    occupancy.close()
    (said,) = occupancy.new_problems()
    assert said.startswith("cannot read the queues of s7")


def test_a_port_without_its_interface_is_a_problem_once():
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    occupancy = NetlinkOccupancy({7: SwitchQueues(netlink.detach(), {99_999: 4})}, QUEUE)
    assert occupancy.read() == {7: {}}
    assert occupancy.read() == {7: {}}
    occupancy.close()
    assert occupancy.new_problems() == ["port 4 of s7 has lost its queue"]
    assert occupancy.new_problems() == []


def test_a_problem_that_persists_is_returned_to_every_measurement(monkeypatch):
    asked = source()
    for second in (0.0, 5.0):
        monkeypatch.setattr("time.monotonic", lambda now=second: now)
        asked.due([1], second)
        asked.add_counters(1, second + 0.8, {1: PortCounters(0, 0), 2: PortCounters(0, 0)})
        assert asked.new_problems() == ["s1 answers requests for port statistics late"]
