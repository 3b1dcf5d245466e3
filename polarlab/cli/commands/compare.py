"""`polarlab compare`: results of one kind side by side."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import polarlab
from polarlab import UsageError
from polarlab.cli.console import print_result, print_table, print_text
from polarlab.cli.progress import DRAWING, look_of, shown_if_long
from polarlab.process import Status

if TYPE_CHECKING:
    from polarlab import Comparison

SUMMARY = "runs, simulations, sweeps or failovers side by side: all differing settings, and the results"
EXAMPLES = (
    "polarlab compare results/RUN results/OTHER",
    "polarlab compare results/RUN results/OTHER --figure both.png",
    "polarlab compare results/SWEEP results/OTHER-SWEEP",
)


def run(arguments: argparse.Namespace) -> Status:
    """Prints the differing settings and the results, and draws them if requested."""
    from polarlab.api.command_line.records import compared_columns, readable

    if not arguments.figure and any(look_of(arguments)[name] for name in ("width", "order", "x", "booksim")):
        raise UsageError("--width, --order, --x and --booksim need a figure; add --figure FILE")
    comparison = polarlab.compare(*arguments.runs)
    if arguments.figure:
        with shown_if_long(DRAWING):
            comparison.draw(arguments.figure, **look_of(arguments))
    if arguments.json:
        print_result(arguments, asdict(comparison))
        return Status.DONE
    if comparison.same:
        print_text("all: " + ", ".join(f"{n} {readable(v)}" for n, v in comparison.same.items()))
    rows = [_row(comparison, name, values) for name, values in comparison.differing.items()]
    rows += [_row(comparison, name, values) for name, values in comparison.results.items()]
    if rows:
        print_table(rows, ("", *comparison.runs))
    for name in compared_columns(comparison.points):
        _print_points(comparison, name)
    return Status.DONE


def _row(comparison: Comparison, name: str, values: list[Any]) -> dict[str, str]:
    """Returns a row of the table of settings and results: its name, and a cell for each compared run.

    Means over replications have their confidence intervals.
    """
    from polarlab.api.command_line.records import with_half

    halves = comparison.intervals.get(name, [None] * len(values))
    return {"": name, **dict(zip(comparison.runs, map(with_half, values, halves), strict=True))}


def _print_points(comparison: Comparison, name: str) -> None:
    """Prints a metric at every point of all sweeps, and the differences from the first sweep."""
    from polarlab.api.command_line.records import with_half

    first, *others = comparison.runs
    rows = []
    for point in comparison.points:
        row, none = {name: point.name}, [None] * len(comparison.runs)
        word = "valid" if "valid" in point.values else "stable"
        cells = map(with_half, point.values[name], point.intervals.get(name, none))
        for run, cell, good in zip(comparison.runs, cells, point.values[word], strict=True):
            row[run] = cell + (f" (not {word})" if good is False else "")
        differences = point.differences.get(name, none)[1:]
        for other, difference in zip(others, differences, strict=True):
            row[f"{other} - {first}"] = "-" if difference is None else f"{difference:+.4g}"
        rows.append(row)
    print()
    print_table(rows, tuple(rows[0]))
