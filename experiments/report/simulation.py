"""Report of a simulation."""

from __future__ import annotations

from experiments.codec import plain
from experiments.figures.simulation.single import plot_simulation
from experiments.report.links import worst_links
from experiments.report.model import Page, Section, fabric_name, figures_of, manifest_sections
from experiments.results.open import Simulation
from experiments.results.simulation.model import SimulationSummary


def simulation_page(results: Simulation) -> Page:
    """Returns the page of a simulation, whose figures are drawn anew.

    Args:
        results: the simulation.

    Raises:
        ParameterError: its files are damaged.
        OSError: the figures cannot be written.
    """
    summary = results.summary
    title = f"{fabric_name(results.manifest)}: {summary.pattern} at {summary.load:g} under {summary.routing}"
    return Page(
        f"{title}, simulated",
        (
            Section("", _note(summary), figures=figures_of(plot_simulation(results))),
            Section("Links with the highest loads", table=worst_links(results.link_loads)),
            Section("Result", values=plain(summary)),
            *manifest_sections(results.manifest),
        ),
    )


def _note(summary: SimulationSummary) -> str:
    """Returns a sentence on a network that does not carry the load; empty if it does."""
    if summary.deadlock:
        return f"The simulation ended in a {summary.deadlock.text}."
    return "" if summary.stable else "The network does not carry the load: the result is not stable."
