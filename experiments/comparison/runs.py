"""Runs side by side, single ones and means over replications."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.comparison.model import Comparison, Value
from experiments.comparison.settings import flat_settings, side_by_side
from experiments.results.model import Summary
from experiments.results.open import Run
from experiments.results.parts.flows import ALL, flow_results
from experiments.results.parts.replications import Interval


def compare_runs(names: Sequence[str], runs: Sequence[Run]) -> Comparison:
    """Returns runs side by side; of replications the means, with their intervals.

    Args:
        names: a name for each run.
        runs: the runs.

    Raises:
        ParameterError: one is damaged.
    """
    summaries = [run.summary for run in runs]
    collectives = [_bandwidths(summary) for summary in summaries]
    repeated = any(summary.repeat for summary in summaries)
    settings = [_settings(run, repeated=repeated) for run in runs]
    sides = side_by_side(settings)
    results = [_results(summary) for summary in summaries]
    return Comparison(
        kind="runs",
        runs=tuple(names),
        same=sides.same,
        differing=sides.differing,
        results={
            **_by_size(summaries),
            **({"resent": [_resent(summary) for summary in summaries]} if any(collectives) else {}),
            **_by_class(summaries),
            **_by_program(summaries),
            **{name: [result[name] for result in results] for name in results[0]},
        },
        intervals=_intervals(summaries),
        collectives=collectives,
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


def _intervals(summaries: Sequence[Summary]) -> dict[str, list[float | None]]:
    """Returns the half widths of the intervals of those results that are means over replications."""
    tables = [vars(summary.repeat) if summary.repeat else {} for summary in summaries]
    names = dict.fromkeys(n for table in tables for n, value in table.items() if isinstance(value, Interval))
    halves = {name: [getattr(table.get(name), "ci95", None) for table in tables] for name in names}
    # Means of TCP flows are compared by class, and those of all flows have intervals.
    return halves | {f"{name}, {ALL}": halves[name] for name in names if name.startswith(("fct", "slowdown"))}


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
    tables = [flow_results(summary.flows) if summary.flows else {} for summary in summaries]
    names = dict.fromkeys(name for table in tables for name in table)
    return {name: [table.get(name) for table in tables] for name in names}


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
    names = dict.fromkeys(name for table in tables for name in table)
    return {name: [table.get(name) for table in tables] for name in names}


def _resent(summary: Summary) -> int | None:
    return summary.collective.resent if summary.collective else None


def _bandwidths(summary: Summary) -> list[tuple[int, float]]:
    sizes = summary.collective.sizes if summary.collective else ()
    return sorted((s.message_bytes, s.bus_bandwidth_bps) for s in sizes if s.bus_bandwidth_bps is not None)


def _results(summary: Summary) -> dict[str, float | None]:
    latency, received, links = summary.latency_ms, summary.packets.received, summary.links
    return {
        "offered": summary.offered,
        "accepted": summary.accepted,
        "predicted": summary.predicted.accepted if summary.predicted else None,
        "loss": summary.loss,
        "latency_mean_ms": latency.mean,
        "latency_p50_ms": latency.p50,
        "latency_p99_ms": latency.p99,
        "latency_p99_9_ms": latency.p99_9,
        "queueing_frame_times": summary.queueing_frame_times,
        "hops_mean": summary.hops_mean,
        "reordered": round(summary.out_of_order / received, 6) if received else None,
        "link_load_max": links.load_max if links else None,
        "jain": links.jain if links else None,
        "dropped_packets": links.dropped_packets if links else None,
        "dropped_at_hosts": summary.host_links.dropped_packets if summary.host_links else None,
        "rules": summary.rules.flows,
        "groups": summary.rules.groups,
        "valid": summary.fidelity.valid,
    }
