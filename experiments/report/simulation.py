"""Reports of simulations and of sweeps of them."""

from __future__ import annotations

from experiments.codec import plain
from experiments.figures.replications import draw_replications
from experiments.figures.simulation.single import draw_single
from experiments.figures.simulation.sweep import draw_simulated_sweep
from experiments.report.events import event_section
from experiments.report.intervals import batch_section, means_section
from experiments.report.links import worst_links
from experiments.report.model import (
    Detail,
    Page,
    Section,
    fabric_name,
    figures_of,
    manifest_sections,
)
from experiments.report.sweep import points_table
from experiments.results.open import SimulatedSweep, Simulation
from experiments.results.simulation.model import SimulationSummary
from experiments.results.simulation.sweep import SimulatedPointRow

_APART = ("faults", "batches", "repeat")  # keys of the result that have sections of their own
_COLUMNS = (
    *("routing", "pattern", "load", "stable", "offered", "accepted", "accepted_ci95", "predicted_accepted"),
    *("loss", "latency_mean_cycles", "latency_p99_cycles", "hops_mean", "detoured", "link_load_max"),
)


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
    title = f"{fabric_name(results.manifest)}: {summary.pattern}{load} under {summary.routing}"
    return Page(
        f"{title}, simulated",
        (
            *_figures(results),
            *batch_section(summary.batches),
            *event_section(summary.faults.events if summary.faults else (), in_cycles=True),
            Section("Links with the highest loads", table=worst_links(results.link_loads)),
            Section("Result", values={n: v for n, v in plain(summary).items() if n not in _APART}),
            *manifest_sections(results.manifest),
        ),
    )


def _figures(results: Simulation) -> tuple[Section, ...]:
    """Returns the figures of a simulation; of replications the means, and the figures of each seed."""
    note, repeat = _note(results.summary), results.summary.repeat
    if repeat is None:
        return (Section("", note, figures=figures_of(results.folder, draw_single(results))),)
    means = means_section(repeat, figures_of(results.folder, draw_replications(results)))
    return Section("", note), means, *map(_seed, results.replications)


def _seed(one: Simulation) -> Section:
    figures = figures_of(one.folder, draw_single(one))
    return Section(f"Seed {one.summary.seed}", _note(one.summary), figures=figures)


def _note(summary: SimulationSummary) -> str:
    """Returns a sentence on a network that does not carry the load; empty if it does."""
    if summary.deadlock:
        return f"The simulation ended in a {summary.deadlock.text}."
    unstable = summary.stable is False
    return "The network does not carry the load: the result is not stable." if unstable else ""


def simulated_sweep_page(results: SimulatedSweep) -> Page:
    """Returns the page of a sweep of simulations, whose figure is drawn anew.

    Args:
        results: the sweep.

    Raises:
        ParameterError: its files are damaged.
        OSError: the figure cannot be written.
    """
    rows, varied = list(results.points.values()), results.manifest.sweep.varied
    table = points_table([(row.cells(), row.stable) for row in rows], varied, _COLUMNS)
    note = (
        f"{len(rows)} points, {sum(row.stable for row in rows)} of them stable, the others in brown and "
        "crossed out. Fractions are of all hosts' injection capacity."
    )
    return Page(
        f"{fabric_name(results.manifest)}: a sweep, simulated",
        (
            Section(note=note, figures=figures_of(results.folder, draw_simulated_sweep(results))),
            Section("Points", table=table),
            Section("Each point", details=tuple(_detail(results, row) for row in rows)),
            *manifest_sections(results.manifest),
        ),
    )


def _detail(results: SimulatedSweep, row: SimulatedPointRow) -> Detail:
    summary = results.summary(row.point)
    values = {} if summary is None else plain(summary)
    return Detail(row.point.name, values, worst_links(results.link_loads(row.point)))
