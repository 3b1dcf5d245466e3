"""`polarlab patterns`: traffic patterns and collectives, with their definitions and sources."""

from __future__ import annotations

import argparse

from polarlab.cli.console import print_rows
from topology.exit_status import Status

SUMMARY = "traffic patterns and collectives, with definition and source"
EXAMPLES = ("polarlab patterns", "polarlab patterns --json")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab patterns`."""
    from polarlab.cli.options.output import add_json_option

    add_json_option(parser)


def run(arguments: argparse.Namespace) -> Status:
    """Prints all patterns and collectives."""
    from traffic.workload.collectives.operations import COLLECTIVES
    from traffic.workload.patterns import PATTERNS, usage

    rows = [
        {
            "pattern": usage(name),
            "level": pattern.level,
            "definition": pattern.description,
            "source": pattern.source,
        }
        for name, pattern in PATTERNS.items()
    ]
    rows += [
        {
            "pattern": f"{name}:{algorithm}",
            "level": "collective",
            "definition": collective.description,
            "source": collective.source,
        }
        for name, collective in COLLECTIVES.items()
        for algorithm in collective.algorithms
    ]
    print_rows(arguments, "patterns", rows, ("pattern", "level", "definition", "source"))
    return Status.DONE
