"""The controller's process with fake switches: installation, lost switches, refusals, takeovers."""

import os
import time
import warnings

import pytest
from fake_switch import OPENFLOW_13, OPENFLOW_15, FakeSwitch

from controller.openflow.frameworks import FRAMEWORKS
from controller.reports import Foreign, Installed, TakingOver
from experiments import controller_process
from experiments.controller_process import ControllerProcess
from routing.plan.digest import plan_digest
from routing.plan.model import COOKIE_MARK, Table
from routing.registry import make_plan
from topology.families.low_diameter.polarfly import PolarFly

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Ryu's flags use a deprecated class for versions
    from controller.openflow.codec import fingerprint

PARAMS = {"q": 2}
GRAPH = PolarFly(**PARAMS)
PLAN = make_plan(GRAPH, 1, "min")
COOKIES = {
    switch.router + 1: {COOKIE_MARK | fingerprint(r) for r in switch.rules} for switch in PLAN.switches
}
GROUPS = {switch.router + 1: {group.number for group in switch.groups} for switch in PLAN.switches}
WAIT_S = 60  # of a busy machine; nothing waits so long otherwise


class Fabric:
    """Fake switches and the controllers that serve them, one after another."""

    def __init__(self, folder, framework, version):
        self.folder = folder
        self.framework = framework
        self.path = folder / "socket"
        degrees = GRAPH.degrees.tolist()
        self.switches = {
            r + 1: FakeSwitch(self.path, r + 1, degrees[r] + 1, version) for r in range(GRAPH.routers)
        }
        self.controller = None

    def start(self):
        """Starts a controller, to which all switches connect."""
        log = self.folder / "log"
        listen = ("polarfly", PARAMS, 1, "min", f"unix:{self.path}", log)
        self.controller = ControllerProcess(*listen, framework=self.framework)
        self.controller.wait_until_listening()
        for switch in self.switches.values():
            switch.connect()
        return self.controller

    def stop(self):
        self.controller.stop()
        for switch in self.switches.values():
            switch.disconnect()

    def eventually(self, condition):
        deadline = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.01)
            self.controller.catch_up()

    def neighbours(self, datapath_id):
        links = [(link.a + 1, link.b + 1) for link in GRAPH.link_list]
        return [self.switches[a + b - datapath_id] for a, b in links if datapath_id in (a, b)]


def holds_plan(switch):
    """Whether a switch holds the rules and groups of its plan and nothing else."""
    number = switch.datapath_id
    return (set(switch.rules.values()), switch.groups.keys()) == (COOKIES[number], GROUPS[number])


SPOKEN = [("ryu", OPENFLOW_15), ("os-ken", OPENFLOW_15), ("os-ken", OPENFLOW_13)]


@pytest.fixture(scope="module", params=SPOKEN, ids=str)
def framework(request):
    """Each framework that is installed, with switches of both versions of OpenFlow."""
    if not FRAMEWORKS[request.param[0]].installed:
        pytest.skip(f"{request.param[0]} is not installed")
    return request.param


@pytest.fixture(scope="module")
def make_fabric(tmp_path_factory, framework):
    made = []

    def make():
        made.append(Fabric(tmp_path_factory.mktemp("fabric"), *framework))
        made[-1].start().wait_until_installed(GRAPH.routers, lambda *_counts: None)
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        # Without the mark by which a fabric's clean-up finds, and kills, the processes of others.
        patch.setattr(controller_process, "marked_environment", lambda extra: os.environ | extra)
        yield make
        for fabric in made:
            fabric.stop()


@pytest.fixture(scope="module")
def shared(make_fabric):
    return make_fabric()


def test_every_switch_gets_the_rules_and_groups_of_its_plan(shared):
    assert shared.controller.latest(Installed).switches == 7
    shared.controller.check_plan(plan_digest(PLAN))
    assert all(holds_plan(switch) for switch in shared.switches.values())


def test_a_lost_switch_is_planned_around_and_filled_when_it_is_back(shared):
    lost, replans = shared.switches[1], shared.controller.replans
    known = len(replans)
    lost.disconnect()
    shared.eventually(lambda: len(replans) > known)
    assert replans[known].failed == "s1"
    shared.eventually(lambda: all(len(switch.ports_down) == 1 for switch in shared.neighbours(1)))
    lost.rules.clear()
    lost.groups.clear()
    lost.connect()
    shared.eventually(lambda: all(holds_plan(switch) for switch in shared.switches.values()))
    shared.eventually(lambda: not any(switch.ports_down for switch in shared.switches.values()))


def test_a_switch_that_restarts_unnoticed_is_filled_again(shared):
    shared.switches[4].restart()
    shared.eventually(lambda: holds_plan(shared.switches[4]))


def test_a_foreign_switch_gets_nothing(shared):
    foreign = FakeSwitch(shared.path, 77, 3)
    foreign.connect()
    shared.controller._wait_for(Foreign, timeout_s=WAIT_S)
    foreign.disconnect()
    assert foreign.changes == 0


def test_a_refused_rule_is_reported_with_its_switch_and_the_reason(shared):
    stubborn = shared.switches[6]
    stubborn.refuses_rules = True
    stubborn.restart()
    shared.eventually(lambda: shared.controller.refusals)
    assert all(text in shared.controller.refusals[0] for text in ("s6 ", "TABLE_FULL", "Rule(table="))
    stubborn.refuses_rules = False
    stubborn.restart()
    shared.eventually(lambda: holds_plan(stubborn))


def test_the_next_controller_takes_over_without_a_change(make_fabric):
    fabric = make_fabric()
    fabric.stop()
    second = fabric.start()
    second._wait_for(TakingOver, timeout_s=WAIT_S)
    second._wait_for(Installed, timeout_s=WAIT_S)
    assert (second.replans, second.warnings, second.refusals) == ([], [], [])
    assert [switch.changes for switch in fabric.switches.values()] == [0] * 7


def test_the_next_controller_mends_rules_leaves_foreign_ones_and_frees_ports(make_fabric):
    """The controller before it died while a switch was lost and its neighbours' ports were down."""
    fabric = make_fabric()
    fabric.switches[1].disconnect()
    fabric.eventually(lambda: all(switch.ports_down for switch in fabric.neighbours(1)))
    fabric.stop()
    foreign = (0, 999, b"match of another program")
    fabric.switches[3].rules[foreign] = 0x77
    mended = fabric.switches[5]
    mended.rules.pop(next(key for key in mended.rules if key[0] == Table.MINIMAL))
    second = fabric.start()
    fabric.eventually(lambda: second.warnings)
    fabric.eventually(lambda: not any(switch.ports_down for switch in fabric.switches.values()))
    assert "s3 " in second.warnings[0]
    assert fabric.switches[3].rules[foreign] == 0x77
    del fabric.switches[3].rules[foreign]
    fabric.eventually(lambda: all(holds_plan(switch) for switch in fabric.switches.values()))
