"""The commands about what was measured before: `plot`, `report` and `compare`."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from experiments.errors import Status
from experiments.results.text import readable
from polarlab.cli.console import add_json, print_result, print_table


def plot_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab plot`."""
    parser.add_argument(
        "results", type=Path, metavar="RESULTS", help="the folder of a run, a sweep or a failover"
    )
    add_json(parser)


def plot(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab plot` is for."""
    from experiments.figures.failover import is_failover, plot_failover
    from experiments.figures.run import plot_run
    from experiments.figures.sweep import is_sweep, plot_sweep

    folder = arguments.results
    if is_sweep(folder):
        paths = plot_sweep(folder)
    else:
        paths = plot_failover(folder) if is_failover(folder) else plot_run(folder)
    print_result(arguments, {"figures": [str(path) for path in paths]})
    return Status.DONE


def report_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab report`."""
    parser.add_argument("results", type=Path, metavar="DIR", help="the folder of a sweep or a run")
    parser.add_argument("--out", type=Path, metavar="FILE", help="a new file (default report.html in DIR)")
    add_json(parser)


def report(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab report` is for."""
    from experiments.report.page import write_report

    print_result(arguments, {"report": str(write_report(arguments.results, arguments.out))})
    return Status.DONE


def compare_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab compare`."""
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="the folder of a run")
    parser.add_argument("--figure", metavar="FILE", type=Path, help="draw them into a .png or .svg")
    add_json(parser)


def compare(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab compare` is for."""
    from experiments.results.comparison import compare

    comparison = compare(arguments.runs)
    if arguments.figure:
        from experiments.figures.comparison import draw_comparison

        draw_comparison(comparison, arguments.figure)
    if arguments.json:
        print_result(arguments, asdict(comparison))
        return Status.DONE
    if comparison.same:
        print("all: " + ", ".join(f"{name} {readable(value)}" for name, value in comparison.same.items()))
    rows = [
        {"": name, **dict(zip(comparison.runs, map(readable, values), strict=True))}
        for name, values in {**comparison.differing, **comparison.results}.items()
    ]
    print_table(rows, ("", *comparison.runs))
    return Status.DONE
