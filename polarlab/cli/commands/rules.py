"""`polarlab rules`: the rules and groups that a switch will hold, readable."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from polarlab.cli.console import print_result
from polarlab.cli.progress import shown_if_long
from topology.errors import UsageError
from topology.exit_status import Status

if TYPE_CHECKING:
    from topology.base import Topology
    from topology.failures import Failure

SUMMARY = "rules and groups of a switch, readable"
EXAMPLES = (
    "polarlab rules polarfly --q 3 --routing ugal-pf s3",
    "polarlab rules polarfly --q 3 --without link:s1-s10 s1",
)


def run(arguments: argparse.Namespace) -> Status:
    """Prints a switch's rules and groups, on the whole or on the surviving graph."""
    from routing.plan.text import describe
    from routing.registry import make_plan
    from routing.replan.replan import surviving_plan
    from topology.addressing import switch_router

    experiment = arguments.experiment
    values = experiment.complete.values
    with shown_if_long("computing rules"):
        topology = experiment.topology
        router = switch_router(arguments.switch, topology.routers)
        repair = values["local-repair"]
        plan = make_plan(topology, values["hosts"], values["routing"], local_repair=repair)
        if arguments.without is not None:
            failure = _failure(arguments.without, topology)
            if router in failure.failed_routers:
                raise UsageError(f"switch must not be one of --without, got {arguments.switch}")
            plan = surviving_plan(plan, failure)
        description = describe(plan.switches[router])
    if arguments.json:
        heading = {"name": experiment.family, "params": experiment.params, "routing": plan.routing}
        print_result(arguments, {**heading, "switch": arguments.switch, **description})
        return Status.DONE
    for name, lines in description.items():
        print(f"{name} ({len(lines)})")
        print("\n".join(f"  {line}" for line in lines))
    return Status.DONE


def _failure(text: str, topology: Topology) -> Failure:
    """Returns the failure of the links and switches that --without names; raises UsageError."""
    from topology.failures import failure_of
    from topology.faults import ElementKind, parse_elements

    elements = parse_elements(text, topology, 1)
    if any(element.kind not in (ElementKind.LINK, ElementKind.SWITCH) for element in elements):
        raise UsageError(f"--without must be links and switches, got {text}")
    return failure_of(topology, elements)
