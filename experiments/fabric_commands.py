"""The commands that launch fabrics, draw what was measured on them, and remove what is left of them."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from experiments.errors import Status
from experiments.printing import add_json, print_result
from experiments.progress import Progress


def up_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab up`."""
    from experiments import options

    options.add_fabric_arguments(parser)
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
    require_emulation()
    from emulation.prompt import open_prompt, run_lines
    from experiments.fabric import live_fabric

    progress = Progress()
    with live_fabric(options, progress) as fabric:
        if arguments.lines:
            return Status.DONE if run_lines(fabric.network, arguments.lines) == 0 else Status.NEGATIVE
        progress("Mininet's prompt; `help` lists its commands, `exit` takes the fabric down")
        open_prompt(fabric.network)
    return Status.DONE


def run_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab run`."""
    from experiments import options
    from experiments.options import output_path

    options.add_fabric_arguments(parser)
    options.add_traffic_arguments(parser)
    parser.add_argument("--pcap", metavar="HOST", help="capture what passes a host, as h1_1")
    parser.add_argument("--out", type=output_path, metavar="DIR", help="where to (default below results/)")
    add_json(parser)


def run(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab run` is for."""
    from emulation.machine import require_emulation
    from experiments.options import DEFAULT_RESULTS, check_packet_rate, read_fabric, read_traffic

    fabric, traffic = read_fabric(arguments), read_traffic(arguments)
    check_packet_rate(fabric, traffic)
    require_emulation()
    from experiments.runner import run_experiment

    words = [fabric.name, *map(str, fabric.params.values()), fabric.routing, traffic.pattern]
    stamp = time.strftime("%Y%m%d-%H%M%S")
    out = arguments.out or DEFAULT_RESULTS / "-".join([*words, f"{traffic.load:g}", stamp])
    progress = Progress()
    summary = run_experiment(fabric, traffic, out, arguments.pcap, progress)
    from experiments.plots import plot_run

    for path in plot_run(out):
        progress(f"drawn: {path}")
    print_result(arguments, summary)
    return Status.DONE


def plot_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab plot`."""
    parser.add_argument("results", type=Path, metavar="RESULTS", help="the folder of a run")
    add_json(parser)


def plot(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab plot` is for."""
    from experiments.plots import plot_run

    paths = [str(path) for path in plot_run(arguments.results)]
    print_result(arguments, {"figures": paths})
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
