"""`polarlab watch`: shows finished results on the live page."""

from __future__ import annotations

import argparse

import polarlab
from polarlab.api.command_line.events import Unthrottled
from polarlab.cli.page import page_address, wait_for_the_end
from polarlab.cli.progress import ConsoleProgress
from polarlab.process import Status

SUMMARY = "finished results on the live page, with a slider over their time; Ctrl-C ends it"
EXAMPLES = ("polarlab watch results/RUN", "polarlab watch results/RUN --web=8080")


def run(arguments: argparse.Namespace) -> Status:
    """Shows results on the live page until Ctrl-C."""
    with ConsoleProgress() as progress:
        web = page_address(arguments) or True
        with polarlab.watch(arguments.results, web=web, progress=Unthrottled(progress)):
            wait_for_the_end(progress)
    return Status.DONE
