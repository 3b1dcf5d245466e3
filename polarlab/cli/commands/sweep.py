"""`polarlab sweep`: runs experiments over loads, patterns, routings and other options on one fabric."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import polarlab
from polarlab import UsageError
from polarlab.cli.console import print_result, print_table
from polarlab.cli.page import page_address
from polarlab.cli.progress import ConsoleProgress, draw_figures
from polarlab.process import Status

SUMMARY = "experiments over loads, patterns, routings and other options, resumable (root, unless simulated)"
EXAMPLES = (
    "sudo polarlab sweep polarfly --q 5 --hosts 3 --patterns uniform,tornado --loads 0.1:0.9:0.2",
    "sudo polarlab sweep polarstar --q 2 --supernode iq --degree 3 --routings min,ugal",
    "sudo polarlab sweep polarfly --q 3 --hosts 2 --link-rate 500kbit --loads 0.8 --vary queue=8,16,32,64",
    "polarlab sweep polarfly --q 7 --hosts 4 --engine simulation --repeat 3",
    "polarlab sweep polarfly --q 5 --hosts 3 --engine simulation --scheduler tcp://127.0.0.1:8786",
)
_POINT = ("routing", "pattern", "load")


def run(arguments: argparse.Namespace) -> Status:
    """Runs a sweep and prints its points; returns NEGATIVE under --strict if one is not valid."""
    from polarlab.api.command_line.declarations import SWEEP
    from polarlab.api.command_line.events import Event, Notice, PointsMeasured, Unthrottled
    from polarlab.api.command_line.records import plain

    chosen = arguments.experiment.resolve()
    simulated = arguments.experiment.declared_kind != SWEEP
    if simulated and arguments.strict:
        raise UsageError(
            "--strict is for --engine emulation: simulations are valid on any machine; leave it out"
        )
    out, measured = arguments.experiment.folder(chosen), 0

    def on_event(event: Event) -> None:
        nonlocal measured
        if isinstance(event, PointsMeasured):
            measured = event.measured
        progress(event)

    places = {"workers": arguments.workers, "scheduler": arguments.scheduler}
    places |= {"cluster_tls": arguments.cluster_tls, "insecure_cluster": arguments.insecure_cluster}
    with ConsoleProgress() as progress:
        web = page_address(arguments)
        results = polarlab.sweep(
            arguments.experiment, out=out, progress=Unthrottled(on_event), web=web, **places
        )
        figures = draw_figures(results, progress)
        held = results.points
        points = [held[point] for point in chosen.sweep.points()]
        invalid = sum(not getattr(point, "valid", True) for point in points)  # simulated: always valid
        if invalid:
            remedy = results.remedy if isinstance(results, polarlab.Sweep) else ""
            progress(Notice("points-invalid", invalid=invalid, points=len(points), folder=out, remedy=remedy))
    if arguments.json:
        result = {"folder": str(out), "measured": measured, "points": plain(points)}
        print_result(arguments, {**result, "figures": [str(path) for path in figures]})
    else:
        _print_points(results, points, [variation.key for variation in chosen.sweep.vary])
    return Status.NEGATIVE if arguments.strict and invalid else Status.DONE


def _print_points(results: Any, points: Sequence[Any], keys: Sequence[str]) -> None:
    """Prints a table of points, in which means have their confidence intervals.

    Args:
        results: the sweep.
        points: rows of its points.
        keys: keys of --vary, which are columns.
    """
    from polarlab.api.command_line.records import In, metrics, with_half

    shown = [metric.key for metric in metrics(results.engine, In.SWEEP)]
    rows = []
    for point in points:
        halves, cells = results.halves(point.point), dict.fromkeys(keys, "") | point.shown()
        means = {key: with_half(getattr(point, key), halves[key]) for key in shown if key in halves}
        rows.append(cells | means)
    print_table(rows, (*_POINT, *keys, *shown))
