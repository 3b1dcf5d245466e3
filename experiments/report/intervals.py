"""Sections of reports on means with their confidence intervals."""

from __future__ import annotations

from typing import Any

from experiments.figures.replications import draw_replications, draw_seed
from experiments.report.model import Section, Table, figures_of, table_of
from experiments.results.open import Run, Simulation
from experiments.results.parts.replications import Interval
from experiments.results.simulation.model import BatchMeans

_CI95 = "95 % confidence intervals (Student's t)."


def seed_sections(results: Run | Simulation) -> tuple[Section, ...]:
    """Returns the figures of results with one seed; of several, the means over them, and then each seed.

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
    """Returns the means over batches of a window; nothing without any.

    Args:
        batches: the means.
    """
    if batches is None:
        return ()
    note = f"Means over parts of the window, with half the width of their {_CI95}"
    if batches.unknown:
        note += (
            f" Those of {', '.join(batches.unknown)} are not known: neighbouring parts depend on one another."
        )
    return (Section("Means over batches", note, _table(batches)),)


def _table(means: Any) -> Table | None:
    rows = []
    for name, value in vars(means).items():
        if isinstance(value, Interval):
            half = "-" if value.ci95 is None else f"± {value.ci95:.3g}"
            each = [f"{entry:.4g}" for entry in value.values]
            rows.append({"value": name, "mean": f"{value.mean:.4g}", "ci95": half, "each": ", ".join(each)})
    return table_of(rows, ("value", "each"))
