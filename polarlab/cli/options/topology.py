"""Options of topologies: the family, its parameters, and the hosts of each router."""

from __future__ import annotations

import argparse

from topology.base import Topology
from topology.registry import FAMILIES, make_topology


def add_topology_options(parser: argparse.ArgumentParser, default: str | None = None) -> None:
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


def add_hosts_option(parser: argparse.ArgumentParser) -> None:
    """Adds --hosts."""
    parser.add_argument(
        "--hosts", type=int, default=1, metavar="P", help="hosts attached to each router (default 1)"
    )


def read_topology(arguments: argparse.Namespace) -> tuple[dict[str, int | str], Topology]:
    """Returns the parameters given on the command line and the topology that they name.

    Raises:
        UsageError: the topology does not exist.
    """
    known = {p.name for f in FAMILIES.values() for p in f.parameters}
    params = {name: value for name, value in vars(arguments).items() if name in known}
    return params, make_topology(arguments.name, params)
