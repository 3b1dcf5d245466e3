"""A fault campaign: links, switches and controllers die and return under real packets."""

import itertools
import signal
import time

import numpy as np
import pytest
from conftest import QUIET, eventually, eventually_missing, probe_all_pairs, settle
from pair_probes import next_run

from emulation.fault_injection import FaultInjector
from experiments.fault_injector import FaultSchedule
from experiments.traffic_jobs import make_job
from topology.addressing import interface_name
from topology.faults import CONTROLLER, Component, ComponentKind, Fault, link_component
from traffic.engine.engine import run_traffic
from traffic.wire.layout import HEADER_BYTES
from traffic.workload.schedule import ProbeSchedule, ProbeStream

pytestmark = pytest.mark.usefixtures("no_leftovers")


def steady_probes(fabric, played, seconds, broken=None, without=None):
    """Sends a probe for every pair every 50 ms while faults are played; returns (sent, lost, player).

    `broken` is what is broken already; pairs of the router `without` are left out.
    """
    count = len(fabric.hosts)
    chosen = [n for n, host in enumerate(fabric.hosts) if host.router != without]
    pairs = tuple(s * count + d for s in chosen for d in chosen if s != d)
    schedule = ProbeSchedule(count, (ProbeStream(pairs, 50_000_000),), round(seconds * 1e9))
    job = make_job(fabric, schedule, HEADER_BYTES, next_run(), 1, (0, schedule.end_ns))
    with FaultSchedule(fabric, played, QUIET, broken) as player:
        result = run_traffic(job, {}, fabric.network.run_dir, starts=player.start)
    sent = int(result.sent.frames.sum())
    return sent, sent - int(result.received.frames.sum()), player


@pytest.fixture
def faults(er3_alive):
    """Faults on a fabric that is whole again after the test."""
    assert er3_alive.controller.wait_until_recovered(20)
    done = FaultInjector(er3_alive.network)
    yield done
    done.restore_all()
    settle(0.2)  # by then the controller knows what was restored
    assert er3_alive.controller.wait_until_recovered(30)
    eventually(lambda: probe_all_pairs(er3_alive) == ([], 2))


def pairs_of(fabric, router):
    """Returns the pairs of hosts of which one is the router's."""
    names = [host.name for host in fabric.hosts]
    return {pair for pair in itertools.permutations(names, 2) if f"h{router + 1}_1" in pair}


def planned(fabric, *parts, seconds=10.0):
    """Returns the controller's report of a plan in whose failure's name all parts are."""
    report = fabric.controller.wait_for_plan(lambda failed: all(part in failed for part in parts), seconds)
    assert report, f"no plan for {parts}; there were {[r.failed for r in fabric.controller.replans]}"
    return report


def test_the_controller_plans_for_what_is_left_and_goes_back(er3_alive, faults):
    link = er3_alive.options.topology.link_list[3]
    faults.fail(link_component(link))
    report = planned(er3_alive, f"s{link.a + 1}-s{link.b + 1}")
    assert report.cut_off_pairs == 0
    assert report.rules > 0
    assert eventually_missing(er3_alive) <= 4
    known = len(er3_alive.controller.replans)
    faults.restore(link_component(link))
    assert er3_alive.controller.wait_until_recovered(5)
    assert er3_alive.controller.replans[known].rules == report.rules


@pytest.mark.tried_again
def test_a_link_that_returns_costs_no_packet(er3_alive, faults):
    component = link_component(er3_alive.options.topology.link_list[5])
    faults.fail(component)
    planned(er3_alive, component.name.partition(":")[2])
    restored = [Fault(0.4, component, restores=True)]
    sent, lost, player = steady_probes(er3_alive, restored, 1.4, faults)
    assert [done.fault for done in player.done] == restored
    assert (sent > 1000, lost) == (True, 0)


@pytest.mark.tried_again
def test_a_burst_of_failures_is_one_planning(er3_alive, faults):
    """A rack loses power: many links at a moment; those of one switch go together."""
    known = len(er3_alive.controller.replans)
    faults.fail(Component(ComponentKind.SWITCH, (7,)))
    planned(er3_alive, "s8")
    settle(0.5)
    er3_alive.controller.catch_up()
    # The links at once, and perhaps once more when the switch itself is given up.
    assert len(er3_alive.controller.replans) - known <= 2


def test_pairs_that_failures_cut_off_are_named(er3_alive, faults):
    topology = er3_alive.options.topology
    router = int(np.argmin(topology.degrees))
    links = [link for link in topology.link_list if router in (link.a, link.b)]
    for link in links:
        faults.fail(link_component(link))
    report = planned(er3_alive, *(f"s{link.a + 1}-s{link.b + 1}" for link in links))
    assert report.cut_off_pairs == 2 * (topology.routers - 1)
    assert any(f"s{router + 1} " in f"{text} " for text in report.cut_off)
    eventually_missing(er3_alive, pairs_of(er3_alive, router))


@pytest.mark.tried_again
@pytest.mark.parametrize("kind", [ComponentKind.SWITCH, ComponentKind.HANG])
def test_a_switch_that_dies_is_planned_around_and_filled_when_it_returns(er3_alive, faults, kind):
    """A program that dies with its links up is seen by nobody but the controller."""
    component = Component(kind, (4,))
    faults.fail(component)
    planned(er3_alive, "s5")
    eventually_missing(er3_alive, pairs_of(er3_alive, 4))
    # While it is empty its neighbours send it nothing: whatever is lost is to or from its own host.
    restored = [Fault(0.5, component, restores=True)]
    sent, lost, player = steady_probes(er3_alive, restored, 2.5, faults, without=4)
    assert [done.fault for done in player.done] == restored
    assert (sent > 1000, lost) == (True, 0)
    assert er3_alive.controller.wait_until_recovered(10)


