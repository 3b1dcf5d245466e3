"""Real switches under each controller framework; `make test-frameworks` runs all tests under each."""

from dataclasses import replace
from pathlib import Path

import pytest
from conftest import QUIET, eventually, eventually_missing, fabric_options, probe_all_pairs, settle

from controller.openflow.frameworks import FRAMEWORKS
from emulation.fault_injection import FaultInjector
from experiments.live_fabric import controlled, prepared_network
from experiments.measurement import measure
from experiments.pair_check import check_all_pairs
from experiments.spec.traffic import TrafficOptions
from topology.faults import link_component

pytestmark = pytest.mark.usefixtures("no_leftovers")

# The least that congests ER_3: three hosts a router, and slow links.
OPTIONS = fabric_options("polarfly", {"q": 3}, hosts=3)
OPTIONS = replace(OPTIONS, links=replace(OPTIONS.links, rate_bps=500_000, queue_packets=32))
PERMUTATION = TrafficOptions("random-permutation", 0.6, 1000, 64, 1.0, 2.0, seed=1)


# With the first framework, which is that of all other tests, they show what others do: of lost links,
# test_fault_campaign, of congested ones, test_detours, and of the next controller, test_fault_campaign.
each_other_framework = pytest.mark.parametrize(
    "framework",
    [pytest.param(name, marks=pytest.mark.slow) if name == "os-ken" else name for name in FRAMEWORKS],
    indirect=True,
)


@pytest.fixture(scope="module")
def framework(request):
    """A framework, if it is installed."""
    if not FRAMEWORKS[request.param].installed:
        pytest.skip(f"{request.param} is not installed")
    return request.param


@pytest.fixture(scope="module")
def network():
    """A network for one controller after another."""
    with prepared_network(OPTIONS, QUIET) as prepared:
        prepared.build()
        prepared.start()
        yield prepared


@pytest.fixture
def faults(network):
    """Injects faults into the network; what a failed test left broken is mended for the next one."""
    injector = FaultInjector(network)
    yield injector
    injector.restore_all()


def other_than(framework):
    """Returns the other framework, or skips the test where only one is installed."""
    [other] = FRAMEWORKS.keys() - {framework}
    if not FRAMEWORKS[other].installed:
        pytest.skip(f"{other} is not installed")
    return other


@each_other_framework
@pytest.mark.tried_again
def test_a_lost_link_is_planned_around_and_its_return_noticed(network, framework, faults):
    link = OPTIONS.topology.link_list[3]
    with controlled(replace(OPTIONS, framework=framework), network, QUIET) as fabric:
        words = Path(f"/proc/{fabric.controller.pid}/cmdline").read_text().split("\0")
        assert (fabric.framework, framework in words) == (framework, True)
        assert check_all_pairs(fabric, QUIET).delivered == 39 * 38
        faults.fail(link_component(link))
        replanned = fabric.controller.wait_for_plan(lambda failed: failed != "none", 10)
        assert (replanned.failed, replanned.cut_off_pairs) == (f"s{link.a + 1}-s{link.b + 1}", 0)
        eventually_missing(fabric)
        faults.restore(link_component(link))
        assert fabric.controller.wait_until_recovered(20)
        eventually(lambda: probe_all_pairs(fabric) == ([], 2))
        assert not fabric.controller.warnings
        assert not fabric.controller.refusals


@pytest.mark.parametrize("framework", FRAMEWORKS, indirect=True)
@pytest.mark.tried_again
def test_a_switch_with_1_3_and_1_4_speaks_1_3(network, framework):
    """Both ends list their versions; without the controller's list, the switch would speak 1.4."""
    switch = network.switches[1]
    vsctl = f"ovs-vsctl --db=unix:{network.run_dir}/{switch.name}.sock"
    with controlled(replace(OPTIONS, framework=framework), network, QUIET) as fabric:
        rules = len(switch.dpctl("dump-flows").splitlines())
        switch.cmd(f"{vsctl} del-controller {switch.name}")
        switch.cmd(f"{vsctl} set bridge {switch.name} protocols=OpenFlow13,OpenFlow14")
        try:
            switch.dpctl("del-flows")
            switch.cmd(f"{vsctl} set-controller {switch.name} {network.controller_target}")
            eventually(lambda: len(switch.dpctl("dump-flows").splitlines()) == rules)
            eventually(lambda: probe_all_pairs(fabric) == ([], 2))
            assert not fabric.controller.warnings
        finally:
            switch.cmd(f"{vsctl} set bridge {switch.name} protocols=OpenFlow13,OpenFlow15")


@each_other_framework
@pytest.mark.slow
@pytest.mark.tried_again
def test_traffic_moves_to_detours_where_links_are_congested_and_back(network, framework):
    with controlled(replace(OPTIONS, routing="ugal-pf", framework=framework), network, QUIET) as fabric:
        check = check_all_pairs(fabric, QUIET)
        summary = measure(fabric, PERMUTATION, check, QUIET).summary
        assert summary.adaptation.groups_modified > 0
        assert summary.adaptation.warnings == ()
        assert set(summary.hops) > {1, 2}
        fabric.reset()
        assert check_all_pairs(fabric, QUIET).longest == 2
    assert framework in summary.versions


@each_other_framework
@pytest.mark.tried_again
def test_a_controller_of_the_other_framework_takes_over_without_a_change(network, framework):
    """Both know rules and groups by the same fingerprints; and the switches forward meanwhile."""
    with controlled(replace(OPTIONS, framework=framework), network, QUIET) as fabric:
        before = [sorted(switch.dpctl("dump-groups").splitlines()[1:]) for switch in network.switches]
        fabric.controller.stop()
        assert probe_all_pairs(fabric) == ([], 2)
        fabric.controller.framework = other_than(framework)
        fabric.restart_controller(QUIET)
        fabric.controller.wait_until_in_charge()
        settle(0.2)
        fabric.controller.catch_up()
        assert not fabric.controller.replans
        assert not fabric.controller.refusals
        after = [sorted(switch.dpctl("dump-groups").splitlines()[1:]) for switch in network.switches]
        assert after == before
        assert probe_all_pairs(fabric) == ([], 2)
