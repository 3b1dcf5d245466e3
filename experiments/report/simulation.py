"""Reports of simulations."""

from __future__ import annotations

from experiments.codec import plain
from experiments.figures.simulation.single import draw_single
from experiments.report.events import event_section
from experiments.report.intervals import batch_section, seed_sections
from experiments.report.links import worst_links
from experiments.report.model import Page, Section, manifest_sections
from experiments.results.open import Simulation
from experiments.results.simulation.model import SimulationSummary
from experiments.results.text import fabric_text

_APART = ("faults", "batches", "repeat")  # keys of the result that have sections of their own


def simulation_page(results: Simulation) -> Page:
    """Returns the page of a simulation, whose figures are drawn anew.

    Args:
        results: the simulation.

    Raises:
        ParameterError: its files are damaged.
        OSError: the figures cannot be written.
    """
    summary = results.summary
    load = "" if summary.load is None else f" at {summary.load:g}"
    title = f"{fabric_text(results.manifest)}: {summary.pattern}{load} under {summary.routing}"
    return Page(
        f"{title}, simulated",
        (
            *([Section("", _note(summary))] if summary.repeat else []),
            *seed_sections(results, draw_single, _note),
            *batch_section(summary.batches),
            *event_section(summary.faults.events if summary.faults else (), in_cycles=True),
            Section("Links with the highest loads", table=worst_links(results.link_loads)),
            Section("Result", values={n: v for n, v in plain(summary).items() if n not in _APART}),
            *manifest_sections(results.manifest),
        ),
    )


def _note(summary: SimulationSummary) -> str:
    """Returns a sentence on a network that does not carry the load; empty if it does."""
    if summary.deadlock:
        return f"The simulation ended in a {summary.deadlock.text}."
    unstable = summary.stable is False
    return "The network does not carry the load: the result is not stable." if unstable else ""
