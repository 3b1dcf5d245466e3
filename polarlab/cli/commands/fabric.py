"""The commands that launch fabrics: `up`, `run` and `sweep`."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from experiments.errors import Status
from experiments.events.outcomes import (
    CommandFailed,
    FiguresDrawn,
    PointsInvalid,
    PointsMeasured,
    PromptOpened,
)
from experiments.results.text import readable
from polarlab.cli.console import add_json, print_result, print_table
from polarlab.cli.progress import ConsoleProgress
from topology.errors import UsageError

if TYPE_CHECKING:
    from experiments.measurement import RunOptions


def up_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab up`."""
    from experiments.spec.fabric import (
        add_fabric_arguments,
        add_impairment_arguments,
        add_routing_argument,
    )

    add_fabric_arguments(parser)
    add_impairment_arguments(parser)
    add_routing_argument(parser)
    parser.add_argument(
        "--exec",
        action="append",
        metavar="CMD",
        dest="lines",
        help="run a line of the prompt and end; may be given several times, until one fails",
    )


def up(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab up` is for."""
    from emulation.requirements import require_emulation
    from experiments.spec.fabric import read_fabric

    options = read_fabric(arguments)
    if options.calibrate:
        raise UsageError("--link-rate auto needs traffic to go by, and `up` runs none; give a rate")
    require_emulation()
    from emulation.mininet_cli import open_prompt, run_lines
    from experiments.live_fabric import live_fabric, told_drops

    progress = ConsoleProgress()
    with live_fabric(options, progress) as fabric:
        status = Status.DONE
        if arguments.lines:
            failed = run_lines(fabric.network, arguments.lines)
            if failed:
                progress(CommandFailed(failed.line, failed.status))
                status = Status.NEGATIVE
        else:
            progress(PromptOpened())
            open_prompt(fabric.network)
        told_drops(fabric.network, progress)
    return status


def run_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab run`."""
    from experiments.spec.collective import add_collective_arguments
    from experiments.spec.fabric import (
        add_fabric_arguments,
        add_impairment_arguments,
        add_routing_argument,
    )
    from experiments.spec.traffic import add_faults_argument, add_strict_argument, add_traffic_arguments
    from experiments.spec.values import output_path

    add_fabric_arguments(parser)
    add_impairment_arguments(parser)
    add_routing_argument(parser)
    add_traffic_arguments(parser)
    add_collective_arguments(parser)
    add_faults_argument(parser)
    parser.add_argument("--pcap", metavar="HOST", help="capture what passes a host, as h1_1")
    parser.add_argument("--out", type=output_path, metavar="DIR", help="where to (default below results/)")
    add_strict_argument(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab run` is for."""
    from emulation.requirements import require_emulation
    from experiments.spec.collective import read_collective, refuse_collective_options
    from experiments.spec.fabric import read_fabric
    from experiments.spec.traffic import check_packet_rate, read_traffic
    from experiments.spec.values import DEFAULT_RESULTS
    from traffic.workload.collectives.operations import is_collective

    fabric = read_fabric(arguments)
    traffic: RunOptions
    if is_collective(arguments.pattern):
        traffic = read_collective(arguments, fabric)
        volume = f"{traffic.ranks}"
    else:
        refuse_collective_options(arguments)
        traffic = read_traffic(arguments, fabric.topology)
        check_packet_rate(fabric, traffic)
        volume = f"{traffic.load:g}"
    require_emulation()
    from experiments.run import run_experiment
    from experiments.spec.values import plain_name

    words = [fabric.name, *fabric.params.values(), fabric.routing, traffic.pattern]
    stamp = time.strftime("%Y%m%d-%H%M%S")
    out = arguments.out or DEFAULT_RESULTS / plain_name(*words, volume, stamp)
    progress = ConsoleProgress()
    summary = run_experiment(fabric, traffic, out, arguments.pcap, progress, arguments.repeat or 1)
    from experiments.figures.run import plot_run

    progress(FiguresDrawn(tuple(plot_run(out))))
    _print_summary(arguments, summary)
    return _status(arguments, summary["fidelity"]["valid"])


def _print_summary(arguments: argparse.Namespace, summary: dict[str, Any]) -> None:
    """Prints a run's summary; for people, what has several rows as tables."""
    if arguments.json:
        print_result(arguments, summary)
        return
    collective = dict(summary.get("collective", {}))
    repeat = dict(summary.get("repeat", {}))
    tables = [collective.pop("sizes", [])]
    tables.append([{"mean over seeds": n, **v} for n, v in repeat.items() if isinstance(v, dict)])
    others = {n: v for n, v in summary.items() if n not in ("collective", "repeat")}
    if collective:
        kept = ("name", "algorithm", "ranks", "wrong_results", "resent", "acknowledgements")
        others["collective"] = {name: collective[name] for name in kept}
    print_result(arguments, others)
    for rows in filter(None, tables):
        print()
        print_table([{n: readable(v) for n, v in row.items()} for row in rows], tuple(rows[0]))


def sweep_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab sweep`."""
    from experiments.spec.fabric import add_fabric_arguments, add_impairment_arguments
    from experiments.spec.sweep import add_sweep_arguments
    from experiments.spec.traffic import add_faults_argument, add_strict_argument
    from experiments.spec.values import output_path

    add_fabric_arguments(parser)
    add_impairment_arguments(parser)
    add_sweep_arguments(parser)
    add_faults_argument(parser)
    parser.add_argument(
        "--out",
        type=output_path,
        metavar="DIR",
        help="where to, and where to go on (default below results/, by name, hosts and link rate)",
    )
    add_strict_argument(parser)
    add_json(parser)


def sweep(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab sweep` is for."""
    from emulation.requirements import require_emulation
    from experiments.spec.fabric import AUTO_RATE, read_fabric
    from experiments.spec.sweep import read_sweep
    from experiments.spec.traffic import check_packet_rate, read_traffic
    from experiments.spec.values import DEFAULT_RESULTS

    options = read_sweep(arguments)
    # One point stands for all where an option is checked or a rate is looked for.
    arguments.routing, arguments.load = options.routings[0], options.loads[-1]
    fabric = read_fabric(arguments)
    for pattern in reversed(options.patterns):
        arguments.pattern = pattern
        traffic = read_traffic(arguments, fabric.topology)
    check_packet_rate(fabric, traffic)
    require_emulation()
    from experiments.figures.sweep import plot_sweep
    from experiments.results.tables import as_numbers, read_points
    from experiments.spec.values import plain_name
    from experiments.sweep import run_sweep

    rate = AUTO_RATE if fabric.calibrate else f"{fabric.links.rate_bps / 1000:g}kbit"
    words = [fabric.name, *fabric.params.values(), fabric.hosts, rate]
    out = arguments.out or DEFAULT_RESULTS / plain_name("sweep", *words)
    progress = ConsoleProgress()
    measured = run_sweep(fabric, traffic, options, out, progress)
    progress(PointsMeasured(measured, out))
    figures = plot_sweep(out)
    progress(FiguresDrawn(tuple(figures)))
    points = read_points(out, options.points())
    invalid = sum(point["valid"] != "yes" for point in points)
    if invalid:
        progress(PointsInvalid(invalid, len(points), out))
    if arguments.json:
        result = {"folder": str(out), "measured": measured, "points": list(map(as_numbers, points))}
        print_result(arguments, {**result, "figures": [str(path) for path in figures]})
    else:
        print_table(points, ("routing", "pattern", "load", "offered", "accepted", "latency_mean_ms", "valid"))
    return _status(arguments, not invalid)


def _status(arguments: argparse.Namespace, valid: bool) -> Status:
    return Status.NEGATIVE if arguments.strict and not valid else Status.DONE
