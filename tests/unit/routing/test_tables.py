"""The rules that all routings share, on an in-memory switch: ARP, spoofing, tags, delivery."""

import pytest

from routing.algorithms.minimal import minimal_plan
from routing.plan.tables import tag_of
from routing.verification.switch_model import SwitchModel
from topology.addressing import Host
from topology.families.low_diameter.polarfly import PolarFly

ER_3 = PolarFly(3)
PLAN = minimal_plan(ER_3, 2)
ROUTER = 4
SWITCH = SwitchModel(PLAN.switches[ROUTER])
OWN, SIBLING = Host(ROUTER, 0, ROUTER), Host(ROUTER, 1, ROUTER)
PORT = ER_3.host_port(ROUTER, 0)
NEIGHBOUR = int(ER_3.neighbours(ROUTER)[0])
FAR = next(d for d in range(13) if ER_3.distances(ROUTER, d) == 2)
BROADCAST = (1 << 48) - 1
IPV4, ARP, IPV6, VLAN_7 = 0x0800, 0x0806, 0x86DD, 0x1007


def host(router: int, index: int = 0) -> Host:
    return Host(router, index, router)


def ipv4(source: Host, destination: Host, **changes: int) -> dict[str, int]:
    """Returns an IPv4 packet as its source sends it, at the first host port."""
    packet = {
        "in_port": PORT,
        "eth_type": IPV4,
        "eth_src": source.mac,
        "eth_dst": destination.mac,
        "vlan_vid": 0,
        "ipv4_src": source.ip,
        "ipv4_dst": destination.ip,
        "ip_dscp": 0,
        "ip_ttl": 64,
    }
    return packet | changes


def arp(asked: int, **changes: int) -> dict[str, int]:
    """Returns a request of the first host for the MAC address behind an IP address."""
    packet = {
        "in_port": PORT,
        "eth_type": ARP,
        "eth_src": OWN.mac,
        "eth_dst": BROADCAST,
        "vlan_vid": 0,
        "arp_op": 1,
        "arp_sha": OWN.mac,
        "arp_spa": OWN.ip,
        "arp_tha": 0,
        "arp_tpa": asked,
    }
    return packet | changes


def sent(packet: dict[str, int]) -> tuple[int, dict[str, int]] | None:
    """Returns the port and the packet that leave the switch; None where the packet is dropped."""
    [outcome] = SWITCH.process(packet, frozenset())
    assert len(outcome) <= 1
    return (outcome[0].port, outcome[0].packet) if outcome else None


# ---- what hosts may send ----


def test_a_hosts_own_packet_leaves_toward_its_destination():
    hop = int(ER_3.next_hops(ROUTER, FAR))
    port, packet = sent(ipv4(OWN, host(FAR)))
    assert port == ER_3.ports_toward(ROUTER, hop)
    # The ingress port is cleared: an alternate may lead back there.
    assert packet == ipv4(OWN, host(FAR), ip_ttl=63, in_port=0)


def test_a_packet_for_a_host_of_the_same_router_is_delivered_unchanged():
    assert sent(ipv4(OWN, SIBLING)) == (PORT + 1, ipv4(OWN, SIBLING))


@pytest.mark.parametrize(
    "packet",
    [
        ipv4(OWN, host(FAR), ipv4_src=SIBLING.ip),
        ipv4(OWN, host(FAR), ipv4_src=host(FAR).ip),
        ipv4(OWN, host(FAR), eth_src=SIBLING.mac),
        ipv4(OWN, host(FAR), eth_src=OWN.mac ^ 1),
        ipv4(OWN, host(FAR), in_port=PORT + 1),
        ipv4(OWN, host(FAR), vlan_vid=VLAN_7),
        ipv4(OWN, host(FAR), vlan_vid=0x1000),
        ipv4(OWN, host(FAR), vlan_vid=tag_of(ROUTER)),
        {"in_port": PORT, "eth_type": IPV6, "eth_src": OWN.mac, "eth_dst": BROADCAST, "vlan_vid": 0},
        ipv4(OWN, Host(40, 0, 40)),
        ipv4(OWN, host(FAR), ipv4_dst=0x08080808),
        ipv4(OWN, host(FAR), in_port=99),
    ],
    ids=[
        "IP of the sibling",
        "IP of another router's host",
        "MAC of the sibling",
        "other MAC",
        "port of the sibling",
        "VLAN tag",
        "priority tag",
        "the switch's own tag",
        "IPv6",
        "to a router that does not exist",
        "to an address outside",
        "port that does not exist",
    ],
)
def test_everything_else_from_a_host_is_dropped(packet):
    assert sent(packet) is None


