"""`polarlab run`: one experiment, measured."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polarlab.cli.console import print_result, print_table, reader_may_end
from polarlab.cli.progress import DRAWING, ConsoleProgress
from topology.errors import NegativeResult
from topology.exit_status import Status, Terminated

if TYPE_CHECKING:
    from experiments.results.model import Summary
    from experiments.results.record import RunOptions
    from experiments.spec.fabric import FabricOptions
    from experiments.spec.programs import ProgramOptions

SUMMARY = "one experiment: traffic over a fabric, measured (root)"
EXAMPLES = (
    "sudo polarlab run polarfly --q 5 --hosts 2 --link-rate 500kbit --load 0.3 --duration 10",
    "sudo polarlab run polarfly --q 3 --link-rate auto --pattern tornado --warmup steady",
    "sudo polarlab run polarfly --q 3 --load 0.5 --repeat 5",
    "sudo polarlab run polarfly --q 3 --link-rate 10Mbit --flow-sizes web-search --load 0.4",
    "sudo polarlab run polarfly --q 3 --pattern allreduce:ring --ranks 8 --message-bytes 64KiB,1MiB",
    'sudo polarlab run polarfly --q 3 --exec "h5_1 iperf3 -s &" --exec "h1_1 iperf3 -c h5_1 -t 5"',
    'sudo polarlab run polarfly --q 3 --load 0.3 --exec "h1_1 ping -c 10 h5_1" --pcap h1_1,link:s1-s10',
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab run`."""
    from polarlab.cli.options.collective import add_collective_options
    from polarlab.cli.options.fabric import add_fabric_options, add_impairment_options, add_routing_option
    from polarlab.cli.options.flows import add_flow_options
    from polarlab.cli.options.output import (
        add_json_option,
        add_out_option,
        add_pcap_option,
        add_strict_option,
    )
    from polarlab.cli.options.programs import add_program_options
    from polarlab.cli.options.traffic import add_faults_option, add_packet_options, add_pattern_options

    add_fabric_options(parser)
    add_impairment_options(parser)
    add_routing_option(parser)
    add_pattern_options(parser)
    add_packet_options(parser)
    add_flow_options(parser)
    add_collective_options(parser)
    add_program_options(parser)
    add_faults_option(parser)
    add_pcap_option(parser)
    add_out_option(parser)
    add_strict_option(parser)
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> Status:
    """Runs one experiment and prints its summary.

    Returns:
        NEGATIVE if a program of the user failed, or under --strict if the result is not valid.
    """
    from emulation.requirements import require_emulation
    from experiments.spec.captures import parse_captures
    from polarlab.cli.options.fabric import read_fabric
    from polarlab.cli.options.output import dated_directory, strict_status
    from polarlab.cli.options.programs import read_program_options

    fabric = read_fabric(arguments, arguments.routing)
    programs = read_program_options(arguments, fabric)
    traffic, volume, repeat = _read_traffic(arguments, fabric, programs)
    captures = parse_captures(arguments.pcap, fabric.topology, fabric.hosts)
    require_emulation()
    from experiments.events.outcomes import FiguresDrawn
    from experiments.figures.run import plot_run
    from experiments.run import Output, run_experiment

    words = (fabric.name, *fabric.params.values(), fabric.routing, traffic.pattern, volume)
    out = arguments.out or dated_directory(*words)
    try:
        with ConsoleProgress() as progress:
            summary = run_experiment(fabric, traffic, Output(out, captures, repeat), progress, programs)
            progress.begin(DRAWING)
            progress(FiguresDrawn(tuple(plot_run(out))))
    except (KeyboardInterrupt, Terminated, NegativeResult):
        _print_kept(arguments, out)
        raise
    with reader_may_end():
        _print_summary(arguments, summary)
    if any(program.failed for program in summary.programs or ()):
        return Status.NEGATIVE
    return strict_status(arguments, summary.fidelity.valid)


def _print_kept(arguments: argparse.Namespace, out: Path) -> None:
    """Prints the result of a run that did not end as it should, under --json, if anything was measured."""
    from experiments.codec import plain, read_record
    from experiments.results.model import Summary
    from experiments.results.run_directory import SUMMARY as FILE

    if arguments.json and (out / FILE).exists():
        with reader_may_end():
            print_result(arguments, plain(read_record(out / FILE, Summary)))


def _read_traffic(
    arguments: argparse.Namespace, fabric: FabricOptions, programs: ProgramOptions
) -> tuple[RunOptions, str, int]:
    """Returns the specification of a run's traffic, its volume in words, and the number of replications."""
    from experiments.spec.traffic import DEFAULT_PATTERN
    from polarlab.cli.options.collective import read_collective, refuse_collective_options
    from polarlab.cli.options.flows import asks_for_flows, read_flow_options
    from polarlab.cli.options.programs import is_program_traffic, read_program_traffic
    from polarlab.cli.options.traffic import read_repeat, read_traffic, value_or
    from traffic.workload.collectives.operations import is_collective

    alone = is_program_traffic(arguments, programs) and not asks_for_flows(arguments)
    if alone:
        refuse_collective_options(arguments)
        own = read_program_traffic(arguments, fabric, programs)
        return own, f"{len(programs.programs)}", read_repeat(arguments, own)
    if asks_for_flows(arguments):
        flows = read_flow_options(arguments, fabric)
        words = f"{flows.load:g}" if flows.load else "flows"
        return flows, words, read_repeat(arguments, flows)
    arguments.pattern = value_or(arguments.pattern, DEFAULT_PATTERN)
    if is_collective(arguments.pattern):
        collective = read_collective(arguments, fabric)
        return collective, f"{collective.ranks}", 1
    refuse_collective_options(arguments)
    traffic = read_traffic(arguments, fabric, arguments.pattern, arguments.load)
    return traffic, f"{traffic.load:g}", read_repeat(arguments, traffic)


def _print_summary(arguments: argparse.Namespace, summary: Summary) -> None:
    """Prints a run's summary; without --json, parts with several rows as tables."""
    from experiments.codec import plain
    from experiments.results.parts.flows import class_rows
    from experiments.results.text import readable

    result = plain(summary)
    if arguments.json:
        print_result(arguments, result)
        return
    collective, repeat = dict(result.get("collective", {})), dict(result.get("repeat", {}))
    tables = [collective.pop("sizes", [])]
    if summary.flows:
        tables.append(class_rows(summary.flows.classes))
        result["flows"] = {name: value for name, value in result["flows"].items() if name != "classes"}
    tables.append([{"mean over seeds": n, **v} for n, v in repeat.items() if isinstance(v, dict)])
    events = summary.faults.events if summary.faults else ()
    tables.append([{"time_s": f"{time_s:.3f}", "fault or plan": text} for time_s, text in events])
    tables.append([_program_row(program) for program in result.get("programs", [])])
    others = {n: v for n, v in result.items() if n not in ("collective", "repeat", "faults", "programs")}
    if collective:
        kept = ("name", "algorithm", "ranks", "wrong_results", "resent", "acknowledgements")
        others["collective"] = {name: collective[name] for name in kept}
    print_result(arguments, others)
    for rows in filter(None, tables):
        print()
        print_table([{n: readable(v) for n, v in row.items()} for row in rows], tuple(rows[0]))


def _program_row(program: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a program of the user as a row of a table."""
    end = "timed out" if program["timed_out"] else "ended by PolarLab"
    return {
        "program": f"{program['host']} {program['command']}" + (" &" if program["server"] else ""),
        "status": end if program["status"] is None else program["status"],
        **{name: program[name] for name in ("started_s", "ended_s", "output")},
    }
