"""Which fabric to launch: its options, checked once and kept as plain data."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.occupancy.source import NETLINK, SOURCES
from emulation.requirements import check_datapath
from routing.registry import ROUTINGS, routing
from topology.addressing import check_hosts
from topology.base import Topology
from topology.errors import UsageError
from topology.links import DEFAULT_MTU, LinkSpec, parse_rate_bps
from topology.registry import FAMILIES, make_topology

AUTO_RATE = "auto"
WHOLE_LINKS = {"link_delay": 0.0, "link_loss": 0.0}
UNCALIBRATED_BPS = 300_000  # while a fabric starts whose rate is still to be found


@dataclass(frozen=True)
class FabricOptions:
    """Which fabric to launch.

    Attributes:
        name, params: the topology, as on the command line.
        topology: the same as a graph.
        hosts: endpoints per router.
        links: properties of its links.
        routing: the routing's name.
        datapath: `auto`, `kernel` or `user`, as asked for.
        occupancy: where an adaptive routing learns how full ports are: `netlink` or `port-statistics`.
        calibrate: whether the links' rate is only where to begin to look for one that the machine carries.
        local_repair: whether the switches know ways around dead links by themselves.
    """

    name: str
    params: Mapping[str, int | str]
    topology: Topology
    hosts: int
    links: LinkSpec
    routing: str
    datapath: str
    occupancy: str = NETLINK
    calibrate: bool = False
    local_repair: bool = True

    def settings(self) -> dict[str, Any]:
        """Returns what results depend on, by its names in results; the routing is not among it."""
        return {
            "name": self.name,
            "params": dict(self.params),
            "hosts": self.hosts,
            "link_rate_bps": self.links.rate_bps,
            "queue_packets": self.links.queue_packets,
            "mtu": self.links.mtu,
            "link_delay_ms": self.links.delay_ms,
            "link_loss": self.links.loss,
        }


def add_topology_arguments(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Adds NAME, which may be left out where there is a default, and the parameters of all families."""
    text = f"topology: {', '.join(FAMILIES)}"
    if default is None:
        parser.add_argument("name", metavar="NAME", help=text)
    else:
        parser.add_argument("name", metavar="NAME", nargs="?", default=default, help=text)
    for parameter in {p.name: p for f in FAMILIES.values() for p in f.parameters}.values():
        parser.add_argument(
            f"--{parameter.name}",
            type=parameter.type,
            default=argparse.SUPPRESS,
            help=parameter.help,
        )


def add_fabric_arguments(
    parser: argparse.ArgumentParser, default: str | None = None, link_rate: str = "2Mbit"
) -> None:
    """Adds what a fabric is launched with, but for the routing and what links do to packets.

    Args:
        parser: what to add it to.
        default: as `add_topology_arguments`.
        link_rate: the rate where none is given.
    """
    add_topology_arguments(parser, default)
    add_hosts_argument(parser)
    parser.add_argument(
        "--link-rate",
        default=link_rate,
        help=f"of every port, as 500kbit; auto: the highest that the machine carries (default {link_rate})",
    )
    parser.add_argument("--queue", type=int, default=32, help="packets per port (default 32)")
    parser.add_argument(
        "--mtu", type=int, default=DEFAULT_MTU, help=f"of every port, in bytes (default {DEFAULT_MTU})"
    )
    parser.add_argument("--datapath", default="auto", help="auto, kernel or user (default auto)")
    parser.add_argument(
        "--occupancy",
        default=NETLINK,
        help=f"what adaptive routings go by: {' or '.join(SOURCES)} (default {NETLINK})",
    )
    add_local_repair_argument(parser)


def add_impairment_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the delay and the loss of links; a command that has neither sets `WHOLE_LINKS` as defaults."""
    parser.add_argument(
        "--link-delay",
        type=float,
        default=0.0,
        metavar="MS",
        help="of every link between routers (default 0)",
    )
    parser.add_argument(
        "--link-loss",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="chance of a packet to be lost on every link between routers, as 0.01 (default 0)",
    )


def add_local_repair_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --no-local-repair."""
    parser.add_argument(
        "--no-local-repair",
        action="store_false",
        dest="local_repair",
        help="switches know no ways around dead links; only the controller repairs",
    )


def add_hosts_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --hosts."""
    parser.add_argument("--hosts", type=int, default=1, metavar="P", help="per router (default 1)")


def add_routing_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --routing."""
    parser.add_argument("--routing", default="min", help=f"{', '.join(ROUTINGS)} (default min)")


def read_topology(arguments: argparse.Namespace) -> tuple[dict[str, int | str], Topology]:
    """Returns the parameters given on the command line and the topology that they name.

    Raises:
        UsageError: there is no such topology.
    """
    known = {p.name for f in FAMILIES.values() for p in f.parameters}
    params = {name: value for name, value in vars(arguments).items() if name in known}
    return params, make_topology(arguments.name, params)


def read_fabric(arguments: argparse.Namespace) -> FabricOptions:
    """Returns the checked options of a fabric.

    Raises:
        UsageError: an option is outside its domain.
    """
    params, topology = read_topology(arguments)
    check_hosts(arguments.hosts)
    routing(arguments.routing)
    check_datapath(arguments.datapath)
    if arguments.occupancy not in SOURCES:
        raise UsageError(f"unknown occupancy {arguments.occupancy!r}; there are: {', '.join(SOURCES)}")
    calibrate = arguments.link_rate == AUTO_RATE
    rate_bps = UNCALIBRATED_BPS if calibrate else parse_rate_bps(arguments.link_rate)
    links = LinkSpec(rate_bps, arguments.queue, arguments.mtu, arguments.link_delay, arguments.link_loss)
    return FabricOptions(
        arguments.name,
        params,
        topology,
        arguments.hosts,
        links,
        arguments.routing,
        arguments.datapath,
        arguments.occupancy,
        calibrate,
        arguments.local_repair,
    )
