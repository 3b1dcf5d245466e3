"""Sections and tables that several reports share: means over seeds and batches, events, links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.figures.replications import draw_replications, draw_seed
from experiments.report.model import PageTable, Section, figures_of, table_of
from experiments.results.link_loads import LinkLoadRow
from experiments.results.metrics import Engine
from experiments.results.open import Run, Simulation
from experiments.results.parts.replications import Interval
from experiments.results.simulation.model import BatchMeans

_CI95 = "95 % confidence intervals (Student's t)."
_MAX_LINKS = 10  # links in a table of most loaded links


def seed_sections(results: Run | Simulation) -> tuple[Section, ...]:
    """Returns one section for results of a single seed.

    For several seeds, returns a section of means over all seeds, followed by a section for each seed.

    Args:
        results: the results.
    """

    def section(one: Run | Simulation, heading: str = "") -> Section:
        return Section(heading, one.summary.note, figures=figures_of(one.folder, draw_seed(one)))

    repeat = results.summary.repeat
    if repeat is None:
        return (section(results),)
    seeds = ", ".join(map(str, repeat.seeds))
    text = (
        f"{len(repeat.seeds)} of {repeat.asked} replications, with the seeds {seeds}. Means are followed by "
        f"half the width of their {_CI95}"
    )
    figures = figures_of(results.folder, draw_replications(results))
    sections = [Section("Means over seeds", text, _table(repeat), figures)]
    for one in results.replications:
        sections.append(section(one, f"Seed {one.summary.seed}"))
    return tuple(sections)


def batch_section(batches: BatchMeans | None) -> tuple[Section, ...]:
    """Returns the section of means over batches; empty without batches.

    Args:
        batches: the means.
    """
    if batches is None:
        return ()
    note = f"Means over parts of the window, with half the width of their {_CI95}"
    if batches.unknown:
        note += f" There is none for {', '.join(batches.unknown)}: batch means are correlated."
    return (Section("Means over batches", note, _table(batches)),)


def _table(means: Any) -> PageTable | None:
    rows = []
    for name, value in vars(means).items():
        if isinstance(value, Interval):
            half = "-" if value.ci95 is None else f"± {value.ci95:.3g}"
            each = [f"{entry:.4g}" for entry in value.values]
            rows.append({"value": name, "mean": f"{value.mean:.4g}", "ci95": half, "each": ", ".join(each)})
    return table_of(rows, ("value", "each"))


def event_section(
    events: Sequence[tuple[float, str]], engine: Engine = Engine.EMULATION, losses: str = ""
) -> tuple[Section, ...]:
    """Returns a section with events; empty without events.

    Args:
        events: (time, description) of each event, in order of time. The time is in seconds since the start of
            traffic or, in a simulation, in cycles.
        engine: engine of the results.
        losses: sentence on losses caused by the faults, without its full stop; empty if they are not known.
    """
    if not events:
        return ()
    in_cycles = engine is Engine.SIMULATION
    column, form = ("cycle", "{:.0f}") if in_cycles else ("time_s", "{:.3f}")
    rows = [
        {"number": str(number), column: form.format(time), "event": text}
        for number, (time, text) in enumerate(events, 1)
    ]
    note = "The numbers are those of the vertical lines in the figures"
    note += "." if in_cycles else "; times are seconds of the traffic."
    note += f" {losses}." if losses else ""
    return (Section("Faults and plans", note, table_of(rows, (column, "event"))),)


def worst_links(rows: Sequence[LinkLoadRow]) -> PageTable | None:
    """Returns the table of most loaded links; None if no loads are known.

    Args:
        rows: load of each directed link.
    """
    worst = sorted(rows, key=lambda row: (-row.load, row.link, row.port))[:_MAX_LINKS]
    return table_of(
        [
            {
                "link": row.link,
                "port": str(row.port),
                "load": f"{row.load:.4f}",
                "dropped_packets": str(row.dropped_packets),
            }
            for row in worst
        ],
        ("link",),
    )
