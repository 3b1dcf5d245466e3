"""Names and addresses: they name router and host, differ, and have limits."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from support.builders.leaf_spine import LeafSpine

from topology.addressing import (
    Host,
    check_hosts,
    dpid,
    format_ip,
    format_mac,
    host_routers,
    hosts_of,
    interface_name,
    router_ip,
    switch_name,
    switch_router,
)
from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly


def fabric_of(routers: int) -> SimpleNamespace:
    return SimpleNamespace(
        routers=routers,
        address_number=lambda router: router,
        host_counts=lambda hosts_per_router: np.full(routers, hosts_per_router),
    )


@pytest.mark.parametrize(
    ("host", "name", "ip", "mac"),
    [
        (Host(0, 0, 0), "h1_1", "10.0.0.1", "02:00:0a:00:00:01"),
        (Host(2, 1, 2), "h3_2", "10.0.2.2", "02:00:0a:00:02:02"),
        (Host(300, 253, 300), "h301_254", "10.1.44.254", "02:00:0a:01:2c:fe"),
        (Host(7, 0, 0x1234), "h8_1", "10.18.52.1", "02:00:0a:12:34:01"),
        (Host(65535, 0, 65535), "h65536_1", "10.255.255.1", "02:00:0a:ff:ff:01"),
    ],
)
def test_name_and_addresses_name_router_and_host(host, name, ip, mac):
    assert host.name == name
    assert format_ip(host.ip) == ip
    assert format_mac(host.mac) == mac


def test_hosts_come_router_by_router():
    names = [host.name for host in hosts_of(PolarFly(2), 2)]
    assert names[:4] == ["h1_1", "h1_2", "h2_1", "h2_2"]
    assert len(names) == 14


def test_all_addresses_of_a_large_fabric_differ():
    hosts = hosts_of(PolarFly(32), 3)
    assert len({host.ip for host in hosts}) == len({host.mac for host in hosts}) == len(hosts)


def test_hosts_take_the_address_number_of_their_router():
    numbered = fabric_of(2)
    numbered.address_number = lambda router: 100 * router
    assert [format_ip(host.ip) for host in hosts_of(numbered, 1)] == ["10.0.0.1", "10.0.100.1"]


def test_a_router_shares_all_but_the_last_byte_with_its_hosts():
    assert format_ip(router_ip(0x1234)) == "10.18.52.0"


@pytest.mark.parametrize("count", [1, 254])
def test_possible_numbers_of_hosts(count):
    check_hosts(count)
    assert len(hosts_of(fabric_of(2), count)) == 2 * count


@pytest.mark.parametrize("count", [0, -1, 255])
def test_impossible_numbers_of_hosts_are_refused(count):
    with pytest.raises(ParameterError, match=f"^hosts .* 254, got {count}"):
        check_hosts(count)
    with pytest.raises(ParameterError, match="hosts per router"):
        hosts_of(fabric_of(2), count)


def test_more_routers_than_addresses_are_refused():
    assert len(hosts_of(fabric_of(65536), 1)) == 65536
    with pytest.raises(ParameterError, match=r"65535, got 65536\b"):
        hosts_of(fabric_of(65537), 1)


def test_names_of_switches():
    assert switch_name(2) == "s3"
    assert interface_name(2, 1) == "s3-eth1"
    assert dpid(2) == 3


@pytest.mark.parametrize("router", [0, 6])
def test_switch_router_reads_switch_names(router):
    assert switch_router(switch_name(router), 7) == router


@pytest.mark.parametrize("name", ["s0", "s8", "s01", "s-1", "h1", "s1_1", "s", "", "1", "S1", "s1 ", "s1\n"])
def test_other_switch_names_are_refused(name):
    with pytest.raises(ParameterError, match=re.escape(f"s1 to s7, got {name!r}")):
        switch_router(name, 7)


def test_hosts_are_where_the_topology_attaches_them():
    topology = LeafSpine(leaves=3, spines=2)
    names = [host.name for host in hosts_of(topology, 2)]
    assert names == ["h1_1", "h1_2", "h2_1", "h2_2", "h3_1", "h3_2"]
    assert host_routers(topology, 2).tolist() == [0, 0, 1, 1, 2, 2]
    assert topology.endpoints(2) == 6


def test_a_router_with_more_hosts_than_addresses_is_refused():
    class Crowded(LeafSpine):
        def host_counts(self, hosts_per_router):
            return 100 * super().host_counts(hosts_per_router)

    assert len(hosts_of(Crowded(), 2)) == 4 * 200
    with pytest.raises(ParameterError, match="1 to 254, got 300"):
        hosts_of(Crowded(), 3)
