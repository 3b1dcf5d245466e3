"""Names and addresses that carry the place of a host, so that one masked match stands for a router.

Host k (from 0) of router r is called `h<r+1>_<k+1>`; its IP address is 10.<n high byte>.<n low
byte>.<k+1> and its MAC address 02:00 followed by the same four bytes, where n is the router's number
(its index, unless the topology numbers its routers otherwise). The switch of router r is `s<r+1>` and
its datapath id is r + 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topology.base import Topology
from topology.errors import ParameterError

NETWORK = 10 << 24
NETWORK_PREFIX = 8
ROUTER_MASK = 0xFFFFFF00  # the bits of an IP address that name the router
MAC_PREFIX = 0x0200  # locally administered, the upper two bytes of every host's MAC address
MAX_HOSTS = 254  # per router: the last byte, less 0 and 255
MAX_ROUTERS = 1 << 16
INITIAL_TTL = 64  # of the packets that hosts send: every router takes one, at 0 they are dropped


@dataclass(frozen=True, order=True)
class Host:
    """An endpoint: host `index` (from 0) of `router`, with the router's `number` in addresses."""

    router: int
    index: int
    number: int

    @property
    def name(self) -> str:
        """The name in the emulation, as `h3_1`."""
        return f"h{self.router + 1}_{self.index + 1}"

    @property
    def ip(self) -> int:
        """The IPv4 address as a 32-bit integer."""
        return router_ip(self.number) | (self.index + 1)

    @property
    def mac(self) -> int:
        """The MAC address as a 48-bit integer."""
        return MAC_PREFIX << 32 | self.ip


def hosts_of(topology: Topology, concentration: int) -> tuple[Host, ...]:
    """Returns every host, router by router.

    Args:
        topology: the graph of routers; its `host_counts` says which of them have hosts.
        concentration: p, the number of hosts at each router that has any, 1 to 254.

    Returns:
        All hosts; those of a router are next to each other, by index.

    Raises:
        ParameterError: more hosts or routers than the addresses can tell apart.
    """
    check_hosts(concentration)
    largest = topology.address_number(topology.routers - 1)
    if largest >= MAX_ROUTERS:
        raise ParameterError(
            f"{topology.routers} routers, numbered up to {largest}, do not fit into the addresses; "
            f"numbers below {MAX_ROUTERS} do"
        )
    return tuple(_enumerate(topology, concentration))


def _enumerate(topology: Topology, concentration: int) -> Iterator[Host]:
    for router, count in enumerate(topology.host_counts(concentration).tolist()):
        for index in range(count):
            yield Host(router, index, topology.address_number(router))


def host_routers(topology: Topology, concentration: int) -> npt.NDArray[np.int64]:
    """Returns the router of each host, in the order of `hosts_of`.

    Args:
        topology: the graph of routers.
        concentration: p, the number of hosts at each router that has any.

    Returns:
        int64 array, one entry per host, ascending.
    """
    return np.repeat(np.arange(topology.routers), topology.host_counts(concentration))


def check_hosts(concentration: int) -> None:
    """Raises ParameterError unless a router can have that many hosts."""
    if not 1 <= concentration <= MAX_HOSTS:
        raise ParameterError(f"hosts per router must be 1 to {MAX_HOSTS}, got {concentration}")


def router_ip(number: int) -> int:
    """Returns the address part that all hosts of the router with this number share."""
    return NETWORK | number << 8


def switch_name(router: int) -> str:
    """Returns the switch's name, as `s3` for router 2."""
    return f"s{router + 1}"


def switch_router(name: str, routers: int) -> int:
    """Returns the router of a switch called `name` in a fabric of `routers` routers.

    Raises:
        ParameterError: there is no such switch.
    """
    matched = re.fullmatch(r"s([1-9]\d*)", name)
    if not matched or int(matched[1]) > routers:
        raise ParameterError(f"no switch {name!r}; the switches are s1 to s{routers}")
    return int(matched[1]) - 1


def interface_name(router: int, port: int) -> str:
    """Returns the name of the interface behind a switch's port, as `s3-eth1`."""
    return f"{switch_name(router)}-eth{port}"


def dpid(router: int) -> int:
    """Returns the datapath id of a router's switch."""
    return router + 1


def dpid_router(datapath_id: int) -> int:
    """Returns the router whose switch has a datapath id."""
    return datapath_id - 1


def format_ip(ip: int) -> str:
    """Returns an IPv4 address in dotted decimal."""
    return ".".join(str(ip >> shift & 0xFF) for shift in (24, 16, 8, 0))


def format_mac(mac: int) -> str:
    """Returns a MAC address as six hexadecimal bytes."""
    return ":".join(f"{mac >> shift & 0xFF:02x}" for shift in range(40, -8, -8))
