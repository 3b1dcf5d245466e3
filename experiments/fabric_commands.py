"""The commands that launch fabrics, draw what was measured on them, and remove what is left of them."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.errors import Status
from experiments.printing import add_json, print_result, print_table, readable
from experiments.progress import Progress
from topology.errors import MachineError, UsageError

if TYPE_CHECKING:
    from experiments.runner import RunOptions


def up_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab up`."""
    from experiments import options

    options.add_fabric_arguments(parser)
    options.add_routing_argument(parser)
    parser.add_argument(
        "--exec",
        action="append",
        metavar="CMD",
        dest="lines",
        help="run one line of the prompt and end; may be given several times",
    )


def up(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab up` is for."""
    from emulation.machine import require_emulation
    from experiments.options import read_fabric

    options = read_fabric(arguments)
    if options.calibrate:
        raise UsageError("--link-rate auto needs traffic to go by, and `up` runs none; give a rate")
    require_emulation()
    from emulation.prompt import open_prompt, run_lines
    from experiments.fabric import live_fabric
    from experiments.runner import told_drops

    progress = Progress()
    with live_fabric(options, progress) as fabric:
        status = Status.DONE
        if arguments.lines:
            status = Status.DONE if run_lines(fabric.network, arguments.lines) == 0 else Status.NEGATIVE
        else:
            progress("Mininet's prompt; `help` lists its commands, `exit` takes the fabric down")
            open_prompt(fabric.network)
        told_drops(fabric.network, progress)
    return status


def run_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab run`."""
    from experiments import options
    from experiments.collective_options import add_collective_arguments
    from experiments.options import output_path

    options.add_fabric_arguments(parser)
    options.add_routing_argument(parser)
    options.add_traffic_arguments(parser)
    add_collective_arguments(parser)
    options.add_faults_argument(parser)
    parser.add_argument("--pcap", metavar="HOST", help="capture what passes a host, as h1_1")
    parser.add_argument("--out", type=output_path, metavar="DIR", help="where to (default below results/)")
    options.add_strict_argument(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab run` is for."""
    from emulation.machine import require_emulation
    from experiments.collective_options import read_collective, refuse_collective_options
    from experiments.options import DEFAULT_RESULTS, check_packet_rate, read_fabric, read_traffic
    from traffic.collectives import is_collective

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
    from experiments.records import plain_name
    from experiments.runner import run_experiment

    words = [fabric.name, *fabric.params.values(), fabric.routing, traffic.pattern]
    stamp = time.strftime("%Y%m%d-%H%M%S")
    out = arguments.out or DEFAULT_RESULTS / plain_name(*words, volume, stamp)
    progress = Progress()
    summary = run_experiment(fabric, traffic, out, arguments.pcap, progress, arguments.repeat or 1)
    from experiments.run_plots import plot_run

    progress.drawn(plot_run(out))
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
    from experiments import options
    from experiments.options import output_path

    options.add_fabric_arguments(parser)
    options.add_sweep_arguments(parser)
    options.add_faults_argument(parser)
    parser.add_argument(
        "--out",
        type=output_path,
        metavar="DIR",
        help="where to, and where to go on (default below results/, by name, hosts and link rate)",
    )
    options.add_strict_argument(parser)
    add_json(parser)


def sweep(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab sweep` is for."""
    from emulation.machine import require_emulation
    from experiments.options import (
        AUTO_RATE,
        DEFAULT_RESULTS,
        check_packet_rate,
        read_fabric,
        read_sweep,
        read_traffic,
    )

    routings, patterns, loads = read_sweep(arguments)
    # One point stands for all where an option is checked or a rate is looked for.
    arguments.routing, arguments.load = routings[0], loads[-1]
    fabric = read_fabric(arguments)
    for pattern in reversed(patterns):
        arguments.pattern = pattern
        traffic = read_traffic(arguments, fabric.topology)
    check_packet_rate(fabric, traffic)
    require_emulation()
    from experiments.records import plain_name
    from experiments.sweep import run_sweep
    from experiments.sweep_plots import plot_sweep
    from experiments.sweep_points import SweepOptions, as_numbers, read_points

    rate = AUTO_RATE if fabric.calibrate else f"{fabric.shape.rate_bps / 1000:g}kbit"
    words = [fabric.name, *fabric.params.values(), fabric.hosts, rate]
    out = arguments.out or DEFAULT_RESULTS / plain_name("sweep", *words)
    progress = Progress()
    options = SweepOptions(routings, patterns, loads, arguments.repeat)
    measured = run_sweep(fabric, traffic, options, out, progress)
    progress(f"{measured} points measured; all are in {out}")
    figures = plot_sweep(out)
    progress.drawn(figures)
    points = read_points(out, options)
    invalid = sum(point["valid"] != "yes" for point in points)
    if invalid:
        progress(f"{invalid} of {len(points)} points are not valid; {out}/points tells why of each")
    if arguments.json:
        result = {"folder": str(out), "measured": measured, "points": list(map(as_numbers, points))}
        print_result(arguments, {**result, "figures": [str(path) for path in figures]})
    else:
        print_table(points, ("routing", "pattern", "load", "offered", "accepted", "latency_mean_ms", "valid"))
    return _status(arguments, not invalid)


def _status(arguments: argparse.Namespace, valid: bool) -> Status:
    return Status.NEGATIVE if arguments.strict and not valid else Status.DONE


def plot_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab plot`."""
    parser.add_argument(
        "results", type=Path, metavar="RESULTS", help="the folder of a run, a sweep or a failover"
    )
    add_json(parser)


def plot(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab plot` is for."""
    from experiments.failover_plots import is_failover, plot_failover
    from experiments.run_plots import plot_run
    from experiments.sweep_plots import is_sweep, plot_sweep

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
    from experiments.report import write_report

    print_result(arguments, {"report": str(write_report(arguments.results, arguments.out))})
    return Status.DONE


def compare_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab compare`."""
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="the folder of a run")
    parser.add_argument("--figure", metavar="FILE", type=Path, help="draw them into a .png or .svg")
    add_json(parser)


def compare(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab compare` is for."""
    from experiments.comparison import compare

    comparison = compare(arguments.runs)
    if arguments.figure:
        from experiments.comparison_plots import draw_comparison

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


_EXAMPLES = (("polarfly", 3, 2), ("polarfly", 5, 3), ("polarfly", 7, 1), ("polarfly", 11, 1))


def doctor(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab doctor` is for."""
    from emulation.doctor import examine, largest_fabric_routers, link_rate_bps

    findings = examine()
    missing = [finding for finding in findings if finding.needed and not finding.there]
    fabrics = []
    for name, q, hosts in _EXAMPLES:
        routers = q * q + q + 1
        fits = routers <= largest_fabric_routers(hosts)
        rate = f"{round(link_rate_bps(routers * hosts, 0.5, 1000), -4) / 1e3:g}kbit" if fits else "-"
        fabrics.append(
            {
                "fabric": f"{name} --q {q} --hosts {hosts}",
                "switches": routers,
                "hosts": routers * hosts,
                "fits": "yes" if fits else "no, too little memory",
                "link_rate_at_load_0.5": rate,
            }
        )
    if arguments.json:
        print_result(arguments, {"findings": [asdict(one) for one in findings], "fabrics": fabrics})
        return Status.MACHINE if missing else Status.DONE
    rows = [
        {
            "what": one.name,
            "here": "yes" if one.there else ("NO" if one.needed else "no"),
            "": one.said if one.there else one.remedy,
        }
        for one in findings
    ]
    print_table(rows, ("what", "here", ""))
    print(f"\nUp to {largest_fabric_routers(1):,} switches with a host each fit into the free memory.")
    print("Link rates at which results are valid, by rule of thumb (1,000-byte frames, userspace switches;")
    print("--link-rate auto measures it):\n")
    print_table(fabrics, tuple(fabrics[0]))
    if missing:
        raise MachineError("missing: " + ", ".join(one.name for one in missing))
    return Status.DONE


def clean(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab clean` is for."""
    from emulation.leftovers import clean
    from emulation.machine import require_root

    require_root()
    removed = clean()
    result = {
        "processes": [{"pid": p.pid, "command": p.command} for p in removed.processes],
        "run_directory": removed.run_dir,
    }
    if arguments.json:
        print(json.dumps(result))
    elif removed.processes or removed.run_dir:
        print(f"removed {len(removed.processes)} processes of a fabric that had crashed")
    else:
        print("nothing was left behind")
    return Status.DONE
