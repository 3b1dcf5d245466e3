"""`polarlab up`: launches a fabric with a prompt, or runs given commands of the prompt."""

from __future__ import annotations

import argparse

import polarlab
from polarlab.api.command_line.events import Unthrottled
from polarlab.cli.page import page_address
from polarlab.cli.progress import ConsoleProgress, draw_figures
from polarlab.process import Status

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
    """Launches a fabric and opens its prompt; returns NEGATIVE if a line of --exec or a pipe fails."""
    with ConsoleProgress() as progress:
        web = page_address(arguments)
        fabric = polarlab.Fabric(arguments.experiment, progress=Unthrottled(progress), web=web)
        from polarlab.cli.prompt.announcer import Announcer
        from polarlab.cli.prompt.commands import serve

        announcer = Announcer(progress)
        with fabric:
            progress.rest()  # the prompt takes over the terminal
            fabric.progress = Unthrottled(announcer)
            failed = serve(fabric.session, announcer, arguments.exec, fabric.recorder, fabric.web_start)
            fabric.progress = Unthrottled(progress)
        if fabric.results:
            draw_figures(fabric.results, progress)
    return Status.NEGATIVE if failed else Status.DONE
