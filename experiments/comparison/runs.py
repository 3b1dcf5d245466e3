"""Runs, or simulations, side by side: single ones and means over replications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from experiments.comparison.model import Comparison, Row, Value, rows_of
from experiments.comparison.settings import flat_settings, side_by_side
from experiments.results.metrics import In, metrics
from experiments.results.model import Summary
from experiments.results.open import Run, Simulation
from experiments.results.parts.flows import ALL, flow_results
from experiments.results.simulation.model import SimulationSummary


def compare_runs(runs: Sequence[Run]) -> Comparison:
    """Returns runs side by side; of replications the means, with their intervals.

    Args:
        runs: the runs.

    Raises:
        ParameterError: one is damaged.
    """
    summaries = [run.summary for run in runs]
    collectives = [_bandwidths(summary) for summary in summaries]
    repeated = any(summary.repeat for summary in summaries)
    first: dict[str, Row] = {
        **_by_size(summaries),
        **({"resent": [_resent(summary) for summary in summaries]} if any(collectives) else {}),
        **_by_class(summaries),
        **_by_program(summaries),
    }
    settings = [_settings(run, repeated=repeated) for run in runs]
    return _compared(runs, settings, first, collectives=collectives)


def compare_simulations(simulations: Sequence[Simulation]) -> Comparison:
    """Returns simulations side by side; of replications the means, with their intervals.

    Args:
        simulations: the simulations.

    Raises:
        ParameterError: one is damaged.
    """
    return _compared(simulations)


def _compared(
    results: Sequence[Run] | Sequence[Simulation],
    settings: Sequence[Mapping[str, Value]] = (),
    first: Mapping[str, Row] = MappingProxyType({}),
    **tables: Any,
) -> Comparison:
    """Returns results of one engine side by side: first some rows, then one for each metric."""
    summaries: list[Any] = [one.summary for one in results]
    rows = {one: [one.of(s) for s in summaries] for one in metrics(summaries[0].engine, In.RESULTS)}
    shown = {one.key: row for one, row in rows.items() if not one.optional or row != [None] * len(row)}
    return side_by_side(
        results, settings, results={**first, **shown}, intervals=_intervals(summaries), **tables
    )


def _settings(run: Run, *, repeated: bool) -> dict[str, Value]:
    """Returns the entries of a run's manifest; beside replications, the seeds that were measured."""
    settings, repeat = flat_settings(run.manifest), run.summary.repeat
    settings.setdefault("frame_bytes", run.summary.frame_bytes)  # of a collective, by the MTU
    if repeated:
        settings["seeds"] = list(repeat.seeds) if repeat else [run.summary.seed]
        del settings["seed"]
        settings = {name: value for name, value in settings.items() if name != "traffic.seed"}
    return settings


def _intervals(summaries: Sequence[Summary] | Sequence[SimulationSummary]) -> dict[str, list[float | None]]:
    """Returns the half widths of the intervals of those results that are means over replications."""
    halves: dict[str, list[float | None]] = {}
    for one in metrics(summaries[0].engine, In.SEEDS):
        means = [getattr(summary.repeat, one.key, None) for summary in summaries]
        if any(means):
            halves[one.key] = [mean.ci95 if mean else None for mean in means]
            # Means of TCP flows are compared by class, and those of all flows have intervals.
            if one.path.startswith("flows."):
                halves[f"{one.key}, {ALL}"] = halves[one.key]
    return halves


def _by_size(summaries: Sequence[Summary]) -> dict[str, list[float | None]]:
    """Returns completion times and bus bandwidths of collectives by message size in bytes."""
    tables = [
        {size.message_bytes: size for size in summary.collective.sizes} if summary.collective else {}
        for summary in summaries
    ]
    sizes = sorted({size for table in tables for size in table})
    return {
        f"{name} at {size}": [getattr(table.get(size), name, None) for table in tables]
        for size in sizes
        for name in ("completion_ms", "bus_bandwidth_bps")
    }


def _by_class(summaries: Sequence[Summary]) -> dict[str, list[float | None]]:
    """Returns slowdowns and completion times of TCP flows, of all and by class of sizes."""
    return rows_of([flow_results(summary.flows) if summary.flows else {} for summary in summaries])


def _by_program(summaries: Sequence[Summary]) -> dict[str, list[float | None]]:
    """Returns exit status and duration of the programs of users, by their command lines."""
    tables: list[dict[str, float | None]] = []
    for summary in summaries:
        table: dict[str, float | None] = {}
        for program in summary.programs or ():
            # Of several equal lines, as those of replications, the first is taken.
            table.setdefault(f"status of `{program.line}`", program.status)
            table.setdefault(f"duration_s of `{program.line}`", program.duration_s)
        tables.append(table)
    return rows_of(tables)


def _resent(summary: Summary) -> int | None:
    return summary.collective.resent if summary.collective else None


def _bandwidths(summary: Summary) -> list[tuple[int, float]]:
    sizes = summary.collective.sizes if summary.collective else ()
    return sorted((s.message_bytes, s.bus_bandwidth_bps) for s in sizes if s.bus_bandwidth_bps is not None)
