"""`polarlab simulate`: runs one experiment on simulated routers with the plan that switches would have."""

from __future__ import annotations

import argparse

import polarlab
from polarlab import NegativeResult
from polarlab.api.command_line.events import Unthrottled
from polarlab.cli.console import print_result, print_table, reader_may_end
from polarlab.cli.progress import ConsoleProgress, draw_figures
from polarlab.process import Status, Terminated

SUMMARY = "one experiment on simulated routers, packet by packet"
EXAMPLES = (
    "polarlab simulate polarfly --q 5 --hosts 3 --load 0.5",
    "polarlab simulate polarfly --q 5 --hosts 2 --routing ugal-pf --pattern tornado --load 0.4",
    "polarlab simulate polarfly --q 5 --hosts 3 --load 0.5 --repeat 5",
    "polarlab simulate polarfly --q 3 --hosts 2 --load 0.4 --flow-control drop --queue 8",
    "polarlab simulate polarfly --q 3 --routing ugal --pattern perm2hop --decision product:candidates=2",
    "polarlab simulate polarfly --q 3 --pattern allreduce:ring --message-bytes 64KiB",
    "polarlab simulate polarfly --q 3 --pattern sweep3d:3x4 --message-bytes 1KiB --compute-cycles 200",
)


def run(arguments: argparse.Namespace) -> Status:
    """Simulates one experiment and prints its summary."""
    from polarlab.cli.drawing import Draughtsman

    out = arguments.experiment.folder(arguments.experiment.resolve())
    try:
        with Draughtsman(polarlab.Simulation) as draughtsman, ConsoleProgress() as progress:
            progress.begin("planning")
            results = polarlab.simulate(arguments.experiment, progress=Unthrottled(progress), out=out)
            draw_figures(results, progress, draughtsman)
    except (KeyboardInterrupt, Terminated, NegativeResult):
        kept = polarlab.Simulation(out)
        if kept.measured:
            with reader_may_end():
                _print(arguments, kept)
        raise
    with reader_may_end():
        _print(arguments, results)
    return Status.DONE


def _print(arguments: argparse.Namespace, results: polarlab.Simulation) -> None:
    """Prints the summary of a simulation, as JSON or with tables of means and intervals."""
    from polarlab.api.command_line.records import plain, readable

    result = plain(results.summary)
    if arguments.json:
        print_result(arguments, result)
        return
    batches, repeat = result.pop("batches", {}), result.pop("repeat", {})
    print_result(arguments, result)
    for heading, means in (("mean over batches", batches), ("mean over seeds", repeat)):
        rows = [{heading: name} | entry for name, entry in means.items() if isinstance(entry, dict)]
        for row in rows if means is batches else ():
            row["values"] = f"{len(row['values'])} of {row.pop('batch_cycles'):,} cycles"
        if rows:
            print()
            print_table([{n: readable(v) for n, v in row.items()} for row in rows], tuple(rows[0]))
