"""The rules of a switch that all routings share: ingress checks, ARP, tags and delivery.

    table 0  ingress   host port: source addresses must be that host's, else drop; fabric port: to table 2
    table 1  source    ARP answered; packets to local hosts delivered; the routing defines other rules
    table 2  transit   no tag: to table 4; own tag: popped, to table 3 or 4; other tags: to the tag's group
    table 3  after tag some routings: packets whose tag has been popped continue to groups of the routing;
                       marked packets, and packets without such a group, to table 4
    table 4  minimal   packets to local hosts delivered; marked ones to table 5; others to protected groups
    table 5  marked    rerouted packets: out of the minimal port, without any alternate

If the routing defines no rules for table 3, it is empty, and packets with a popped tag go directly to table
4. `routing.plan.forwarding` assigns the groups of tables 2 to 5.

A host may send packets with its own MAC and IP address and without a VLAN tag: IPv4 to one address of the
fabric, or ARP requests. Other packets are dropped by one of two rules of its port, in tables 0 and 1, which
count them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from routing.plan.model import (
    ETH_TYPE_ARP,
    ETH_TYPE_IPV4,
    NO_VLAN,
    PORT_INGRESS,
    REROUTED_DSCP,
    VLAN_PRESENT,
    CopyBits,
    LoadBits,
    Match,
    Output,
    PopVlan,
    Rule,
    SetField,
    Table,
    match,
)
from topology.addressing import MAC_PREFIX, NETWORK, ROUTER_MASK, Host, router_ip
from topology.base import Topology

PRIORITY_EXCEPTION = 300
PRIORITY_HOST = 200
PRIORITY_MARKED = 150
PRIORITY_UNDETOURED = 150  # source table: destinations whose packets temporarily take minimal paths
PRIORITY_ROUTER = 100
PRIORITY_BLOCK = 50  # for blocks of routers
PRIORITY_DROP = 1

ARP_REQUEST, ARP_REPLY = 1, 2
MAX_TAGS = 4094  # VLAN ids 1 to 4094, one per router
NETWORK_MASK = 0xFF000000
TO_ANY_HOST = match(eth_type=ETH_TYPE_IPV4, ipv4_dst=(NETWORK, NETWORK_MASK))
_UNTAGGED = Rule(Table.TRANSIT, PRIORITY_ROUTER, match(vlan_vid=NO_VLAN), goto=Table.MINIMAL)
_MARKED = Rule(
    Table.MINIMAL,
    PRIORITY_MARKED,
    match(eth_type=ETH_TYPE_IPV4, ip_dscp=REROUTED_DSCP),
    goto=Table.MARKED,
)
# Packets whose tag has been popped continue minimally if they were rerouted or have no group of the routing.
_AFTER_TAG = (
    Rule(
        Table.AFTER_TAG,
        PRIORITY_MARKED,
        match(eth_type=ETH_TYPE_IPV4, ip_dscp=REROUTED_DSCP),
        goto=Table.MINIMAL,
    ),
    Rule(Table.AFTER_TAG, PRIORITY_BLOCK, TO_ANY_HOST, goto=Table.MINIMAL),
)
# The upper two bytes of every host's MAC address.
_ANY_HOST = (MAC_PREFIX << 32, 0xFFFF << 32)


def shared_rules(
    topology: Topology,
    router: int,
    hosts: tuple[Host, ...],
    *,
    tag: bool = True,
    after_tag: bool = False,
    marks: bool = True,
) -> Iterator[Rule]:
    """Yields the rules of one switch that do not depend on the routing.

    Args:
        topology: the fabric's graph.
        router: the switch's router.
        hosts: the hosts of that router; none for a router that only forwards.
        tag: whether any packet may carry a tag that names this router.
        after_tag: whether the routing has rules of table AFTER_TAG for packets that carried such a tag.
        marks: whether any packet may be marked as rerouted.
    """
    yield from _ingress(topology, router, hosts)
    yield _arp_responder()
    yield _UNTAGGED
    if tag:
        own_tag = match(vlan_vid=tag_of(router))
        goto = Table.AFTER_TAG if after_tag else Table.MINIMAL
        yield Rule(Table.TRANSIT, PRIORITY_HOST, own_tag, (PopVlan(),), goto=goto)
    if tag and after_tag:
        yield from _AFTER_TAG
    for host in hosts:
        port = topology.host_port(router, host.index)
        for table in (Table.SOURCE, Table.MINIMAL):
            yield Rule(table, PRIORITY_HOST, to_host(host), (Output(port),))
    if marks:
        yield _MARKED


def to_host(host: Host) -> Match:
    """Returns the match for IPv4 packets to one host.

    Args:
        host: the destination.
    """
    return match(eth_type=ETH_TYPE_IPV4, ipv4_dst=host.ip)


def to_router(topology: Topology, router: int, low_bits: int = 0) -> Match:
    """Returns the match for IPv4 packets to all hosts of one router or of a block of routers.

    Args:
        topology: the fabric's graph.
        router: the router, or any router of the block.
        low_bits: number of low bits of the routers' numbers (`Topology.address_number`) to ignore: the block
            contains all routers whose numbers differ only in these bits.
    """
    mask = ROUTER_MASK << low_bits & 0xFFFFFFFF
    address = router_ip(topology.address_number(router)) & mask
    return match(eth_type=ETH_TYPE_IPV4, ipv4_dst=(address, mask))


def tag_of(router: int) -> int:
    """Returns the vlan_vid of the tag that names an intermediate router.

    Args:
        router: the intermediate router, 0 to MAX_TAGS - 1.

    Returns:
        VLAN id router + 1, with the bit VLAN_PRESENT.
    """
    return VLAN_PRESENT | (router + 1)


def router_of_tag(vlan_vid: int) -> int:
    """Returns the intermediate router that a tag names.

    Args:
        vlan_vid: a value returned by `tag_of`.
    """
    return (vlan_vid & ~VLAN_PRESENT) - 1


def _ingress(topology: Topology, router: int, hosts: tuple[Host, ...]) -> Iterator[Rule]:
    for host in hosts:
        port = topology.host_port(router, host.index)
        own = match(in_port=port, eth_src=host.mac, vlan_vid=NO_VLAN)
        # No broadcast or multicast: an IPv4 packet has one destination host.
        ipv4 = own + match(eth_dst=_ANY_HOST, eth_type=ETH_TYPE_IPV4, ipv4_src=host.ip)
        yield Rule(Table.INGRESS, PRIORITY_HOST, ipv4, goto=Table.SOURCE)
        # Hosts must not mark packets: a marked packet would not be rerouted.
        marked = ipv4 + match(ip_dscp=REROUTED_DSCP)
        yield Rule(Table.INGRESS, PRIORITY_EXCEPTION, marked, (SetField("ip_dscp", 0),), goto=Table.SOURCE)
        arp = own + match(eth_type=ETH_TYPE_ARP, arp_op=ARP_REQUEST, arp_sha=host.mac, arp_spa=host.ip)
        yield Rule(Table.INGRESS, PRIORITY_HOST, arp, goto=Table.SOURCE)
        # A gratuitous request asks for the sender's own address: an answer would signal a conflict.
        gratuitous = arp + match(arp_tpa=host.ip)
        yield Rule(Table.INGRESS, PRIORITY_EXCEPTION, gratuitous)
        for table in (Table.INGRESS, Table.SOURCE, Table.MINIMAL):
            yield Rule(table, PRIORITY_DROP, match(in_port=port))
    yield from map(_from_fabric, topology.link_ports(router).tolist())


# Equal rules of many switches are one object, so that a proof reads them once.
@cache
def _from_fabric(port: int) -> Rule:
    """Returns the rule for packets that arrive on a fabric port."""
    return Rule(Table.INGRESS, PRIORITY_HOST, match(in_port=port), goto=Table.TRANSIT)


@cache
def _arp_responder() -> Rule:
    """Returns the rule that turns an ARP request for any address of the fabric into its reply.

    A host's MAC address is 02:00 followed by its IP address, so the reply can be computed from the request.
    """
    request = match(eth_type=ETH_TYPE_ARP, arp_op=ARP_REQUEST, arp_tpa=(NETWORK, NETWORK_MASK))
    reply = (
        SetField("arp_op", ARP_REPLY),
        CopyBits("eth_src", "eth_dst", 48),
        CopyBits("arp_sha", "arp_tha", 48),
        LoadBits("eth_src", 32, 16, MAC_PREFIX),
        CopyBits("arp_tpa", "eth_src", 32),
        CopyBits("eth_src", "arp_sha", 48),
        # Swap the two protocol addresses through a register.
        CopyBits("arp_spa", "reg0", 32),
        CopyBits("arp_tpa", "arp_spa", 32),
        CopyBits("reg0", "arp_tpa", 32),
        Output(PORT_INGRESS),
    )
    return Rule(Table.SOURCE, PRIORITY_EXCEPTION, request, reply)
