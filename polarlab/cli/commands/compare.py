"""`polarlab compare`: runs side by side."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from polarlab.cli.console import print_result, print_table
from polarlab.cli.progress import DRAWING, shown_if_long
from topology.exit_status import Status

SUMMARY = "runs side by side: their differing settings, and their results"
EXAMPLES = (
    "polarlab compare results/RUN results/OTHER",
    "polarlab compare results/RUN results/OTHER --figure both.png",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab compare`."""
    from polarlab.cli.options.output import add_json_option

    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="directory of a run")
    parser.add_argument("--figure", metavar="FILE", type=Path, help="new figure of all, .png or .svg")
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> Status:
    """Prints the settings in which runs differ, and their results, and draws them if asked for."""
    from experiments.results.comparison import compare
    from experiments.results.text import readable

    comparison = compare(arguments.runs)
    if arguments.figure:
        from experiments.figures.comparison import draw_comparison

        with shown_if_long(DRAWING):
            draw_comparison(comparison, arguments.figure)
    if arguments.json:
        print_result(arguments, asdict(comparison))
        return Status.DONE
    if comparison.same:
        print("all: " + ", ".join(f"{name} {readable(value)}" for name, value in comparison.same.items()))
    rows = [
        {"": name, **dict(zip(comparison.runs, map(readable, values), strict=True))}
        for table in (comparison.differing, comparison.results)
        for name, values in table.items()
    ]
    print_table(rows, ("", *comparison.runs))
    return Status.DONE
