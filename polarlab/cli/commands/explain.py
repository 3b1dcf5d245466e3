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


def run(arguments: argparse.Namespace) -> Status:
    """Prints the paths from one switch to another, their reasons, and their backups."""
    from experiments.codec import plain
    from experiments.theory.explain import explain, lines_of
    from topology.addressing import switch_router

    experiment = arguments.experiment
    with shown_if_long("computing paths"):
        topology = experiment.topology
        ends = [switch_router(name, topology.routers) for name in (arguments.switch, arguments.other)]
        explanation = explain(topology, experiment.complete.values["routing"], *ends)
    if arguments.json:
        print_result(
            arguments, {"name": experiment.family, "params": experiment.params, **plain(explanation)}
        )
    else:
        print("\n".join(lines_of(explanation)).strip())
    return Status.DONE
