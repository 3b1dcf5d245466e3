"""Names and addresses of switches and hosts; one masked address matches all hosts of a router.

Host k (from 0) of router r is called `h<r+1>_<k+1>`; its IP address is 10.<n high byte>.<n low byte>.<k+1>
and its MAC address 02:00 followed by the same four bytes, where n is the router's address number
(`Topology.address_number`: its index, unless the family numbers its routers otherwise). The switch of router
r is called `s<r+1>` and its datapath id is r + 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topology.base import Topology
from topology.errors import ParameterError
from topology.files.escaping import quoted

NETWORK = 10 << 24
NETWORK_PREFIX = 8
ROUTER_MASK = 0xFFFFFF00  # the bits of an IP address that name the router
MAC_PREFIX = 0x0200  # locally administered: the upper two bytes of every host's MAC address
MAX_HOSTS = 254  # per router: the last byte without 0 and 255
MAX_ADDRESS_NUMBER = (1 << 16) - 1  # of a router: two bytes
INITIAL_TTL = 64  # of packets from hosts: every router subtracts one, and drops a packet at 0


@dataclass(frozen=True, order=True)
class Host:
    """An endpoint (host) of the fabric.

    Attributes:
        router: the router that the host is attached to, 0 .. N - 1.
        index: the index of the host at its router, from 0.
        address_number: the number that represents the router in addresses, 0 to 65535.
    """

    router: int
    index: int
    address_number: int

    @property
    def name(self) -> str:
        """The host's name in the emulation, for example `h3_1`."""
        return f"h{self.router + 1}_{self.index + 1}"

    @property
    def interface(self) -> str:
        """The name of the host's network interface, for example `h3_1-eth0`."""
        return f"{self.name}-eth0"

    @property
    def ip(self) -> int:
        """The IPv4 address as a 32-bit integer."""
        return router_ip(self.address_number) | (self.index + 1)

    @property
    def mac(self) -> int:
        """The MAC address as a 48-bit integer."""
        return MAC_PREFIX << 32 | self.ip


def hosts_of(topology: Topology, hosts_per_router: int) -> tuple[Host, ...]:
    """Returns all hosts, router by router.

    Args:
        topology: the graph of routers; its `host_counts` defines which of them have hosts.
        hosts_per_router: p, the argument of `host_counts`, 1 to 254.

    Returns:
        All hosts; the hosts of a router are consecutive, by index.

    Raises:
        ParameterError: p, a router's number of hosts or an address number is outside its domain.
    """
    check_hosts(hosts_per_router)
    counts = topology.host_counts(hosts_per_router)
    check_hosts(int(counts.max()))
    largest = topology.address_number(topology.routers - 1)
    if largest > MAX_ADDRESS_NUMBER:
        raise ParameterError(f"address numbers of routers must be 0 to {MAX_ADDRESS_NUMBER}, got {largest}")
    return tuple(
        Host(router, index, topology.address_number(router))
        for router, count in enumerate(counts.tolist())
        for index in range(count)
    )


def host_routers(topology: Topology, hosts_per_router: int) -> npt.NDArray[np.int64]:
    """Returns the router of each host, in the order of `hosts_of`.

    Args:
        topology: the graph of routers.
        hosts_per_router: p, the number of hosts at each router that has any, 1 to 254.

    Returns:
        int64 array, one entry per host, ascending.
    """
    return np.repeat(np.arange(topology.routers), topology.host_counts(hosts_per_router))


def check_hosts(hosts_per_router: int) -> None:
    """Checks that a router can have this number of hosts.

    Args:
        hosts_per_router: the number of hosts of one router.

    Raises:
        ParameterError: the number is not 1 to 254, the range of the host byte of an address.
    """
    if not 1 <= hosts_per_router <= MAX_HOSTS:
        raise ParameterError(f"hosts per router must be 1 to {MAX_HOSTS}, got {hosts_per_router}")


def router_ip(address_number: int) -> int:
    """Returns the bits of the IPv4 address that all hosts of a router share.

    Args:
        address_number: the number that represents the router in addresses, 0 to 65535.

    Returns:
        The address as a 32-bit integer, with 0 in the byte that names the host.
    """
    return NETWORK | address_number << 8


def switch_name(router: int) -> str:
    """Returns the name of a router's switch.

    Args:
        router: the index of the router, from 0.

    Returns:
        The name, for example `s3` for router 2.
    """
    return f"s{router + 1}"


def switch_router(name: str, routers: int) -> int:
    """Returns the router that a switch name refers to.

    Args:
        name: the name of a switch, for example `s3`.
        routers: N, the number of routers of the fabric.

    Returns:
        The index of the router, 0 .. N - 1.

    Raises:
        ParameterError: the name is not one of `s1` to `sN`.
    """
    matched = re.fullmatch(r"s([1-9][0-9]{0,8})", name)
    if not matched or int(matched[1]) > routers:
        raise ParameterError(f"switch must be s1 to s{routers}, got {quoted(name)}")
    return int(matched[1]) - 1


def interface_name(router: int, port: int) -> str:
    """Returns the name of the network interface behind a port of a switch.

    Args:
        router: the index of the router, from 0.
        port: the OpenFlow port number, from 1.

    Returns:
        The name, for example `s3-eth1` for port 1 of router 2.
    """
    return f"{switch_name(router)}-eth{port}"


def dpid(router: int) -> int:
    """Returns the datapath id of a router's switch.

    Args:
        router: the index of the router, from 0.

    Returns:
        The datapath id, from 1.
    """
    return router + 1


def dpid_router(datapath_id: int) -> int:
    """Returns the router whose switch has the given datapath id.

    Args:
        datapath_id: the datapath id, from 1.

    Returns:
        The index of the router, from 0.
    """
    return datapath_id - 1


def format_ip(ip: int) -> str:
    """Returns an IPv4 address in dotted decimal.

    Args:
        ip: the address as a 32-bit integer.

    Returns:
        The text, for example `10.0.2.1`.
    """
    return ".".join(str(ip >> shift & 0xFF) for shift in (24, 16, 8, 0))


def format_mac(mac: int) -> str:
    """Returns a MAC address as six hexadecimal bytes.

    Args:
        mac: the address as a 48-bit integer.

    Returns:
        The text, for example `02:00:0a:00:02:01`.
    """
    return ":".join(f"{mac >> shift & 0xFF:02x}" for shift in range(40, -8, -8))
