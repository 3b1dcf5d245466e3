"""Reports of runs, and of replications with several seeds."""

from __future__ import annotations

from pathlib import Path

from experiments.codec import plain
from experiments.figures.run import draw_single
from experiments.report.events import event_section
from experiments.report.intervals import seed_sections
from experiments.report.links import worst_links
from experiments.report.model import Detail, Page, Section, manifest_sections, table_of
from experiments.results.model import Summary
from experiments.results.open import Run
from experiments.results.parts.flows import class_rows
from experiments.results.text import fabric_text, readable


def run_page(results: Run) -> Page:
    """Returns the page of a run, whose figures are drawn anew; of replications the means come first.

    Args:
        results: the run.

    Raises:
        ParameterError: its files are damaged.
        OSError: the figures cannot be written.
    """
    summary = results.summary
    values = {n: v for n, v in plain(summary).items() if n not in ("faults", "programs", "repeat")}
    if summary.flows:
        values["flows"] = {n: v for n, v in values["flows"].items() if n != "classes"}
    return Page(
        f"{fabric_text(results.manifest)}: {_traffic(summary)} under {summary.routing}",
        (
            *_flows(summary),
            *seed_sections(results, draw_single, _doubts),
            *event_section(summary.faults.events if summary.faults else ()),
            *_programs(summary),
            *_links(results),
            Section("Result", values=values),
            *manifest_sections(results.manifest),
        ),
    )


def _traffic(summary: Summary) -> str:
    """Returns the traffic for a title: the pattern, of TCP flows also their sizes and their load."""
    if summary.flows is None:
        return summary.pattern
    if summary.flows.flow_file is not None:
        return f"TCP flows of {Path(summary.flows.flow_file).name}"
    return f"{summary.flows.flow_sizes} TCP flows at load {summary.load:g}, {summary.pattern} pattern,"


def _flows(summary: Summary) -> tuple[Section, ...]:
    """Returns the slowdowns and completion times of TCP flows by size; none of other traffic."""
    flows = summary.flows
    if flows is None:
        return ()
    note = f"{flows.completed} of {flows.started} flows were completed, with {flows.tcp} congestion control. "
    note += "Times and slowdowns are those of completed flows"
    note += ", means over all seeds." if summary.repeat else "."
    rows = class_rows((*flows.classes, flows.together))
    table = table_of([{n: readable(value) for n, value in row.items()} for row in rows], ("flow size",))
    return (Section("TCP flows by size", note, table),)


def _programs(summary: Summary) -> tuple[Section, ...]:
    """Returns the programs of the user as a table; nothing without any."""
    rows = [
        {
            "program": program.line,
            "status": program.end_text,
            "started_s": f"{program.started_s:.3f}",
            "duration_s": "-" if program.duration_s is None else f"{program.duration_s:.3f}",
            "output": program.output,
            "errors": program.errors,
        }
        for program in summary.programs or ()
    ]
    table = table_of(rows, ("program", "status", "output", "errors"))
    return (Section("Programs", table=table),) if table else ()


def _links(results: Run) -> tuple[Section, ...]:
    """Returns the most loaded links of a run, or of each of its replications."""
    tables = [(run.summary.seed, worst_links(run.link_loads)) for run in results.replications]
    details = tuple(Detail(f"seed {seed}", table=table) for seed, table in tables if table)
    if not details:
        return ()
    if results.summary.repeat is None:
        return (Section("Links with the highest loads", table=details[0].table),)
    return (Section("Links with the highest loads", details=details),)


def _doubts(summary: Summary) -> str:
    """Returns the reasons why a result is not valid, and the remedy, as a sentence; empty if it is valid."""
    reasons = summary.fidelity.reasons
    return f"The result is not valid: {readable(list(reasons))}{summary.remedy}." if reasons else ""
