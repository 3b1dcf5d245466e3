"""`polarlab rules`: the planned rules and groups of a switch, in readable form."""

from __future__ import annotations

import argparse

import polarlab
from polarlab.cli.console import print_result
from polarlab.cli.progress import shown_if_long
from polarlab.process import Status

SUMMARY = "rules and groups of a switch, in readable form"
EXAMPLES = (
    "polarlab rules polarfly --q 3 --routing ugal-pf s3",
    "polarlab rules polarfly --q 3 --without link:s1-s10 s1",
)


def run(arguments: argparse.Namespace) -> Status:
    """Prints a switch's rules and groups, for the intact or the surviving graph."""
    experiment = arguments.experiment
    values = experiment.complete_values
    with shown_if_long("computing rules"):
        plan = polarlab.plan(
            experiment.topology,
            values["routing"],
            hosts=values["hosts"],
            local_repair=values["local-repair"],
            ordered_repair=values["ordered-repair"],
        )
        rules = polarlab.rules(plan, arguments.switch, without=arguments.without)
    if arguments.json:
        heading = {"name": experiment.family, "params": experiment.params, "routing": plan.routing}
        print_result(arguments, {**heading, **vars(rules)})
    else:
        print(rules)
    return Status.DONE
