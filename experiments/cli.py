"""The `polarlab` command: what can be asked for, and how results are printed."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from experiments.errors import Status
from experiments.progress import Progress
from topology.errors import UsageError

EXAMPLES = """examples:
  polarlab topology polarfly --q 7
  polarlab verify polarfly --q 5 --hosts 2
  polarlab predict polarfly --q 5 --hosts 3 --pattern tornado --load 1
  sudo polarlab up polarfly --q 3 --exec "h1_1 ping -c 3 h5_1"
  sudo polarlab run polarfly --q 5 --hosts 2 --load 0.3 --duration 10
  polarlab plot results/RUN
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line with the status for wrong use."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see `{self.prog} --help`)")


def run(arguments: Sequence[str]) -> Status:
    """Parses a command line and does what it says."""
    parsed = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], Status] = parsed.command
    return command(parsed)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="polarlab",
        description="Launches low-diameter networks as real emulated fabrics and measures them.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="subcommand", required=True, metavar="COMMAND")
    for name, summary, add_arguments, command in _COMMANDS:
        subparser = commands.add_parser(name, help=summary, description=summary)
        add_arguments(subparser)
        subparser.set_defaults(command=command)
    return parser


# ---- topology ----


def _topology_arguments(parser: argparse.ArgumentParser) -> None:
    from experiments import options

    options.add_topology_arguments(parser)
    options.add_hosts_argument(parser)
    parser.add_argument(
        "--export",
        nargs=2,
        metavar=("FORMAT", "FILE"),
        help="write the graph as graphml, adjlist or json",
    )
    _add_json(parser)


def _topology(arguments: argparse.Namespace) -> Status:
    import numpy as np

    from experiments.exports import export
    from experiments.options import read_topology
    from topology.addressing import check_hosts

    check_hosts(arguments.hosts)
    params, topology = read_topology(arguments)
    degrees, counts = np.unique(topology.degrees, return_counts=True)
    if arguments.export:
        export(topology, arguments.export[0], Path(arguments.export[1]))
    result = {
        "name": arguments.name,
        "params": params,
        "routers": topology.routers,
        "links": topology.links,
        "degrees": {str(d): int(n) for d, n in zip(degrees, counts, strict=True)},
        "diameter": topology.diameter,
        "average_path_length": round(topology.average_path_length, 6),
        "moore_efficiency": round(topology.moore_efficiency, 6),
        "endpoints": topology.routers * arguments.hosts,
    }
    _print_result(arguments, result)
    return Status.DONE


# ---- verify ----


def _verify_arguments(parser: argparse.ArgumentParser) -> None:
    from experiments import options

    options.add_topology_arguments(parser)
    options.add_hosts_argument(parser)
    options.add_routing_argument(parser)
    parser.add_argument(
        "--failures", default="none", help="none, links or switches, one at a time (default none)"
    )
    _add_json(parser)


def _verify(arguments: argparse.Namespace) -> Status:
    from controller.failures import NO_FAILURE, link_failures, switch_failures
    from controller.routings import make_plan
    from controller.walk import FAULTS_KEPT, prove
    from experiments.options import read_topology

    params, topology = read_topology(arguments)
    scenarios = {
        "none": lambda: [NO_FAILURE],
        "links": lambda: [NO_FAILURE, *link_failures(topology)],
        "switches": lambda: [NO_FAILURE, *switch_failures(topology)],
    }
    if arguments.failures not in scenarios:
        raise UsageError(f"unknown failures {arguments.failures!r}; there are: {', '.join(scenarios)}")
    started = time.monotonic()
    plan = make_plan(topology, arguments.hosts, arguments.routing)
    proof = prove(plan, scenarios[arguments.failures]())
    size = plan.size()
    result = {
        "name": arguments.name,
        "params": params,
        "routing": arguments.routing,
        "failures": arguments.failures,
        "ok": proof.ok,
        "pairs": proof.pairs,
        "scenarios": proof.scenarios,
        "delivered": proof.delivered,
        "max_hops": proof.max_hops,
        "loops": proof.loops,
        "blackholes": proof.blackholes,
        "misdelivered": proof.misdelivered,
        "over_bound": proof.over_bound,
        "miscounted": proof.miscounted,
        "flows_per_switch_max": size.flows_per_switch_max,
        "groups_per_switch_max": size.groups_per_switch_max,
        "buckets_per_switch_max": size.buckets_per_switch_max,
        "seconds": round(time.monotonic() - started, 3),
    }
    _print_result(arguments, result)
    for fault in proof.faults:
        print(f"polarlab: {fault}", file=sys.stderr)
    if len(proof.faults) == FAULTS_KEPT:
        print("polarlab: these are the first; there may be more", file=sys.stderr)
    return Status.DONE if proof.ok else Status.NEGATIVE


