"""Reports of runs and simulations, including replications."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.codec import plain
from experiments.report.model import Detail, Page, Section, manifest_sections, table_of
from experiments.report.sections import batch_section, event_section, seed_sections, worst_links
from experiments.results.metrics import Engine
from experiments.results.model import Summary
from experiments.results.open import Run, Simulation
from experiments.results.parts.flows import class_rows
from experiments.results.parts.programs import ProgramRecord
from experiments.results.text import fabric_text, readable

_APART = ("faults", "programs", "batches", "repeat")  # keys of the summary that have their own sections


def run_page(results: Run | Simulation) -> Page:
    """Returns the page of a run or simulation with new figures; means over seeds come first.

    Args:
        results: the run or simulation.

    Raises:
        ParameterError: its files are damaged.
        OSError: the figures cannot be written.
    """
    summary: Any = results.summary
    flows = getattr(summary, "flows", None)
    values = {n: v for n, v in plain(summary).items() if n not in _APART}
    if flows:
        values["flows"] = {n: v for n, v in values["flows"].items() if n != "classes"}
    return Page(
        f"{fabric_text(results.manifest)}: {_traffic(summary)} under {summary.routing}{summary.engine.mark}",
        (
            *([Section(note=summary.note)] if summary.repeat and summary.note else []),
            *(_flows(summary) if flows else ()),
            *seed_sections(results),
            *batch_section(getattr(summary, "batches", None)),
            *event_section(results.events, summary.engine, getattr(summary.faults, "losses", "")),
            *_programs(getattr(summary, "programs", None) or ()),
            *_links(results),
            Section("Result", values=values),
            *manifest_sections(results.manifest),
        ),
    )


def _traffic(summary: Any) -> str:
    """Returns the traffic for a title: the pattern and, for TCP flows, sizes and load."""
    flows = getattr(summary, "flows", None)
    if flows is None:
        simulated_load = summary.load if summary.engine is Engine.SIMULATION else None
        return str(summary.pattern) + ("" if simulated_load is None else f" at {simulated_load:g}")
    if flows.flow_file is not None:
        return f"TCP flows of {Path(flows.flow_file).name}"
    return f"{flows.flow_sizes} TCP flows at load {summary.load:g}, {summary.pattern} pattern,"


def _flows(summary: Summary) -> tuple[Section, ...]:
    """Returns the section of slowdowns and completion times of TCP flows, a row per class of flow sizes."""
    flows = summary.flows
    assert flows
    note = f"{flows.completed} of {flows.started} flows were completed, with {flows.tcp} congestion control. "
    note += "Times and slowdowns are those of completed flows"
    note += ", means over all seeds." if summary.repeat else "."
    rows = class_rows((*flows.classes, flows.together))
    table = table_of([{n: readable(value) for n, value in row.items()} for row in rows], ("flow size",))
    return (Section("TCP flows by size", note, table),)


def _programs(programs: Sequence[ProgramRecord]) -> tuple[Section, ...]:
    """Returns the section of user programs; empty without programs."""
    rows = [
        {
            "program": program.line,
            "status": program.end_text,
            "started_s": f"{program.started_s:.3f}",
            "duration_s": "-" if program.duration_s is None else f"{program.duration_s:.3f}",
            "output": program.output,
            "errors": program.errors,
        }
        for program in programs
    ]
    table = table_of(rows, ("program", "status", "output", "errors"))
    return (Section("Programs", table=table),) if table else ()


def _links(results: Run | Simulation) -> tuple[Section, ...]:
    """Returns the section of the most loaded links.

    It has one table of means over all seeds or, if these were not recorded, one table per seed.
    """
    heading, table = "Links with the highest loads", worst_links(results.link_loads)
    if table:
        return (Section(heading, table=table),)
    tables = [(one.summary.seed, worst_links(one.link_loads)) for one in results.replications]
    details = tuple(Detail(f"seed {seed}", table=table) for seed, table in tables if table)
    return (Section(heading, details=details),) if details else ()
