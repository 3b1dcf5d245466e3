"""Links and switches that die under real packets while no controller is there to help."""

import dataclasses

import pytest
from conftest import QUIET, er_options, probe_all_pairs, settle

from emulation.fault_injection import FaultInjector
from experiments.live_fabric import live_fabric
from topology.addressing import interface_name
from topology.faults import link_element

pytestmark = pytest.mark.usefixtures("no_leftovers")

MOST_HOPS = {"min": 5, "ugal-pf": 7}


def test_without_local_repair_only_the_controller_repairs():
    with live_fabric(dataclasses.replace(er_options(2), local_repair=False), QUIET) as fabric:
        faults = FaultInjector(fabric.network)
        link = fabric.options.topology.link_list[0]
        faults.fail(link_element(link))
        assert fabric.controller.wait_for_plan(lambda failed: failed != "none", 10)
        assert probe_all_pairs(fabric)[0] == []
        fabric.controller.stop()
        faults.restore_all()
        settle(0.1)
        faults.fail(link_element(fabric.options.topology.link_list[1]))
        settle(0.1)
        assert probe_all_pairs(fabric)[0] != []


@pytest.fixture(
    scope="module", params=[(3, "min"), (4, "min"), (3, "ugal-pf")], ids=lambda p: f"ER_{p[0]}-{p[1]}"
)
def orphaned(request):
    """A fabric whose controller is gone; up while tests of it follow one another."""
    q, routing = request.param
    with live_fabric(er_options(q, routing), QUIET) as fabric:
        fabric.controller.stop()
        yield fabric


def test_every_pair_goes_on_whichever_link_dies(orphaned):
    faults = FaultInjector(orphaned.network)
    bound = MOST_HOPS[orphaned.options.routing]
    topology = orphaned.options.topology
    # The proof walks every link of every fabric; packets try each only once, and some of the others.
    every = orphaned.options.routing == "min" and topology.routers <= 13
    for link in topology.link_list[:: 1 if every else 10]:
        element = link_element(link)
        faults.fail(element)
        settle(0.05)
        missing, hops = probe_all_pairs(orphaned)
        assert missing == [], element.name
        assert 2 < hops <= bound, element.name
        faults.restore(element)
        settle(0.05)
    assert probe_all_pairs(orphaned) == ([], 2)


def test_every_surviving_pair_goes_on_whichever_switch_loses_its_links(orphaned):
    """To its neighbours that is what a switch without power is; its rules stay, as nobody would fill it."""
    topology, network = orphaned.options.topology, orphaned.network
    few = topology.routers > 13 or orphaned.options.routing != "min"
    for router in range(0, topology.routers, 7 if few else 1):
        ports = range(1, 1 + int(topology.degrees[router]))
        names = [interface_name(router, port) for port in ports]
        network.set_interfaces(router, names, "down")
        settle(0.1)
        missing, hops = probe_all_pairs(orphaned)
        dead = f"h{router + 1}_1"
        assert {pair for pair in missing if dead not in pair} == set(), dead
        assert len(missing) == 2 * (len(orphaned.hosts) - 1)
        assert hops <= MOST_HOPS[orphaned.options.routing]
        network.set_interfaces(router, names, "up")
        settle(0.1)
