"""Port numbers as data: for each router, the port of each of its links and hosts.

Links are directed here and numbered router by router, in the order of the neighbour lists (`Adjacency`). A
port number says nothing about the place of a link in these lists: numbers may have gaps, and the ports of
hosts may lie between those of links. The only guarantee is that the ports of a router differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topology.errors import ParameterError

MAX_PORT = 0xFEFF  # OpenFlow reserves the higher numbers
MAX_LINK_PORT = (1 << 12) - 1  # group numbers have twelve bits for the port of a link


@dataclass(frozen=True, eq=False)
class PortTable:
    """The port numbers of all routers.

    Attributes:
        links: int64 array, one entry per directed link: the port on which it leaves its router.
        hosts: for each router, the ports of its hosts in their order; at least as many as it has hosts.
    """

    links: npt.NDArray[np.int64]
    hosts: tuple[Sequence[int], ...]


def default_ports(degrees: npt.NDArray[np.int64]) -> PortTable:
    """Returns the default ports of a fabric: first those of links, then those of hosts.

    Args:
        degrees: int64 array, N: the number of links of each router.

    Returns:
        The ports 1 .. degree for the links of a router in the order of its neighbours, and the ports from
        degree + 1 for its hosts.
    """
    starts = np.cumsum(degrees) - degrees
    links = np.arange(1, int(degrees.sum()) + 1) - np.repeat(starts, degrees)
    return PortTable(links, tuple(range(degree + 1, MAX_PORT + 1) for degree in degrees.tolist()))


def checked_ports(
    degrees: npt.NDArray[np.int64], links: Sequence[Sequence[int]], hosts: Sequence[Sequence[int]]
) -> PortTable:
    """Returns the table of the given ports after checking them.

    Args:
        degrees: int64 array, N: the number of links of each router.
        links: for each router, the ports of its links in the order of its neighbours.
        hosts: for each router, the ports of its hosts in their order.

    Raises:
        ParameterError: the ports of a router or of a link are missing, a number is outside its domain, or two
            ports of a router have the same number.
    """
    for what, rows in (("links", links), ("hosts", hosts)):
        if len(rows) != len(degrees):
            raise ParameterError(f"ports of {what} must be given for {len(degrees)} routers, got {len(rows)}")
    for router, (degree, of_links, of_hosts) in enumerate(zip(degrees.tolist(), links, hosts, strict=True)):
        name = f"s{router + 1}"
        if len(of_links) != degree:
            raise ParameterError(f"{name} must have a port for each of {degree} links, got {len(of_links)}")
        for what, ports, most in (("link", of_links, MAX_LINK_PORT), ("host", of_hosts, MAX_PORT)):
            for port in ports:
                if type(port) is not int or not 1 <= port <= most:
                    raise ParameterError(f"port of a {what} of {name} must be 1 to {most}, got {port!r}")
        own = [*of_links, *of_hosts]
        if repeated := [port for place, port in enumerate(own) if port in own[:place]]:
            raise ParameterError(f"ports of {name} must differ, got {repeated[0]} twice")
    flat = np.array([port for of_links in links for port in of_links], np.int64)
    return PortTable(flat, tuple(map(tuple, hosts)))
