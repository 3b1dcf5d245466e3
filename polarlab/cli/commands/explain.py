"""`polarlab explain`: paths between two switches, and their reasons, in words."""

from __future__ import annotations

import argparse

from polarlab.cli.console import print_result
from polarlab.cli.progress import shown_if_long
from topology.exit_status import Status

SUMMARY = "paths between two switches, and their reasons, in words"
EXAMPLES = (
    "polarlab explain polarfly --q 7 s3 s17",
    "polarlab explain polarfly --q 5 --routing ugal-pf s3 s17",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab explain`."""
    from polarlab.cli.options.fabric import add_routing_option
    from polarlab.cli.options.output import add_json_option
    from polarlab.cli.options.topology import add_topology_options

    add_topology_options(parser)
    add_routing_option(parser)
    parser.add_argument("switch", help="source switch, as s3")
    parser.add_argument("other", help="destination switch, as s17")
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> Status:
    """Prints the paths from one switch to another, their reasons, and their backups."""
    from experiments.codec import plain
    from experiments.theory.explain import explain, lines_of
    from polarlab.cli.options.topology import read_topology
    from topology.addressing import switch_router

    with shown_if_long("computing paths"):
        params, topology = read_topology(arguments)
        ends = [switch_router(name, topology.routers) for name in (arguments.switch, arguments.other)]
        explanation = explain(topology, arguments.routing, *ends)
    if arguments.json:
        print_result(arguments, {"name": arguments.name, "params": params, **plain(explanation)})
    else:
        print("\n".join(lines_of(explanation)).strip())
    return Status.DONE
