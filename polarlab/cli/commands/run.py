"""`polarlab run`: measures one experiment."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polarlab
from polarlab import NegativeResult
from polarlab.api.command_line.events import Unthrottled
from polarlab.cli.console import print_result, print_table, reader_may_end
from polarlab.cli.page import page_address
from polarlab.cli.progress import ConsoleProgress, draw_figures
from polarlab.process import Status, Terminated

if TYPE_CHECKING:
    from polarlab import Run
    from polarlab.api.command_line.records import Summary

SUMMARY = "one experiment: traffic over a fabric, measured (root)"
EXAMPLES = (
    "sudo polarlab run polarfly --q 5 --hosts 2 --link-rate 500kbit --load 0.3 --duration 10",
    "sudo polarlab run polarfly --q 3 --link-rate auto --pattern tornado --strict",
    "sudo polarlab run polarfly --q 3 --load 0.5 --repeat 5",
    "sudo polarlab run polarfly --q 3 --link-rate 10Mbit --flow-sizes web-search --load 0.4",
    "sudo polarlab run polarfly --q 3 --pattern allreduce:ring --ranks 8 --message-bytes 64KiB,1MiB",
    'sudo polarlab run polarfly --q 3 --exec "h5_1 iperf3 -s &" --exec "h1_1 iperf3 -c h5_1 -t 5"',
    'sudo polarlab run polarfly --q 3 --load 0.3 --exec "h1_1 ping -c 10 h5_1" --pcap h1_1,link:s1-s10',
)


def run(arguments: argparse.Namespace) -> Status:
    """Runs one experiment and prints its summary.

    Returns:
        NEGATIVE if a program of the user failed, or under --strict if the result is not valid.
    """
    out = arguments.experiment.folder(arguments.experiment.resolve())
    try:
        with ConsoleProgress() as progress:
            results = polarlab.run(
                arguments.experiment, progress=Unthrottled(progress), out=out, web=page_address(arguments)
            )
            draw_figures(results, progress)
    except (KeyboardInterrupt, Terminated, NegativeResult):
        _print_kept(arguments, polarlab.Run(out))
        raise
    summary = results.summary
    with reader_may_end():
        print_summary(arguments, summary)
    if any(program.failed for program in summary.programs or ()):
        return Status.NEGATIVE
    return Status.NEGATIVE if arguments.strict and not summary.fidelity.valid else Status.DONE


def _print_kept(arguments: argparse.Namespace, kept: Run) -> None:
    """With --json, prints the result of a run that ended early, unless it has measured nothing."""
    from polarlab.api.command_line.records import plain

    if arguments.json and kept.measured:
        with reader_may_end():
            print_result(arguments, plain(kept.summary))


def print_summary(arguments: argparse.Namespace, summary: Summary) -> None:
    """Prints a run's summary, as JSON or with tables."""
    from polarlab.api.command_line.records import class_rows, plain, readable

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
    """Returns column -> cell for a user's program, from its JSON record."""
    end = "timed out" if program["timed_out"] else "ended by PolarLab"
    return {
        "program": f"{program['host']} {program['command']}" + (" &" if program["server"] else ""),
        "status": end if program["status"] is None else program["status"],
        **{name: program[name] for name in ("started_s", "ended_s", "output")},
    }
