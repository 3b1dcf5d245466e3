"""Reports of failover demonstrations and of series of failovers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.codec import plain
from experiments.figures.failover import draw_failover
from experiments.figures.failovers import draw_series
from experiments.report.model import Page, Section, figures_of, manifest_sections, table_of
from experiments.report.sections import event_section
from experiments.results.open import Failover, Failovers
from experiments.results.text import fabric_text, readable

# Columns with text instead of numbers, in the table of a series of failovers.
_WORDS = ("failed", "repaired_by", "restored", "negative")
# The page of a series omits some columns because each failover's own page shows them. It omits other columns
# if no failover has a value in them.
_ELSEWHERE = ("packets_sent", "pairs_watched", "pairs_affected")
_IF_ANY = ("negative", "interrupted", "cpu_stolen_ms", "controller_converged_ms")


def failover_page(results: Failover) -> Page:
    """Returns the page of a demonstration, with a new figure.

    Args:
        results: the demonstration.

    Raises:
        ParameterError: its files are damaged.
        OSError: the figure cannot be written.
    """
    summary = results.summary
    failed = ", ".join(summary.failed) or "nothing"
    values = {n: v for n, v in plain(summary).items() if n not in ("faults", "phases")}
    phases = [
        {"phase": name, **{key: readable(value) for key, value in counts.items()}}
        for name, counts in plain(summary.phases).items()
    ]
    figures = figures_of(results.folder, draw_failover(results))
    return Page(
        f"{fabric_text(results.manifest)}: failover of {failed} under {summary.routing}",
        (
            Section(note=_outcome(results), figures=figures),
            Section("Phases", table=table_of(phases, ("phase",))),
            *event_section(results.events),
            Section("Result", values=values),
            *manifest_sections(results.manifest),
        ),
    )


def failovers_page(results: Failovers) -> Page:
    """Returns the page of a series of failovers, with a new figure.

    Args:
        results: the series.

    Raises:
        ParameterError: its files are damaged.
        OSError: the figure cannot be written.
    """
    series = results.summary
    seeds = ", ".join(map(str, series.seeds))
    note = "The series was interrupted. " if series.interrupted else ""
    note += f"{len(series.seeds)} of {series.asked} failovers are complete"
    note += f", with the seeds {seeds}. " if seeds else ", so there are no distributions. "
    note += (
        "Means are followed by "
        "half the width of their 95 % confidence intervals (Student's t), medians by the limits of theirs."
    )
    if series.negative:
        note += f" The result is negative: {series.negative}."
    distributions = [
        {"value": name, **{key: readable(value) for key, value in plain(values).items() if key != "values"}}
        for name, values in series.distributions().items()
    ]
    rows = plain(series.failovers)
    failovers = [{key: readable(row[key]) for key in _columns(rows)} for row in rows]
    figures = figures_of(results.folder, draw_series(results)) if seeds else ()
    return Page(
        f"{fabric_text(results.manifest)}: {series.asked} failovers of {series.fail or 'the busiest link'} "
        f"under {series.routing}",
        (
            Section("Distributions", note, table_of(distributions, ("value", "p50_ci95")), figures),
            Section("Failovers", table=table_of(failovers, _WORDS)),
            *manifest_sections(results.manifest),
        ),
    )


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the columns of the page's table of failovers; optional columns without values are left out."""
    return [n for n in rows[0] if n not in _ELSEWHERE and (n not in _IF_ANY or any(row[n] for row in rows))]


def _outcome(results: Failover) -> str:
    """Describes a failover in sentences: lost probes, longest silence, repair, and any negative result."""
    summary = results.summary
    text = "The failover was interrupted; until then, " if summary.interrupted else ""
    text += (
        f"{summary.packets_lost} of {summary.packets_sent} probes were lost, the longest silence of a "
        f"watched pair was {summary.gap_ms:g} ms, and the failure was repaired by: {summary.repaired_by}."
    )
    return f"{text} The result is negative: {summary.negative}." if summary.negative else text
