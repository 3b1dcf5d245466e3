"""The controller's process with fake switches: installation, lost switches, refusals, takeovers."""

import os
import time

import pytest
from fake_switch import FakeSwitch

from controller.reports import Foreign, Installed, TakingOver
from experiments import controller_process
from experiments.controller_process import ControllerProcess
from routing.registry import make_plan
from topology.families.polarfly import PolarFly

PARAMS = {"q": 2}
GRAPH = PolarFly(**PARAMS)
PLAN = make_plan(GRAPH, 1, "min")
WAIT_S = 60  # of a busy machine; nothing waits so long otherwise


@pytest.fixture(scope="module")
def start_controller(tmp_path_factory):
    """Starts controllers one after another, all on the same address."""
    folder = tmp_path_factory.mktemp("controller")
    with pytest.MonkeyPatch.context() as patch:
        # Without the mark by which a fabric's clean-up finds, and kills, the processes of others.
        patch.setattr(controller_process, "marked_environment", os.environ.copy)

        def start():
            controller = ControllerProcess(
                "polarfly", PARAMS, 1, "min", f"unix:{folder}/socket", folder / "log"
            )
            controller.wait_until_listening()
            return controller

        start.path = folder / "socket"
        yield start


@pytest.fixture(scope="module")
def switches(start_controller):
    """The fabric's switches, by datapath id."""
    degrees = GRAPH.degrees.tolist()
    switches = {
        router + 1: FakeSwitch(start_controller.path, router + 1, degrees[router] + 1)
        for router in range(GRAPH.routers)
    }
    yield switches
    for switch in switches.values():
        switch.disconnect()


@pytest.fixture(scope="module")
def controller(start_controller, switches):
    """A controller that has installed its plan on all switches."""
    with start_controller() as controller:
        for switch in switches.values():
            switch.connect()
        controller.wait_until_installed(len(switches), lambda *_counts: None)
        yield controller


def eventually(controller, condition):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
        controller.catch_up()


def holds_plan(switch):
    plan = PLAN.switches[switch.datapath_id - 1]
    return (len(switch.rules), switch.groups.keys()) == (
        len(plan.rules),
        {group.number for group in plan.groups},
    )


def test_every_switch_gets_the_rules_and_groups_of_its_plan(controller, switches):
    assert all(holds_plan(switch) for switch in switches.values())
    assert controller.latest(Installed).switches == 7
    assert (controller.refusals, controller.warnings) == ([], [])


def test_a_lost_switch_is_planned_around_and_filled_when_it_is_back(controller, switches):
    lost = switches[1]
    ends = [end for link in GRAPH.link_list if 0 in (link.a, link.b) for end in (link.a, link.b)]
    neighbours = [switches[router + 1] for router in ends if router]
    known = len(controller.replans)
    lost.disconnect()
    eventually(controller, lambda: len(controller.replans) > known)
    assert controller.replans[known].failed == "s1"
    assert all(len(switch.ports_down) == 1 for switch in neighbours)
    lost.rules.clear()
    lost.groups.clear()
    lost.connect()
    assert controller.wait_until_whole(WAIT_S)
    eventually(controller, lambda: not any(switch.ports_down for switch in neighbours))
    assert all(holds_plan(switch) for switch in switches.values())


def test_a_switch_that_restarts_unnoticed_is_filled_again(controller, switches):
    switches[4].restart()
    eventually(controller, lambda: holds_plan(switches[4]))
    assert controller.wait_until_whole(WAIT_S)


def test_a_foreign_switch_gets_nothing(controller, start_controller):
    foreign = FakeSwitch(start_controller.path, 77, 3)
    foreign.connect()
    controller._wait_for(Foreign, timeout_s=WAIT_S)
    foreign.disconnect()
    assert foreign.changes == 0


def test_a_refused_rule_is_reported_with_its_switch_and_the_reason(controller, switches):
    switches[6].refuses_rules = True
    switches[6].restart()
    eventually(controller, lambda: controller.refusals)
    assert all(text in controller.refusals[0] for text in ("s6 ", "TABLE_FULL", "Rule(table="))
    switches[6].refuses_rules = False
    switches[6].restart()
    eventually(controller, lambda: holds_plan(switches[6]))
    assert controller.wait_until_whole(WAIT_S)


def test_the_next_controller_takes_over_without_a_change(start_controller, switches, controller):
    controller.stop()
    for switch in switches.values():
        switch.disconnect()
    with start_controller() as second:
        for switch in switches.values():
            switch.connect()
        second._wait_for(TakingOver, timeout_s=WAIT_S)
        second._wait_for(Installed, timeout_s=WAIT_S)
        assert second.replans == []
        assert [switch.changes for switch in switches.values()] == [0] * 7
