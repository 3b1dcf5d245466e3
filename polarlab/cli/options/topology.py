"""Options of topologies: the family, its parameters, and the hosts of each router."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from topology.base import Topology
from topology.parameters import Parameter, Value
from topology.registry import FAMILIES, make_topology


def add_topology_options(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Adds NAME, which may be left out where there is a default, and the families' parameters.

    The help has the parameters of the family on the command line, or of all families where that names none.
    Parameters of the same name may have another type and meaning in each family.
    """
    text = f"topology: {', '.join(FAMILIES)}"
    if default is None:
        parser.add_argument("name", metavar="NAME", help=text)
    else:
        parser.add_argument("name", metavar="NAME", nargs="?", default=default, help=text)
    chosen = next((word for word in getattr(parser, "words", ()) if word in FAMILIES), None)
    for name in dict.fromkeys(p.name for family in FAMILIES.values() for p in family.parameters):
        meanings = {
            family: parameter
            for family, one in FAMILIES.items()
            for parameter in one.parameters
            if parameter.name == name
        }
        parser.add_argument(
            f"--{name}",
            type=meanings.get(chosen or "", next(iter(meanings.values()))).type,
            default=argparse.SUPPRESS,
            help=_help(meanings, chosen),
        )


def _help(meanings: Mapping[str, Parameter], chosen: str | None) -> str:
    """Returns the help of a parameter, hidden if it is foreign to the chosen family."""
    if chosen is None:
        families: dict[str, list[str]] = {}
        for family, parameter in meanings.items():
            families.setdefault(parameter.described, []).append(family)
        return "; ".join(f"{text} ({', '.join(names)})" for text, names in families.items())
    return meanings[chosen].described if chosen in meanings else argparse.SUPPRESS


def add_hosts_option(parser: argparse.ArgumentParser) -> None:
    """Adds --hosts."""
    parser.add_argument(
        "--hosts", type=int, default=1, metavar="P", help="hosts attached to each router (default 1)"
    )


def read_topology(arguments: argparse.Namespace) -> tuple[dict[str, Value], Topology]:
    """Returns the parameters given on the command line and the topology that they name.

    Raises:
        UsageError: the topology does not exist, or a parameter is missing, foreign or outside its domain.
    """
    known = {p.key for f in FAMILIES.values() for p in f.parameters}
    params = {name: value for name, value in vars(arguments).items() if name in known}
    return params, make_topology(arguments.name, params)
