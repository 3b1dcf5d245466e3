"""`polarlab routings`: routing algorithms, with their paths, parameters and sources."""

from __future__ import annotations

import argparse

import polarlab
from polarlab.cli.console import print_result, print_table
from polarlab.process import Status

SUMMARY = "routing algorithms, with paths, parameters and source"
EXAMPLES = ("polarlab routings", "polarlab routings --json")
# What a parameter changes: the switches' tables and groups, or only the controller's choices.
_RULES, _LAW = "rules", "law"


def run(arguments: argparse.Namespace) -> Status:
    """Prints all routings and their parameters."""
    from polarlab.cli.parameters import parameter_records, print_parameters

    routings = polarlab.routings()
    rows = [
        {
            "routing": name,
            "kind": "oblivious" if routing.oblivious else "adaptive",
            "paths": routing.summary,
            "source": routing.source,
        }
        for name, routing in routings.items()
    ]
    changes = [
        [_RULES if parameter in routing.plan_parameters else _LAW for parameter in routing.parameters]
        for routing in routings.values()
    ]
    if arguments.json:
        records = [parameter_records(routing.parameters) for routing in routings.values()]
        parameters = [
            [{**record, "changes": change} for record, change in zip(*both, strict=True)]
            for both in zip(records, changes, strict=True)
        ]
        result = [{**row, "parameters": own} for row, own in zip(rows, parameters, strict=True)]
        print_result(arguments, {"routings": result})
        return Status.DONE
    print_table(rows, ("routing", "kind", "paths", "source"))
    owned = {name: routing.parameters for name, routing in routings.items()}
    print_parameters("routing", owned, {"changes": [change for own in changes for change in own]})
    return Status.DONE