@pytest.mark.parametrize("index", [0, 1])
def test_the_drop_of_spoofed_packets_is_counted_by_a_rule_of_the_port(index):
    packet = ipv4(host(FAR), OWN, in_port=PORT + index)
    rule = SWITCH.rule_for(0, packet)
    assert {field.field: field.value for field in rule.match} == {"in_port": PORT + index}
    assert (rule.actions, rule.goto) == ((), None)


# ---- ARP ----


@pytest.mark.parametrize(
    "asked", [SIBLING, host(FAR), host(NEIGHBOUR, 1), Host(0x1234, 253, 0x1234)], ids=lambda h: h.name
)
def test_arp_request_is_answered_by_the_switch(asked):
    port, reply = sent(arp(asked.ip))
    assert port == PORT
    assert reply["arp_op"] == 2
    assert reply["eth_type"] == ARP
    assert reply["vlan_vid"] == 0
    assert (reply["eth_src"], reply["eth_dst"]) == (asked.mac, OWN.mac)
    assert (reply["arp_sha"], reply["arp_spa"]) == (asked.mac, asked.ip)
    assert (reply["arp_tha"], reply["arp_tpa"]) == (OWN.mac, OWN.ip)


def test_arp_request_to_the_asked_host_alone_is_answered_too():
    port, reply = sent(arp(host(FAR).ip, eth_dst=host(FAR).mac))
    assert (port, reply["eth_dst"], reply["eth_src"]) == (PORT, OWN.mac, host(FAR).mac)


@pytest.mark.parametrize(
    "packet",
    [
        arp(OWN.ip),
        arp(OWN.ip, arp_spa=0),
        arp(SIBLING.ip, arp_spa=0),
        arp(host(FAR).ip, arp_spa=SIBLING.ip),
        arp(host(FAR).ip, arp_sha=SIBLING.mac),
        arp(host(FAR).ip, eth_src=SIBLING.mac),
        arp(host(FAR).ip, vlan_vid=VLAN_7),
        arp(host(FAR).ip, arp_op=2),
        arp(0xC0A80001),
    ],
    ids=[
        "gratuitous",
        "probe of its own address",
        "probe of another's address",
        "spoofed protocol address",
        "spoofed hardware address",
        "spoofed MAC",
        "VLAN tag",
        "reply",
        "address outside",
    ],
)
def test_other_arp_is_dropped(packet):
    assert sent(packet) is None


# ---- packets from other switches ----


def from_fabric(destination: Host, **changes: int) -> dict[str, int]:
    return ipv4(host(NEIGHBOUR), destination, in_port=1, **changes)


@pytest.mark.parametrize("index", [0, 1])
def test_transit_packet_for_an_own_host_is_delivered_unchanged(index):
    packet = from_fabric(host(ROUTER, index))
    assert sent(packet) == (PORT + index, packet)


def test_transit_packet_for_another_router_goes_on():
    destination = int(ER_3.neighbours(ROUTER)[1])
    port, packet = sent(from_fabric(host(destination)))
    assert port == ER_3.ports_toward(ROUTER, destination)
    assert packet["ip_ttl"] == 63


def test_own_tag_is_popped_before_delivery():
    tagged = from_fabric(OWN, vlan_vid=tag_of(ROUTER))
    assert sent(tagged) == (PORT, from_fabric(OWN))


def test_own_tag_is_popped_on_the_way_to_another_router():
    hop = int(ER_3.next_hops(ROUTER, FAR))
    in_port = 1 if hop != NEIGHBOUR else 2
    tagged = ipv4(host(NEIGHBOUR), host(FAR), in_port=in_port, vlan_vid=tag_of(ROUTER))
    port, packet = sent(tagged)
    assert port == ER_3.ports_toward(ROUTER, hop)
    assert packet["vlan_vid"] == 0


def test_a_tag_of_another_router_leads_on_toward_it():
    port, packet = sent(from_fabric(OWN, vlan_vid=tag_of(FAR)))
    assert port == ER_3.ports_toward(ROUTER, int(ER_3.next_hops(ROUTER, FAR)))
    assert packet["vlan_vid"] == tag_of(FAR)


def test_tags_are_the_routers_index_plus_one():
    assert tag_of(0) == 0x1001
    assert tag_of(ROUTER) == 0x1005
