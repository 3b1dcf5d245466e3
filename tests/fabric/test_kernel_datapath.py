"""Fabrics on the kernel's own Open vSwitch datapath; `make vm-test` runs them in a machine that has one."""

import pytest
from conftest import PATIENCE, QUIET, er_options, needs_kernel_datapath, probe_all_pairs

from emulation.fault_injection import FaultInjector
from emulation.subprocesses import run
from experiments.live_fabric import live_fabric
from topology.faults import Component, ComponentKind, link_component

WAIT_S = 10 * PATIENCE

pytestmark = needs_kernel_datapath


@pytest.fixture(params=[2, 3], ids=lambda q: f"ER_{q}", scope="module")
def fabric(request):
    with live_fabric(er_options(request.param, hosts=2), QUIET) as up:
        assert up.datapath == "kernel"
        yield up


def datapath(network, switch, command):
    """Returns what `ovs-dpctl` says in a switch's namespace."""
    return run(["ovs-dpctl", command, "ovs-system"], begin=network[switch].start_program)


def test_all_pairs_exchange_probes_over_the_graphs_distances(fabric):
    assert probe_all_pairs(fabric) == ([], 2)


def test_every_switch_has_a_datapath_of_its_own_that_forwards_in_the_kernel(fabric):
    probe_all_pairs(fabric)
    for switch in fabric.network.switches:
        said = datapath(fabric.network, switch.name, "show")
        assert said.startswith("system@ovs-system:")
        ports = [name for name in switch.intfNames() if name != "lo"]
        assert all(f": {name}" in said for name in ports)
        assert "actions:" in datapath(fabric.network, switch.name, "dump-flows")


@pytest.mark.tried_again  # the kernel forwards by its cache until the switch's program has had its turn
def test_a_dead_link_is_gone_around_and_taken_again(fabric):
    faults = FaultInjector(fabric.network)
    component = link_component(fabric.options.topology.link_list[0])
    faults.fail(component)
    assert fabric.controller.wait_for_plan(lambda failed: component.location in failed, WAIT_S)
    missing, hops = probe_all_pairs(fabric)
    assert missing == []
    assert hops > 2
    faults.restore(component)
    assert fabric.controller.wait_until_recovered(WAIT_S)
    assert probe_all_pairs(fabric) == ([], 2)


def test_a_switch_without_power_has_no_datapath_and_is_filled_again(fabric):
    faults, component = FaultInjector(fabric.network), Component(ComponentKind.SWITCH, (2,))
    faults.fail(component)
    assert fabric.controller.wait_for_plan(lambda failed: failed == component.location, WAIT_S)
    dumped = run(["ovs-dpctl", "dump-dps"], begin=fabric.network["s3"].start_program)
    assert "ovs-system" not in dumped
    missing, _ = probe_all_pairs(fabric)
    assert {pair for pair in missing if not any(name.startswith("h3_") for name in pair)} == set()
    faults.restore(component)
    assert fabric.controller.wait_until_recovered(WAIT_S)
    assert probe_all_pairs(fabric) == ([], 2)
