"""Options of fabrics: links, routing, datapath and fast reroute."""

from __future__ import annotations

import argparse

from controller.occupancy.source import NETLINK, SOURCES
from emulation.requirements import DATAPATHS
from experiments.spec.fabric import AUTO_RATE, FabricOptions, link_rate_bps
from polarlab.cli.options.topology import add_hosts_option, add_topology_options, read_topology
from routing.registry import ROUTINGS
from topology.links import DEFAULT_MTU, LinkSpec

DEFAULT_LINK_RATE, DEFAULT_QUEUE, DEFAULT_ROUTING = "2Mbit", 32, "min"


def add_fabric_options(
    parser: argparse.ArgumentParser, default: str | None = None, link_rate: str = DEFAULT_LINK_RATE
) -> None:
    """Adds the options of a fabric, except its routing and its links' impairment.

    Args:
        parser: the command's parser.
        default: the topology's family where none is given; without it, one must be given.
        link_rate: the rate where none is given.
    """
    add_topology_options(parser, default)
    add_hosts_option(parser)
    parser.add_argument(
        "--link-rate",
        default=link_rate,
        metavar="RATE",
        help="rate of every port, as 500kbit; auto: the highest that the machine carries "
        f"(default {link_rate})",
    )
    parser.add_argument(
        "--queue",
        type=int,
        default=DEFAULT_QUEUE,
        metavar="PACKETS",
        help=f"capacity of every port's queue, in packets (default {DEFAULT_QUEUE})",
    )
    parser.add_argument(
        "--mtu",
        type=int,
        default=DEFAULT_MTU,
        metavar="BYTES",
        help=f"maximum transmission unit of every port, in bytes (default {DEFAULT_MTU})",
    )
    parser.add_argument(
        "--datapath",
        default="auto",
        help=f"Open vSwitch datapath: {', '.join(DATAPATHS)} (default auto)",
    )
    parser.add_argument(
        "--occupancy",
        default=NETLINK,
        metavar="SOURCE",
        help=f"source of port occupancies for adaptive routings: {', '.join(SOURCES)} (default {NETLINK})",
    )
    add_local_repair_option(parser)


def add_impairment_options(parser: argparse.ArgumentParser) -> None:
    """Adds the delay and the loss of links."""
    parser.add_argument(
        "--link-delay",
        type=float,
        default=0.0,
        metavar="MS",
        help="one-way delay of every link between routers, in ms (default 0)",
    )
    parser.add_argument(
        "--link-loss",
        type=float,
        default=0.0,
        metavar="FRACTION",
        help="packet loss probability of every link between routers, as 0.01 (default 0)",
    )


def add_local_repair_option(parser: argparse.ArgumentParser) -> None:
    """Adds --no-local-repair."""
    parser.add_argument(
        "--no-local-repair",
        action="store_false",
        dest="local_repair",
        help="switches without fast reroute: only the controller repairs (default with)",
    )


def add_routing_option(parser: argparse.ArgumentParser) -> None:
    """Adds --routing."""
    parser.add_argument(
        "--routing",
        default=DEFAULT_ROUTING,
        help=f"routing algorithm: {', '.join(ROUTINGS)} (default {DEFAULT_ROUTING})",
    )


def read_fabric(arguments: argparse.Namespace, routing: str) -> FabricOptions:
    """Returns the specification of a fabric with a routing.

    Raises:
        UsageError: an option is outside its domain.
    """
    params, topology = read_topology(arguments)
    links = LinkSpec(
        link_rate_bps(arguments.link_rate),
        arguments.queue,
        arguments.mtu,
        # Commands whose links are never impaired do not have these options.
        getattr(arguments, "link_delay", 0.0),
        getattr(arguments, "link_loss", 0.0),
    )
    return FabricOptions(
        arguments.name,
        params,
        topology,
        arguments.hosts,
        links,
        routing,
        arguments.datapath,
        arguments.occupancy,
        arguments.link_rate == AUTO_RATE,
        arguments.local_repair,
    )
