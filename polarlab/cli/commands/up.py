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


def run(arguments: argparse.Namespace) -> Status:
    """Launches a fabric and opens its prompt; returns NEGATIVE if a line fails that was not typed."""
    from emulation.capture import capture, require_capture
    from emulation.requirements import require_emulation

    chosen, out = arguments.experiment.resolve(), arguments.experiment.out
    if chosen.captures and out is None:
        raise UsageError("--pcap needs a directory for its files; give --out")
    require_emulation()
    if chosen.captures:
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
            directory = opened.enter_context(kept_directory(out)) if out else None
            fabric = opened.enter_context(live_fabric(chosen.fabric, progress))
            if directory:
                opened.enter_context(capture(fabric.network, chosen.captures, directory.path))
            progress.rest()  # the terminal is the prompt's
            announcer = Announcer(progress)
            recorder = SessionRecorder(fabric, directory, progress) if directory else None
            session = FabricSession(fabric, announcer)
            if recorder:
                session = FabricSession(fabric, announcer, recorder.keep_traffic, recorder.look)
            with recorder or contextlib.nullcontext(), session:
                failed = serve(session, announcer, arguments.exec, recorder)
            report_ingress_drops(fabric.network, progress)
        if out:
            progress.begin(DRAWING)
            progress(FiguresDrawn(tuple(plot_run(out))))
    return Status.NEGATIVE if failed else Status.DONE
