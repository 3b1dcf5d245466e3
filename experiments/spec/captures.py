"""Specification of packet captures: names of hosts, switch ports and links."""

from __future__ import annotations

import re
from collections.abc import Sequence

from emulation.capture import CapturePoint
from topology.addressing import hosts_of, interface_name, switch_name, switch_router
from topology.base import Topology
from topology.errors import ParameterError
from topology.faults import ComponentKind, parse_components

_PORT = re.compile(r"(s[0-9]+)(?:-eth|:)([0-9]{1,9})")


def parse_captures(
    texts: Sequence[str], topology: Topology, hosts_per_router: int
) -> tuple[CapturePoint, ...]:
    """Returns the capture points without duplicates.

    Args:
        texts: comma-separated names: `h1_1`, `s5-eth3` or `s5:3` (port 3 of switch s5), `link:s1-s7`
            (both ends of the link).
        topology: the graph of routers.
        hosts_per_router: number of hosts attached to each router that has any.

    Raises:
        ParameterError: a name is malformed, or the fabric has no such host, port or link.
    """
    words = [word.strip() for text in texts for word in text.split(",")]
    return tuple(dict.fromkeys(point for word in words for point in _parse(word, topology, hosts_per_router)))


def _parse(word: str, topology: Topology, hosts_per_router: int) -> list[CapturePoint]:
    if word.startswith(f"{ComponentKind.LINK.value}:"):
        (element,) = parse_components(word, topology, 1)
        links = [link for link in topology.link_list if element.covers(link)]
        return [_port(router, port) for link in links for router, port in link.ends]
    if port := _PORT.fullmatch(word):
        router = switch_router(port[1], topology.routers)
        of_links, of_hosts = topology.router_ports(router, hosts_per_router)
        if int(port[2]) not in (own := sorted([*of_links, *of_hosts])):
            whole = len(own) == own[-1] - own[0] + 1
            numbers = f"{own[0]} to {own[-1]}" if whole else ", ".join(map(str, own))
            raise ParameterError(f"port of {port[1]} must be {numbers}, got {word!r}")
        return [_port(router, int(port[2]))]
    hosts = {host.name: host for host in hosts_of(topology, hosts_per_router)}
    if word not in hosts:
        names = list(hosts)
        raise ParameterError(
            f"capture must be a host ({names[0]} to {names[-1]}), a switch port such as s5-eth3 or s5:3, "
            f"or a link such as link:s1-s7, got {word!r}"
        )
    return [CapturePoint(word, hosts[word].interface, f"{word}.pcap")]


def _port(router: int, port: int) -> CapturePoint:
    name = interface_name(router, port)
    return CapturePoint(switch_name(router), name, f"{name}.pcap")
