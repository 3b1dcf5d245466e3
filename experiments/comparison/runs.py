"""Comparison of runs or simulations, single ones and replications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.comparison.model import Comparison, JsonValue, ValueRow, rows_of
from experiments.comparison.settings import flat_settings, side_by_side
from experiments.results.metrics import Engine, In, metrics
from experiments.results.model import Summary
from experiments.results.open import Run, Simulation
from experiments.results.parts.flows import ALL, flow_results
from experiments.results.simulation.model import SimulationSummary


def compare_runs(runs: Sequence[Run] | Sequence[Simulation]) -> Comparison:
    """Compares runs or simulations; for replications, means with their intervals.

    Args:
        runs: the runs, of one engine.

    Raises:
        ParameterError: a run's results are damaged.
    """
    summaries: list[Any] = [run.summary for run in runs]
    engine = summaries[0].engine
    rows = {one: [one.of(s) for s in summaries] for one in metrics(engine, In.RESULTS)}
    shown = {one.key: row for one, row in rows.items() if not one.optional or row != [None] * len(row)}
    results = {**(_of_parts(summaries) if engine is Engine.EMULATION else {}), **shown}
    collectives = [_bandwidths(summary) for summary in summaries] if engine is Engine.EMULATION else []
    intervals, settings = _intervals(summaries), [_settings(run, summaries) for run in runs]
    return side_by_side(runs, settings, results=results, intervals=intervals, collectives=collectives)


def _of_parts(summaries: Sequence[Summary]) -> dict[str, ValueRow]:
    """Returns name of a result -> its value in each run, for collectives, TCP flows and user programs."""
    resent = [_resent(summary) for summary in summaries]
    return {
        **_by_size(summaries),
        **({"resent": resent} if any(map(_bandwidths, summaries)) else {}),
        **_by_class(summaries),
        **_by_program(summaries),
    }


def _settings(run: Run | Simulation, summaries: Sequence[Any]) -> dict[str, JsonValue]:
    """Returns the entries of a manifest, plus the list of measured seeds if any run has replications."""
    summary: Any = run.summary
    settings, repeat = flat_settings(run.manifest), summary.repeat
    if summary.engine is Engine.SIMULATION:
        return settings
    settings.setdefault("frame_bytes", summary.frame_bytes)  # manifests of collectives lack it
    if any(one.repeat for one in summaries):
        settings["seeds"] = list(repeat.seeds) if repeat else [summary.seed]
        del settings["seed"]
        settings = {name: value for name, value in settings.items() if name != "traffic.seed"}
    return settings


def _intervals(summaries: Sequence[Summary] | Sequence[SimulationSummary]) -> dict[str, list[float | None]]:
    """Returns name of a result -> half the width of its 95 % confidence interval in each run.

    Only results that are means over replications are included. A run without replications has None.
    """
    halves: dict[str, list[float | None]] = {}
    for one in metrics(summaries[0].engine, In.SEEDS):
        means = [getattr(summary.repeat, one.key, None) for summary in summaries]
        if any(means):
            halves[one.key] = [mean.ci95 if mean else None for mean in means]
            # TCP flows are compared by class; intervals are known for the class of all flows.
            if one.path.startswith("flows."):
                halves[f"{one.key}, {ALL}"] = halves[one.key]
    return halves


def _by_size(summaries: Sequence[Summary]) -> dict[str, list[float | None]]:
    """Returns rows like `completion_ms at 1024`: times and bandwidths of collectives per message size."""
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
    """Returns slowdowns and completion times of TCP flows in each run, in total and by size class."""
    return rows_of([flow_results(summary.flows) if summary.flows else {} for summary in summaries])


def _by_program(summaries: Sequence[Summary]) -> dict[str, list[float | None]]:
    """Returns name -> values in all runs: exit status and duration in s of each user program."""
    tables: list[dict[str, float | None]] = []
    for summary in summaries:
        table: dict[str, float | None] = {}
        for program in summary.programs or ():
            # If a line occurs several times, as in replications, the first one counts.
            table.setdefault(f"status of `{program.line}`", program.status)
            table.setdefault(f"duration_s of `{program.line}`", program.duration_s)
        tables.append(table)
    return rows_of(tables)


def _resent(summary: Summary) -> int | None:
    return summary.collective.resent if summary.collective else None


def _bandwidths(summary: Summary) -> list[tuple[int, float]]:
    sizes = summary.collective.sizes if summary.collective else ()
    return sorted((s.message_bytes, s.bus_bandwidth_bps) for s in sizes if s.bus_bandwidth_bps is not None)
