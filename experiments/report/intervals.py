"""Sections of reports on means with their confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.report.model import Figure, Section, Table, table_of
from experiments.results.parts.replications import Interval, Replications, SimulatedReplications
from experiments.results.simulation.model import BatchMeans

_CI95 = "95 % confidence intervals (Student's t)."


def means_section(repeat: Replications | SimulatedReplications, figures: Sequence[Figure]) -> Section:
    """Returns the means over seeds, with their figures.

    Args:
        repeat: the means.
        figures: their figures.
    """
    seeds = ", ".join(map(str, repeat.seeds))
    note = (
        f"{len(repeat.seeds)} of {repeat.asked} replications, with the seeds {seeds}. Means are followed by "
        f"half the width of their {_CI95}"
    )
    return Section("Means over seeds", note, _table(repeat), tuple(figures))


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
