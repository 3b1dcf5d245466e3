"""`polarlab plot`: figures of a run, a sweep or a failover."""

from __future__ import annotations

import argparse
from pathlib import Path

from polarlab.cli.console import print_result
from polarlab.cli.progress import DRAWING, shown_if_long
from topology.exit_status import Status

SUMMARY = "figures of a run, a sweep or a failover"
EXAMPLES = ("polarlab plot results/RUN",)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab plot`."""
    from polarlab.cli.options.output import add_json_option

    parser.add_argument(
        "results", type=Path, metavar="RESULTS", help="directory of a run, a sweep or a failover"
    )
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> Status:
    """Draws the figures of results into their directory and prints their names."""
    from experiments.figures.plot import plot_results

    with shown_if_long(DRAWING):
        paths = plot_results(arguments.results)
    print_result(arguments, {"figures": [str(path) for path in paths]})
    return Status.DONE
