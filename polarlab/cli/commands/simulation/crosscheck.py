"""`polarlab crosscheck`: real packets beside the same packets on simulated switches."""

from __future__ import annotations

import argparse

import polarlab
from polarlab.api.command_line.events import EveryEvent
from polarlab.cli.console import print_result, print_table, reader_may_end
from polarlab.cli.progress import ConsoleProgress
from polarlab.process import Status

SUMMARY = "real packets of a run or a sweep beside the same packets on simulated switches, and theory"
EXAMPLES = ("polarlab crosscheck results/RUN", "polarlab crosscheck results/SWEEP --json")
_QUANTITIES = {"accepted": "accepted", "hops_mean": "hops", "queueing_frame_times": "queueing"}


def run(arguments: argparse.Namespace) -> Status:
    """Simulates the packets of measured results, and prints both outcomes."""
    from polarlab.api.command_line.records import plain, readable

    with ConsoleProgress() as progress:
        progress.begin("simulating")
        agreement = plain(polarlab.crosscheck(arguments.results, progress=EveryEvent(progress)))
    with reader_may_end():
        if arguments.json:
            print_result(arguments, agreement)
            return Status.DONE
        rows = []
        for point in agreement["points"]:
            row = {name: readable(point[name]) for name in ("routing", "pattern", "load")}
            for name, title in _QUANTITIES.items():
                row[title] = readable(point[name])
                row[f"{title} simulated"] = readable(point[f"{name}_simulated"])
            row["accepted, credits"] = readable(point["accepted_credit"])
            row["accepted predicted"] = readable(point["accepted_predicted"])
            row["valid"] = readable(point["valid"])
            rows.append(row)
        print_table(rows, tuple(rows[0]))
    return Status.DONE
