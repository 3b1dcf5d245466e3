"""`polarlab up`: a fabric with a prompt, or with single lines of it."""

from __future__ import annotations

import argparse
import contextlib

from polarlab.cli.progress import DRAWING, ConsoleProgress
from topology.errors import UsageError
from topology.exit_status import Status

SUMMARY = "a fabric with a prompt: Mininet's commands, failures, loads, paths, traffic (root)"
EXAMPLES = (
    'sudo polarlab up polarfly --q 3 --exec "h1_1 ping -c 3 h5_1"',
    "sudo polarlab up polarfly --q 3",
    'sudo polarlab up polarfly --q 3 --exec "fail link:s3-s8" --exec "path s3 s8"',
    'sudo polarlab up polarfly --q 3 --exec "h1_1 ping -c 9 h5_1" --out results/session',
    "sudo polarlab up polarstar --q 2 --supernode iq --degree 3 --link-rate 10Mbit",
    'sudo polarlab up polarfly --q 3 --link-delay 5 --link-loss 0.01 --exec "h1_1 ping -c 9 h5_1"',
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab up`."""
    from experiments.spec.values import output_path
    from polarlab.cli.options.fabric import add_fabric_options, add_impairment_options, add_routing_option
    from polarlab.cli.options.output import add_pcap_option

    add_fabric_options(parser)
    add_impairment_options(parser)
    add_routing_option(parser)
    parser.add_argument(
        "--exec",
        action="append",
        metavar="CMD",
        dest="lines",
        help="line for the prompt, several in their order until one fails (exit status 1), unless it ends in "
        "`|| true` (default an open prompt, or the lines of standard input)",
    )
    parser.add_argument(
        "--out",
        type=output_path,
        metavar="DIR",
        help="output directory of the session: loads and drops of links over time, faults, and the lines "
        "that ran (default nothing is written)",
    )
    add_pcap_option(parser)


def run(arguments: argparse.Namespace) -> Status:
    """Launches a fabric and opens its prompt; returns NEGATIVE if a line fails that was not typed."""
    from emulation.capture import capture, require_capture
    from emulation.requirements import require_emulation
    from experiments.spec.captures import parse_captures
    from polarlab.cli.options.fabric import read_fabric

    options = read_fabric(arguments, arguments.routing)
    if options.calibrate:
        raise UsageError("--link-rate auto needs a run's traffic, which `up` does not have; give a rate")
    captures = parse_captures(arguments.pcap, options.topology, options.hosts)
    if captures and arguments.out is None:
        raise UsageError("--pcap needs a directory for its files; give --out")
    require_emulation()
    if captures:
        require_capture()
    from experiments.events.outcomes import FiguresDrawn
    from experiments.figures.run import plot_run
    from experiments.live_fabric import live_fabric, report_ingress_drops
    from experiments.programs.session_record import SessionRecorder
    from experiments.results.run_directory import kept_directory
    from experiments.session.fabric_session import FabricSession
    from polarlab.cli.prompt.announcer import Announcer
    from polarlab.cli.prompt.face import serve

    with ConsoleProgress() as progress:
        with contextlib.ExitStack() as opened:
            directory = opened.enter_context(kept_directory(arguments.out)) if arguments.out else None
            fabric = opened.enter_context(live_fabric(options, progress))
            if directory:
                opened.enter_context(capture(fabric.network, captures, directory.path))
            progress.rest()  # the terminal is the prompt's
            announcer = Announcer(progress)
            recorder = SessionRecorder(fabric, directory, progress) if directory else None
            session = FabricSession(fabric, announcer, *([recorder.keep_traffic] if recorder else []))
            with recorder or contextlib.nullcontext(), session:
                failed = serve(session, announcer, arguments.lines, recorder)
            report_ingress_drops(fabric.network, progress)
        if arguments.out:
            progress.begin(DRAWING)
            progress(FiguresDrawn(tuple(plot_run(arguments.out))))
    return Status.NEGATIVE if failed else Status.DONE
