"""`polarlab demo`: measures failures under probe traffic, or shows a fabric on the live page."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

import polarlab
from polarlab.api.command_line.events import Unthrottled
from polarlab.cli.console import print_result, print_table
from polarlab.cli.page import DEMO_LOAD, DEMO_PATTERN, page_address, wait_for_the_end
from polarlab.cli.progress import ConsoleProgress, draw_figures
from polarlab.process import Status
from polarlab.web.events import PageShown, PageStays

if TYPE_CHECKING:
    from polarlab.api.command_line.records import FailoverSeries, FailoverSummary

SUMMARY = "failover: failures under probe traffic, measured; web: a fabric on the live page (root)"
EXAMPLES = (
    "sudo polarlab demo web",
    "sudo polarlab demo failover polarfly --q 5 --fail link:s1-s28",
    "sudo polarlab demo failover polarfly --q 3 --fail switch:s4",
    "sudo polarlab demo failover polarfly --q 3 --kill-controller",
    "sudo polarlab demo failover polarfly --q 5 --repeat 20 --fail random-link",
)
# Columns of a series' tables, and the distributions' rows.
_FAILOVER_COLUMNS = (
    *("seed", "failed", "gap_ms", "packets_lost", "lost_at_restore", "repaired_by", "repaired_ms"),
    *("controller_converged_ms", "cpu_stolen_ms", "restored", "result"),
)
_DISTRIBUTION_COLUMNS = ("", "mean", "ci95", "p50", "p50_ci95", "p90", "p99", "max", "missing")


def run(arguments: argparse.Namespace) -> Status:
    """Runs failovers and prints their losses and gaps; returns NEGATIVE for unexpected losses."""
    from polarlab.api.command_line.events import Notice
    from polarlab.api.experiments import failover_shown

    web = page_address(arguments)
    stays = arguments.wait or (web is not None and sys.stdin.isatty())
    with (
        ConsoleProgress() as progress,
        failover_shown(arguments.experiment, progress=Unthrottled(progress), web=web, wait=stays) as results,
    ):
        draw_figures(results, progress)
        progress.rest()
        _print(arguments, results)
        if results.summary.negative:
            progress(Notice("result-negative", reason=results.summary.negative))
        if stays:
            sys.stdout.flush()
            wait_for_the_end(progress, PageStays())
    return Status.NEGATIVE if results.summary.negative else Status.DONE


def show(arguments: argparse.Namespace) -> Status:
    """Launches a fabric with light traffic and the live page, until Ctrl-C."""
    from polarlab.api.requests import demonstration

    with ConsoleProgress() as progress:
        web = page_address(arguments)
        request, load = demonstration(arguments.experiment, DEMO_LOAD)
        fabric = polarlab.Fabric(request, progress=Unthrottled(progress), web=web)
        with fabric:
            if arguments.wait:
                fabric.wait_for_viewer()
            fabric.start_traffic(DEMO_PATTERN, load)
            wait_for_the_end(progress, PageShown(str(fabric.url)))
            progress.rest()
    return Status.DONE


def _print(arguments: argparse.Namespace, results: polarlab.Failover | polarlab.Failovers) -> None:
    """Prints a result, as JSON or with tables."""
    from polarlab.api.command_line.records import plain

    if arguments.json:
        print_result(arguments, plain(results.summary))
    elif isinstance(results, polarlab.Failovers):
        print_series(arguments, results.summary)
    else:
        print_summary(arguments, results.summary)


def print_summary(arguments: argparse.Namespace, summary: FailoverSummary) -> None:
    """Prints the result of one failover, its phases as a table."""
    from polarlab.api.command_line.records import plain

    result = plain(summary)
    rows = [{"phase": name, **phase} for name, phase in result["phases"].items()]
    print_result(arguments, {n: v for n, v in result.items() if n not in ("faults", "phases")})
    print()
    print_table(rows, tuple(rows[0]))
    note = _controller_note(summary)
    if note:
        print(f"\n{note}")


def _controller_note(summary: FailoverSummary) -> str | None:
    """Describes the steps until a restarted controller's plan was in place; None without a restart."""
    restart, converged_ms = summary.controller_restart, summary.controller_converged_ms
    if not (restart and converged_ms and restart.listening_ms and restart.connected_ms):
        return None
    calling_ms = restart.connected_ms - restart.listening_ms
    planning_ms = converged_ms - restart.began_ms - restart.connected_ms
    absent = any(name.startswith(("switch:", "hang:")) for name in summary.failed)
    waiting = ", including at least 1.5 s for the switch that does not connect" if absent else ""
    return (
        f"controller_converged_ms {converged_ms:.0f}: {restart.began_ms:.0f} until a new controller was "
        f"started, {restart.listening_ms:.0f} until it listened, {calling_ms:.0f} until the last switch had "
        f"called it (switches call again after 1 to 4 s), {planning_ms:.0f} until its plan was in place"
        f"{waiting}"
    )


def print_series(arguments: argparse.Namespace, series: FailoverSeries) -> None:
    """Prints the results of several failovers: a row for each, and the distributions of their values."""
    from polarlab.api.command_line.records import plain, readable

    result, tables = plain(series), series.distributions()
    print_result(arguments, {n: v for n, v in result.items() if n not in ("failovers", "format", *tables)})
    print()
    failovers = [{**row, "result": _result_word(row)} for row in result["failovers"]]
    print_table([{n: readable(v) for n, v in row.items()} for row in failovers], _FAILOVER_COLUMNS)
    print()
    rows = [{n: readable(v) for n, v in {"": name, **result[name]}.items()} for name in tables]
    print_table(rows, _DISTRIBUTION_COLUMNS)


def _result_word(row: dict[str, Any]) -> str:
    """Returns the word that summarizes a failover's result in the table of a series."""
    if row.get("interrupted"):
        return "interrupted"
    return "negative" if row.get("negative") else "good"
