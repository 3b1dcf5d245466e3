"""`polarlab demo failover`: failures under probe traffic, measured."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from polarlab.cli.console import print_result, print_table
from polarlab.cli.progress import DRAWING, ConsoleProgress
from topology.errors import UsageError
from topology.exit_status import Status

if TYPE_CHECKING:
    from experiments.results.failover import FailoverSummary
    from experiments.spec.fabric import FabricOptions
    from experiments.spec.failover import FailoverOptions
    from topology.faults import Element

SUMMARY = "failover: link and switch failures under probe traffic, measured (root)"
EXAMPLES = (
    "sudo polarlab demo failover polarfly --q 5 --fail link:s1-s28",
    "sudo polarlab demo failover polarfly --q 3 --fail switch:s4",
    "sudo polarlab demo failover polarfly --q 3 --kill-controller",
)
# The fabric where none is asked for.
_NAME, _Q, _LINK_RATE = "polarfly", 5, "20Mbit"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab demo`; links have no impairment, which would pass for the failure's."""
    from polarlab.cli.options.fabric import add_fabric_options, add_routing_option
    from polarlab.cli.options.output import add_json_option, add_out_option
    from polarlab.cli.options.traffic import add_seed_option

    parser.description = f"Failover, measured; on {_NAME} --q {_Q} where no topology is given."
    parser.add_argument("what", choices=("failover",), metavar="failover", help="the demonstration")
    add_fabric_options(parser, _NAME, _LINK_RATE)
    add_routing_option(parser)
    parser.add_argument(
        "--fail",
        metavar="ELEMENTS",
        help="failing elements, with commas: link:s1-s7, switch:s4, hang:s4 (its program dies, its links "
        "stay up), random:3 (links) (default the link that most minimal paths cross)",
    )
    parser.add_argument(
        "--kill-controller",
        action="store_true",
        help="controller killed before the failure, and started again before the restoration",
    )
    add_seed_option(parser)
    add_out_option(parser)
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> Status:
    """Runs a failover and prints its losses and gaps; returns NEGATIVE for losses that should not be."""
    from emulation.requirements import require_emulation
    from polarlab.cli.options.fabric import read_fabric
    from polarlab.cli.options.output import dated_directory

    if arguments.name == _NAME and not hasattr(arguments, "q"):
        arguments.q = _Q
    fabric = read_fabric(arguments, arguments.routing)
    options = _read_failover(arguments, fabric)
    require_emulation()
    from experiments.events.outcomes import FiguresDrawn, ResultNegative
    from experiments.failover.demonstration import run_failover
    from experiments.figures.failover import plot_failover

    words = ("failover", fabric.name, *fabric.params.values(), fabric.routing)
    out = arguments.out or dated_directory(*words)
    with ConsoleProgress() as progress:
        summary = run_failover(fabric, options, out, progress)
        progress.begin(DRAWING)
        progress(FiguresDrawn(tuple(plot_failover(out))))
        progress.rest()
        _print_summary(arguments, summary)
        if summary.negative:
            progress(ResultNegative(summary.negative))
            return Status.NEGATIVE
    return Status.DONE


def _read_failover(arguments: argparse.Namespace, fabric: FabricOptions) -> FailoverOptions:
    """Returns the specification of a failover on a fabric; raises UsageError."""
    from experiments.spec.failover import FailoverOptions
    from experiments.spec.values import check_seed
    from topology.faults import CONTROLLER, parse_elements

    check_seed(arguments.seed)
    if fabric.calibrate:
        raise UsageError("--link-rate auto needs a run's traffic, which a demo does not have; give a rate")
    fail = arguments.fail
    elements = () if fail is None else parse_elements(fail, fabric.topology, arguments.seed)
    if CONTROLLER in elements:
        raise UsageError("--fail must be links and switches, got controller; --kill-controller kills it")
    options = FailoverOptions(elements, arguments.kill_controller)
    return _with_time_for_a_controller(options, elements) if elements else options


def _with_time_for_a_controller(options: FailoverOptions, elements: tuple[Element, ...]) -> FailoverOptions:
    """Returns options in which a new controller has taken over before anything is restored."""
    from topology.faults import ElementKind

    if not options.kill_controller:
        return options
    # It waits for a switch that its neighbours see up, and then plans without it.
    hung_s = 4.0 if any(element.kind is ElementKind.HANG for element in elements) else 0.0
    return replace(options, restore_s=8.0 + hung_s, end_s=12.0 + hung_s)


def _print_summary(arguments: argparse.Namespace, summary: FailoverSummary) -> None:
    """Prints a failover's summary; without --json, its phases as a table."""
    from experiments.codec import plain

    result = plain(summary)
    if arguments.json:
        print_result(arguments, result)
        return
    rows = [{"phase": name, **phase} for name, phase in result["phases"].items()]
    print_result(arguments, {n: v for n, v in result.items() if n not in ("faults", "phases")})
    print()
    print_table(rows, tuple(rows[0]))