def set_down(fabric, link):
    """Whether the end of a link that the controller would set down is down."""
    name = interface_name(link.b, link.port_b)
    return ",UP" not in fabric.network[f"s{link.b + 1}"].cmd(f"ip link show {name}")


def flap_until_held(fabric, faults, link):
    for _ in range(12):
        faults.fail(link_component(link))
        settle(0.05)
        faults.restore(link_component(link))
        settle(0.05)
        if set_down(fabric, link):
            return
    raise AssertionError("the link was not held")


def test_a_flapping_link_is_held_down_for_a_growing_time(er3_alive, faults):
    link = er3_alive.options.topology.link_list[8]
    held_s = []
    for _ in range(2):
        flap_until_held(er3_alive, faults, link)
        began = time.monotonic()
        while set_down(er3_alive, link):
            assert time.monotonic() - began < 5
            time.sleep(0.01)
        held_s.append(time.monotonic() - began)
    assert held_s[1] > 1.3 * held_s[0]
    flap_until_held(er3_alive, faults, link)
    assert planned(er3_alive, f"s{link.a + 1}-s{link.b + 1}")
    eventually_missing(er3_alive)


@pytest.mark.tried_again
def test_the_controller_is_killed_and_started_again_and_no_packet_is_lost(er3_alive, faults):
    rules = {name: er3_alive.network[name].dpctl("dump-flows") for name in ("s1", "s9")}
    restart = [Fault(0.3, CONTROLLER), Fault(0.5, CONTROLLER, restores=True)]
    began_s = time.monotonic()
    sent, lost, player = steady_probes(er3_alive, restart, 3.5)
    assert [str(done.fault) for done in player.done] == ["fail controller", "restore controller"]
    assert (sent > 8_500, lost) == (True, 0)
    # None was put again: the rules' ages go on.
    for name in rules:
        lines = er3_alive.network[name].dpctl("dump-flows").splitlines()
        durations = [float(line.split("duration=")[1].split("s")[0]) for line in lines if "duration=" in line]
        assert min(durations) > time.monotonic() - began_s


def test_a_new_controller_waits_for_a_switch_that_lives_and_calls_late(er3_alive, faults):
    controller, vswitch = er3_alive.controller, er3_alive.network["s10"].vswitch
    plans = len(controller.replans)
    controller.stop()
    daemon = vswitch.processes[-1]
    daemon.send_signal(signal.SIGSTOP)  # as one whose call a busy controller did not answer in time
    try:
        er3_alive.restart_controller(QUIET)
        controller.wait_until_listening()
        time.sleep(4)
    finally:
        daemon.send_signal(signal.SIGCONT)
    controller.wait_until_in_charge()
    settle(0.5)
    controller.catch_up()
    assert [report.failed for report in controller.replans[plans:]] == []
    eventually(lambda: probe_all_pairs(er3_alive) == ([], 2))


def test_a_new_controller_takes_over_failures_that_happened_meanwhile(er3_alive, faults):
    link = er3_alive.options.topology.link_list[2]
    er3_alive.controller.stop()
    faults.fail(link_component(link))
    faults.fail(Component(ComponentKind.HANG, (4,)))
    er3_alive.restart_controller(QUIET)
    er3_alive.controller.wait_until_in_charge()
    planned(er3_alive, f"s{link.a + 1}-s{link.b + 1}", "s5")
    eventually_missing(er3_alive, pairs_of(er3_alive, 4))


@pytest.mark.tried_again
def test_a_restart_while_something_is_broken_costs_no_packet(er3_alive, faults):
    """The new controller finds the plan for what is left in the switches, and leaves it."""
    link = link_component(er3_alive.options.topology.link_list[4])
    faults.fail(link)
    planned(er3_alive, link.name.partition(":")[2])
    settle(0.2)
    restart = [Fault(0.3, CONTROLLER), Fault(0.5, CONTROLLER, restores=True)]
    sent, lost, _ = steady_probes(er3_alive, restart, 3.5, faults)
    assert (sent > 8_500, lost) == (True, 0)


def test_a_new_controller_leaves_others_rules_alone_mends_ours_and_says_so(er3_alive, faults):
    network = er3_alive.network
    er3_alive.controller.stop()
    foreign = "table=0,priority=999,cookie=0x77,in_port=77,actions=drop"
    network["s3"].dpctl("add-flow", f"'{foreign}'")
    network["s3"].dpctl("del-flows", "table=4,ip,nw_dst=10.0.8.0/24")
    broken = network["s3"].dpctl("dump-flows", "table=4")
    assert "nw_dst=10.0.8.0/24" not in broken
    er3_alive.restart_controller(QUIET)
    er3_alive.controller.wait_until_in_charge()
    assert "nw_dst=10.0.8.0/24" in network["s3"].dpctl("dump-flows", "table=4")
    assert "cookie=0x77" in network["s3"].dpctl("dump-flows", "table=0")
    assert any("s3 has 1 rules" in text for text in er3_alive.controller.warnings)
    network["s3"].dpctl("del-flows", "cookie=0x77/-1")


def test_a_link_that_a_dead_controller_held_is_given_back_by_the_next(er3_alive, faults):
    link = er3_alive.options.topology.link_list[8]
    flap_until_held(er3_alive, faults, link)
    er3_alive.controller.stop()
    settle(0.3)
    assert set_down(er3_alive, link)
    er3_alive.restart_controller(QUIET)
    er3_alive.controller.wait_until_in_charge()
    deadline = time.monotonic() + 5
    while set_down(er3_alive, link):
        assert time.monotonic() < deadline
        settle(0.05)
