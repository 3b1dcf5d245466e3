"""Reports of failover demonstrations."""

from __future__ import annotations

from experiments.codec import plain
from experiments.figures.failover import plot_failover
from experiments.report.events import event_section
from experiments.report.model import Page, Section, fabric_name, figures_of, manifest_sections, table_of
from experiments.results.open import Failover
from experiments.results.text import readable


def failover_page(results: Failover) -> Page:
    """Returns the page of a demonstration, whose figure is drawn anew.

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
    return Page(
        f"{fabric_name(results.manifest)}: failover of {failed} under {summary.routing}",
        (
            Section(note=_outcome(results), figures=figures_of(plot_failover(results.folder))),
            Section("Phases", table=table_of(phases, ("phase",))),
            *event_section(results.events),
            Section("Result", values=values),
            *manifest_sections(results.manifest),
        ),
    )


def _outcome(results: Failover) -> str:
    """Returns the outcome in two sentences."""
    summary = results.summary
    text = (
        f"{summary.packets_lost} of {summary.packets_sent} probes were lost, the longest silence of a "
        f"watched pair was {summary.gap_ms:g} ms, and the failure was repaired by: {summary.repaired_by}."
    )
    return f"{text} The result is negative: {summary.negative}." if summary.negative else text
