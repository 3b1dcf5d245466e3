"""`polarlab sweep`: experiments over loads, patterns and routings on one fabric, resumable."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from polarlab.cli.console import print_result, print_table
from polarlab.cli.progress import DRAWING, ConsoleProgress
from topology.exit_status import Status

if TYPE_CHECKING:
    from experiments.spec.fabric import FabricOptions
    from experiments.spec.sweep import SweepOptions
    from experiments.spec.traffic import TrafficOptions

SUMMARY = "experiments over loads, patterns and routings, resumable (root)"
EXAMPLES = (
    "sudo polarlab sweep polarfly --q 5 --hosts 3 --patterns uniform,tornado --loads 0.1:0.9:0.2",
    "sudo polarlab sweep polarstar --q 2 --supernode iq --degree 3 --routings min,ugal",
)
_COLUMNS = ("routing", "pattern", "load", "offered", "accepted", "latency_mean_ms", "valid")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab sweep`."""
    from polarlab.cli.options.fabric import add_fabric_options, add_impairment_options
    from polarlab.cli.options.output import add_json_option, add_out_option, add_strict_option
    from polarlab.cli.options.sweep import add_sweep_options
    from polarlab.cli.options.traffic import add_faults_option

    add_fabric_options(parser)
    add_impairment_options(parser)
    add_sweep_options(parser)
    add_faults_option(parser)
    add_out_option(parser, "; a sweep in it goes on", "in results/, by name, hosts and link rate")
    add_strict_option(parser)
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> Status:
    """Runs a sweep and prints its points; returns NEGATIVE under --strict if one is not valid."""
    from emulation.requirements import require_emulation
    from polarlab.cli.options.output import strict_status
    from polarlab.cli.options.sweep import read_sweep

    options = read_sweep(arguments)
    fabric, traffic = _read_point(arguments, options)
    out = arguments.out or _default_directory(fabric)
    require_emulation()
    from experiments.codec import plain
    from experiments.events.outcomes import FiguresDrawn, PointsInvalid, PointsMeasured
    from experiments.figures.sweep import plot_sweep
    from experiments.results.sweep_points import rows_of
    from experiments.sweep import run_sweep

    with ConsoleProgress() as progress:
        measured = run_sweep(fabric, traffic, options, out, progress)
        progress(PointsMeasured(measured, out))
        progress.begin(DRAWING)
        figures = plot_sweep(out)
        progress(FiguresDrawn(tuple(figures)))
        points = rows_of(out, options.points())
        invalid = sum(not point.valid for point in points)
        if invalid:
            progress(PointsInvalid(invalid, len(points), out))
    if arguments.json:
        result = {"folder": str(out), "measured": measured, "points": plain(points)}
        print_result(arguments, {**result, "figures": [str(path) for path in figures]})
    else:
        print_table([point.cells() for point in points], _COLUMNS)
    return strict_status(arguments, not invalid)


def _read_point(arguments: argparse.Namespace, options: SweepOptions) -> tuple[FabricOptions, TrafficOptions]:
    """Returns the specification of the first pattern at the highest load; all patterns are checked."""
    from polarlab.cli.options.fabric import read_fabric
    from polarlab.cli.options.traffic import read_repeat, read_traffic

    fabric = read_fabric(arguments, options.routings[0])
    traffic = [read_traffic(arguments, fabric, pattern, options.loads[-1]) for pattern in options.patterns]
    read_repeat(arguments, traffic[0])
    return fabric, traffic[0]


def _default_directory(fabric: FabricOptions) -> Path:
    """Returns the directory that a sweep of the same fabric always has, so that it goes on."""
    from experiments.spec.fabric import AUTO_RATE
    from experiments.spec.values import DEFAULT_RESULTS, plain_name

    rate = AUTO_RATE if fabric.calibrate else f"{fabric.links.rate_bps / 1000:g}kbit"
    return DEFAULT_RESULTS / plain_name("sweep", fabric.name, *fabric.params.values(), fabric.hosts, rate)