# ---- predict ----


def _predict_arguments(parser: argparse.ArgumentParser) -> None:
    from experiments import options

    options.add_topology_arguments(parser)
    options.add_hosts_argument(parser)
    options.add_routing_argument(parser)
    options.add_pattern_arguments(parser)
    _add_json(parser)


def _predict(arguments: argparse.Namespace) -> Status:
    from controller.routings import make_plan
    from experiments.options import read_topology
    from experiments.prediction import predict_pattern
    from topology.addressing import switch_name
    from traffic.patterns import check_load, make_pattern

    params, topology = read_topology(arguments)
    check_load(arguments.load)
    plan = make_plan(topology, arguments.hosts, arguments.routing)
    pattern = make_pattern(arguments.pattern, topology, arguments.hosts, arguments.seed)
    prediction = predict_pattern(plan, pattern, arguments.load)
    links = [
        f"{switch_name(router)}-{switch_name(neighbour)}"
        for router in range(topology.routers)
        for neighbour in topology.neighbours(router).tolist()
    ]
    result: dict[str, Any] = {
        "name": arguments.name,
        "params": params,
        "routing": arguments.routing,
        "pattern": arguments.pattern,
        "hosts": arguments.hosts,
        "offered": arguments.load,
        "accepted": round(prediction.accepted, 6),
        "seed": arguments.seed,
        "link_load_max": round(float(prediction.offered_loads.max()), 6),
        "link_load_mean": round(float(prediction.offered_loads.mean()), 6),
        "links_overloaded": int((prediction.offered_loads > 1 + 1e-9).sum()),
    }
    if arguments.json:
        loads = zip(links, prediction.offered_loads, prediction.carried_loads, strict=True)
        result["links"] = [
            {"link": name, "offered": round(float(a), 6), "carried": round(float(b), 6)}
            for name, a, b in loads
        ]
    _print_result(arguments, result)
    return Status.DONE


# ---- up ----


def _up_arguments(parser: argparse.ArgumentParser) -> None:
    from experiments import options

    options.add_fabric_arguments(parser)
    parser.add_argument(
        "--exec",
        action="append",
        metavar="CMD",
        dest="lines",
        help="run one line of the prompt and end; may be given several times",
    )


def _up(arguments: argparse.Namespace) -> Status:
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


# ---- run ----


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    from experiments import options
    from experiments.options import output_path

    options.add_fabric_arguments(parser)
    options.add_traffic_arguments(parser)
    parser.add_argument("--pcap", metavar="HOST", help="capture what passes a host, as h1_1")
    parser.add_argument("--out", type=output_path, metavar="DIR", help="where to (default below results/)")
    _add_json(parser)


def _run(arguments: argparse.Namespace) -> Status:
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
    _print_result(arguments, summary)
    return Status.DONE


# ---- plot, clean ----


def _plot_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", type=Path, metavar="RESULTS", help="the folder of a run")
    _add_json(parser)


def _plot(arguments: argparse.Namespace) -> Status:
    from experiments.plots import plot_run

    paths = [str(path) for path in plot_run(arguments.results)]
    _print_result(arguments, {"figures": paths})
    return Status.DONE


def _clean(arguments: argparse.Namespace) -> Status:
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


# ---- printing ----


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _print_result(arguments: argparse.Namespace, result: dict[str, Any]) -> None:
    if arguments.json:
        print(json.dumps(result))
        return
    width = max(map(len, result))
    for name, value in result.items():
        print(f"{name:<{width}}  {_readable(value)}")


def _readable(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_readable(entry)}" for key, entry in value.items())
    if isinstance(value, list):
        return ", ".join(map(_readable, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


_COMMANDS: tuple[
    tuple[
        str,
        str,
        Callable[[argparse.ArgumentParser], None],
        Callable[[argparse.Namespace], Status],
    ],
    ...,
] = (
    ("topology", "a graph: its sizes, degrees and diameter", _topology_arguments, _topology),
    ("verify", "prove a routing's rules for every pair of hosts", _verify_arguments, _verify),
    ("predict", "accepted fraction and link loads by a fluid model", _predict_arguments, _predict),
    ("up", "launch a fabric and open Mininet's prompt on it (root)", _up_arguments, _up),
    ("run", "launch a fabric, run traffic over it and measure it (root)", _run_arguments, _run),
    ("plot", "draw the figures of a run", _plot_arguments, _plot),
    ("clean", "remove what a crashed fabric left behind, and only that (root)", _add_json, _clean),
)
