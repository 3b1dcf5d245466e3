"""The command that demonstrates: something breaks, and the fabric goes on."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

from experiments.errors import Status
from experiments.events.outcomes import FiguresDrawn, ResultNegative
from polarlab.cli.console import add_json, print_result, print_table
from polarlab.cli.progress import ConsoleProgress
from topology.errors import UsageError

# Where nothing else is asked for.
_NAME, _Q, _LINK_RATE = "polarfly", 5, "20Mbit"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab demo`."""
    from experiments.spec.fabric import WHOLE_LINKS, add_fabric_arguments, add_routing_argument
    from experiments.spec.values import output_path

    parser.description = f"Demonstrates a failover; on {_NAME} --q {_Q} where no topology is given."
    parser.add_argument("what", choices=("failover",), help="failover")
    add_fabric_arguments(parser, _NAME, _LINK_RATE)
    parser.set_defaults(**WHOLE_LINKS)  # probes that a link loses would be taken for the failure's
    add_routing_argument(parser)
    parser.add_argument(
        "--fail",
        metavar="WHAT",
        help="link:s1-s7, switch:s4, hang:s4 (its program dies, its links stay), random:3 (links); several "
        "with commas (default the link that most minimal paths cross)",
    )
    parser.add_argument(
        "--kill-controller",
        action="store_true",
        help="kill the controller before anything else fails, and start it again before that comes back",
    )
    parser.add_argument("--seed", type=int, default=1, help="of random:3 (default 1)")
    parser.add_argument("--out", type=output_path, metavar="DIR", help="where to (default below results/)")
    add_json(parser)


def demo(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab demo` is for."""
    from emulation.requirements import require_emulation
    from experiments.spec.fabric import read_fabric
    from experiments.spec.values import DEFAULT_RESULTS, check_seed, plain_name
    from topology.faults import CONTROLLER, ElementKind, parse_elements

    if arguments.name == _NAME and not hasattr(arguments, "q"):
        arguments.q = _Q
    fabric = read_fabric(arguments)
    check_seed(arguments.seed)
    if fabric.calibrate:
        raise UsageError("--link-rate auto needs a run's traffic to go by; give a rate")
    fail = arguments.fail
    elements = () if fail is None else parse_elements(fail, fabric.topology, arguments.seed)
    if CONTROLLER in elements:
        raise UsageError("--fail is for links and switches; --kill-controller is for the controller")
    require_emulation()
    from experiments.failover import FailoverOptions, run_failover
    from experiments.figures.failover import plot_failover

    stamp = time.strftime("%Y%m%d-%H%M%S")
    words = ["failover", fabric.name, *map(str, fabric.params.values()), fabric.routing, stamp]
    out = arguments.out or DEFAULT_RESULTS / plain_name(*words)
    progress = ConsoleProgress()
    options = FailoverOptions(elements, arguments.kill_controller)
    if elements and arguments.kill_controller:  # the new one is to have taken over before they come back
        # It waits for a switch that its neighbours see up, and then plans without it.
        hung_s = 4.0 if any(element.kind is ElementKind.HANG for element in elements) else 0.0
        options = replace(options, restore_s=8.0 + hung_s, end_s=12.0 + hung_s)
    summary = run_failover(fabric, options, out, progress)
    progress(FiguresDrawn(tuple(plot_failover(out))))
    if arguments.json:
        print_result(arguments, summary)
    else:
        rows = [{"phase": name, **phase} for name, phase in summary.pop("phases").items()]
        print_result(arguments, {name: value for name, value in summary.items() if name != "faults"})
        print()
        print_table(rows, tuple(rows[0]))
    if summary["negative"]:
        progress(ResultNegative(summary["negative"]))
        return Status.NEGATIVE
    return Status.DONE
