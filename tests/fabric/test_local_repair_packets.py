"""Links and switches that die under real packets while no controller is there to help."""

import dataclasses
import itertools

import pytest
from conftest import QUIET, er_options, eventually, eventually_missing, probe_all_pairs, settle

from emulation.fault_injection import FaultInjector
from experiments.live_fabric import live_fabric
from topology.addressing import interface_name
from topology.faults import link_component

pytestmark = pytest.mark.usefixtures("no_leftovers")

MAX_HOPS = {"min": 5, "ugal-pf": 7}


def test_without_local_repair_only_the_controller_repairs():
    with live_fabric(dataclasses.replace(er_options(2), local_repair=False), QUIET) as fabric:
        faults = FaultInjector(fabric.network)
        link = fabric.options.topology.link_list[0]
        faults.fail(link_component(link))
        assert fabric.controller.wait_for_plan(lambda failed: failed != "none", 10)
        assert probe_all_pairs(fabric)[0] == []
        fabric.controller.stop()
        faults.restore_all()
        settle(0.1)
        faults.fail(link_component(fabric.options.topology.link_list[1]))
        settle(0.1)
        assert probe_all_pairs(fabric)[0] != []


ORPHANS = pytest.mark.parametrize(
    "every_link",
    [
        pytest.param(True, marks=pytest.mark.shared_fabric("er3_alive"), id="ER_3-min"),
        pytest.param(False, marks=[pytest.mark.slow, pytest.mark.shared_fabric("er4")], id="ER_4-min"),
        pytest.param(False, marks=pytest.mark.shared_fabric("adaptive_er3"), id="ER_3-ugal-pf"),
    ],
)


@pytest.mark.spoils_fabric
@ORPHANS
def test_every_pair_goes_on_whichever_link_dies(orphaned, every_link):
    faults = FaultInjector(orphaned.network)
    bound = MAX_HOPS[orphaned.options.routing]
    # The proof walks every link of every fabric; packets try each only once, and some of the others.
    for link in orphaned.options.topology.link_list[:: 1 if every_link else 10]:
        component = link_component(link)
        faults.fail(component)
        hops = eventually_missing(orphaned)
        assert 2 < hops <= bound, component.name
        faults.restore(component)
    eventually(lambda: probe_all_pairs(orphaned) == ([], 2))


@pytest.mark.spoils_fabric
@ORPHANS
def test_every_surviving_pair_goes_on_whichever_switch_loses_its_links(orphaned, every_link):
    """To its neighbours that is what a switch without power is; its rules stay, as nobody would fill it."""
    topology, network = orphaned.options.topology, orphaned.network
    hosts = [host.name for host in orphaned.hosts]
    for router in range(0, topology.routers, 1 if every_link else 7):
        ports = range(1, 1 + int(topology.degrees[router]))
        names = [interface_name(router, port) for port in ports]
        network.set_interfaces(router, names, "down")
        dead = f"h{router + 1}_1"
        cut_off = {pair for pair in itertools.permutations(hosts, 2) if dead in pair}
        assert eventually_missing(orphaned, cut_off) <= MAX_HOPS[orphaned.options.routing]
        network.set_interfaces(router, names, "up")
