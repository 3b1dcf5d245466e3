"""A fabric whose port numbers are in no order, have gaps, and mix links with hosts."""

import json
from dataclasses import replace

import pytest
from conftest import QUIET, er_options, eventually, eventually_missing, probe_all_pairs
from support.builders.port_tables import with_shuffled_ports

from emulation.fault_injection import FaultInjector
from experiments.live_fabric import live_fabric
from experiments.pair_check import check_all_pairs
from topology.addressing import interface_name
from topology.faults import link_component

pytestmark = pytest.mark.usefixtures("no_leftovers")


def test_a_fabric_with_given_ports_comes_up_and_repairs_a_failed_link():
    options = er_options(3, "ugal-pf", hosts=2)
    topology = with_shuffled_ports(options.topology, 2)
    with live_fabric(replace(options, topology=topology), QUIET) as fabric:
        check = check_all_pairs(fabric, QUIET)
        assert check.pairs == check.delivered == 26 * 25
        assert check.wrong_hops == 0
        shown = json.loads(fabric.network["s1"].cmd("tc -json qdisc show"))
        links, hosts = topology.router_ports(0, 2)
        assert {one["dev"] for one in shown if one["kind"] == "tbf"} == {
            interface_name(0, port) for port in (*links, *hosts)
        }
        faults = FaultInjector(fabric.network)
        link = link_component(topology.link_list[0])
        faults.fail(link)
        assert fabric.controller.wait_for_plan(lambda failed: failed == link.location, 10)
        assert eventually_missing(fabric) <= 4
        faults.restore(link)
        eventually(lambda: probe_all_pairs(fabric) == ([], 2))
