"""`polarlab patterns`: traffic patterns and collectives, with their definitions, parameters and sources."""

from __future__ import annotations

import argparse

import polarlab
from polarlab.cli.console import print_rows
from polarlab.process import Status

SUMMARY = "traffic patterns and collectives, with definition, parameters and source"
EXAMPLES = ("polarlab patterns", "polarlab patterns --json")


def run(arguments: argparse.Namespace) -> Status:
    """Prints all patterns and collectives."""
    from polarlab.cli.parameters import parameter_records, print_parameters

    patterns = polarlab.patterns()
    rows = [
        {
            "pattern": pattern.usage,
            "level": pattern.level,
            "definition": pattern.definition,
            "source": pattern.source,
            "parameters": parameter_records(pattern.parameters),
        }
        for pattern in patterns.values()
    ]
    print_rows(arguments, "patterns", rows, ("pattern", "level", "definition", "source"))
    if not arguments.json:
        print_parameters("pattern", {name: pattern.parameters for name, pattern in patterns.items()})
    return Status.DONE
