"""`polarlab patterns`: traffic patterns and collectives, with their definitions, parameters and sources."""

from __future__ import annotations

import argparse

from polarlab.cli.console import print_rows
from topology.exit_status import Status

SUMMARY = "traffic patterns and collectives, with definition, parameters and source"
EXAMPLES = ("polarlab patterns", "polarlab patterns --json")


def run(arguments: argparse.Namespace) -> Status:
    """Prints all patterns and collectives."""
    from polarlab.cli.parameters import parameter_records, print_parameters
    from traffic.workload.collectives.registry import COLLECTIVES
    from traffic.workload.patterns import PATTERNS, usage

    rows = [
        {
            "pattern": usage(name),
            "level": pattern.level,
            "definition": pattern.description,
            "source": pattern.source,
            "parameters": parameter_records(pattern.parameters),
        }
        for name, pattern in PATTERNS.items()
    ]
    rows += [
        {
            "pattern": f"{name}:{algorithm}",
            "level": "collective",
            "definition": collective.description,
            "source": collective.source,
            "parameters": [],
        }
        for name, collective in COLLECTIVES.items()
        for algorithm in collective.algorithms
    ]
    print_rows(arguments, "patterns", rows, ("pattern", "level", "definition", "source"))
    if not arguments.json:
        print_parameters("pattern", {name: pattern.parameters for name, pattern in PATTERNS.items()})
    return Status.DONE
