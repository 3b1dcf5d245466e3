"""`polarlab explain`: paths between two switches, with the reasons for them, in words."""

from __future__ import annotations

import argparse

import polarlab
from polarlab.cli.console import print_result
from polarlab.cli.progress import shown_if_long
from polarlab.process import Status

SUMMARY = "paths between two switches, and their reasons, in words"
EXAMPLES = (
    "polarlab explain polarfly --q 7 s3 s17",
    "polarlab explain polarfly --q 5 --routing ugal-pf s3 s17",
)


def run(arguments: argparse.Namespace) -> Status:
    """Prints the paths from one switch to another, their reasons, and their backups."""
    from polarlab.api.command_line.records import plain

    experiment = arguments.experiment
    with shown_if_long("computing paths"):
        routing = experiment.complete_values["routing"]
        ends = (arguments.switch, arguments.other)
        explanation = polarlab.explain(experiment.topology, *ends, routing=routing)
    if arguments.json:
        print_result(
            arguments, {"name": experiment.family, "params": experiment.params, **plain(explanation)}
        )
    else:
        print(explanation)
    return Status.DONE
