"""`polarlab crosscheck`: compares real packets with the same packets on simulated switches."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import polarlab
from polarlab.api.command_line.events import Unthrottled
from polarlab.cli.console import print_result, print_table, reader_may_end
from polarlab.cli.progress import ConsoleProgress, draw_figures
from polarlab.process import Status

SUMMARY = "real packets of a run or a sweep, compared with the same packets simulated, and with theory"
EXAMPLES = (
    "polarlab crosscheck results/RUN",
    "polarlab crosscheck results/SWEEP --json",
    "sudo polarlab crosscheck polarfly --q 3 --hosts 2 --link-rate 500kbit --pattern tornado --load 0.3",
    "sudo polarlab crosscheck polarfly --q 3 --hosts 2 --link-rate 500kbit --routing ugal-pf --repeat 5",
)
_QUANTITIES = {"accepted": "accepted", "hops_mean": "hops", "queueing_frame_times": "queueing"}


def run(arguments: argparse.Namespace) -> Status:
    """Simulates the packets of results, after measuring them if requested, and prints both outcomes.

    Returns:
        NEGATIVE under --strict if a measurement is not valid.
    """
    from polarlab.api.command_line.records import plain

    with ConsoleProgress() as progress:
        results = _measured(arguments, progress) if hasattr(arguments, "experiment") else arguments.results
        progress.begin("simulating")
        agreement = plain(polarlab.crosscheck(results, progress=Unthrottled(progress)))
    with reader_may_end():
        if arguments.json:
            print_result(arguments, agreement)
        else:
            _print(agreement)
    strict = getattr(arguments, "strict", False)
    return Status.NEGATIVE if strict and not all(p["valid"] for p in agreement["points"]) else Status.DONE


def _measured(arguments: argparse.Namespace, progress: ConsoleProgress) -> polarlab.Run:
    """Measures the run that the arguments describe, and returns its results."""
    results = polarlab.run(arguments.experiment, progress=Unthrottled(progress))
    draw_figures(results, progress)
    return results


def _print(agreement: Mapping[str, Any]) -> None:
    """Prints a table of all points and, for points with several seeds, a table of means.

    Args:
        agreement: the cross-check as plain JSON.
    """
    from polarlab.api.command_line.records import readable

    rows = []
    for point in agreement["points"]:
        row = _point_of(point) | {"seed": readable(point["seed"])}
        for name, title in _QUANTITIES.items():
            row[title] = readable(point[name])
            row[f"{title} simulated"] = readable(point[f"{name}_simulated"])
        row["accepted, credits"] = readable(point["accepted_credit"])
        row["accepted predicted"] = readable(point["accepted_predicted"])
        row["valid"] = readable(point["valid"])
        rows.append(row)
    print_table(rows, tuple(rows[0]))
    means = [
        _point_of(group)
        | {"seeds": readable(len(group["seeds"])), "mean of": title}
        | {
            "measured": f"{readable(group[name]['mean'])} +- {readable(group[name]['ci95'])}",
            **{key: readable(group[name][key]) for key in ("simulated", "within")},
            "valid": readable(_all_valid(agreement, group)),
        }
        for group in agreement.get("replicated", ())
        for name, title in _QUANTITIES.items()
        if group[name]
    ]
    if means:
        print()
        print_table(means, tuple(means[0]))


def _all_valid(agreement: Mapping[str, Any], group: Mapping[str, Any]) -> bool:
    """Returns whether all replications of a point are valid."""
    keys = ("routing", "pattern", "load", "options")
    return all(
        point["valid"]
        for point in agreement["points"]
        if all(point.get(key) == group.get(key) for key in keys)
    )


def _point_of(record: Mapping[str, Any]) -> dict[str, str]:
    """Returns column -> cell for a point's routing, pattern and load."""
    from polarlab.api.command_line.records import readable

    return {name: readable(record[name]) for name in ("routing", "pattern", "load")}
