"""`polarlab saturation`: finds the highest stable load of a simulated network by bisection."""

from __future__ import annotations

import argparse

import polarlab
from polarlab.api.command_line.events import Unthrottled
from polarlab.cli.console import print_result, print_table, reader_may_end
from polarlab.cli.progress import ConsoleProgress
from polarlab.process import Status

SUMMARY = "highest stable load of a simulated network, by bisection"
EXAMPLES = (
    "polarlab saturation polarfly --q 3 --hosts 2 --pattern tornado",
    "polarlab saturation polarfly --q 3 --routing ugal-pf --pattern perm2hop --precision 0.05 --json",
)


def run(arguments: argparse.Namespace) -> Status:
    """Finds the saturation of a network and prints it with the loads that were tried."""
    from polarlab.api.simulations import SaturationInterrupted

    try:
        with ConsoleProgress() as progress:
            progress.begin("planning")
            found = polarlab.saturation(arguments.experiment, progress=Unthrottled(progress))
    except SaturationInterrupted as interruption:
        with reader_may_end():
            _print(arguments, interruption.result)
        raise
    with reader_may_end():
        _print(arguments, found)
    return Status.DONE


def _print(arguments: argparse.Namespace, found: polarlab.Saturation) -> None:
    """Prints a saturation, as JSON or with a table of the loads that were tried."""
    from polarlab.api.command_line.records import plain, readable

    result = plain(found)
    if arguments.json:
        print_result(arguments, result)
        return
    points = sorted(result.pop("points"), key=lambda point: float(point["load"]))
    print_result(arguments, result)
    rows = [{name: readable(value) for name, value in point.items()} for point in points]
    if rows:
        print()
        print_table(rows, tuple(rows[0]))
