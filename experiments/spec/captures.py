"""Specification of packet captures: hosts, ports of switches, and both ends of links, by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from emulation.capture import CapturePoint
from topology.addressing import hosts_of, interface_name, switch_name, switch_router
from topology.base import Topology
from topology.errors import ParameterError
from topology.faults import ElementKind, parse_elements

_PORT = re.compile(r"(s\d+)(?:-eth|:)(\d+)")


def parse_captures(texts: Sequence[str], topology: Topology, concentration: int) -> tuple[CapturePoint, ...]:
    """Returns the places at which packets are captured, each once.

    Args:
        texts: names with commas between them: `h1_1`, `s5-eth3` or `s5:3` (port 3 of a switch), `link:s1-s7`
            (both of its ends).
        topology: the graph of routers.
        concentration: hosts attached to each router that has any.

    Raises:
        ParameterError: a name has another form, or the fabric has nothing of that name.
    """
    words = [word.strip() for text in texts for word in text.split(",")]
    return tuple(dict.fromkeys(point for word in words for point in _parse(word, topology, concentration)))


def _parse(word: str, topology: Topology, concentration: int) -> list[CapturePoint]:
    if word.startswith(f"{ElementKind.LINK.value}:"):
        (element,) = parse_elements(word, topology, 1)
        links = [link for link in topology.link_list if element.covers(link)]
        return [_port(router, port) for link in links for router, port in link.ends]
    if port := _PORT.fullmatch(word):
        router = switch_router(port[1], topology.routers)
        of_links, of_hosts = topology.router_ports(router, concentration)
        if int(port[2]) not in (own := sorted([*of_links, *of_hosts])):
            whole = len(own) == own[-1] - own[0] + 1
            numbers = f"{own[0]} to {own[-1]}" if whole else ", ".join(map(str, own))
            raise ParameterError(f"port of {port[1]} must be {numbers}, got {word!r}")
        return [_port(router, int(port[2]))]
    names = [host.name for host in hosts_of(topology, concentration)]
    if word not in names:
        raise ParameterError(
            f"capture must be at a host, {names[0]} to {names[-1]}, at a switch's port as s5-eth3 or s5:3, "
            f"or at both ends of a link as link:s1-s7, got {word!r}"
        )
    return [CapturePoint(word, f"{word}-eth0", f"{word}.pcap")]


def _port(router: int, port: int) -> CapturePoint:
    name = interface_name(router, port)
    return CapturePoint(switch_name(router), name, f"{name}.pcap")
