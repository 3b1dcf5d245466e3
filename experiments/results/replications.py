"""Replications: the same measurement with several seeds as one result, with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from experiments.results.flows.replications import combine_flows
from experiments.results.model import (
    Adaptation,
    Fidelity,
    Latencies,
    LinkSummary,
    PacketCounts,
    Predicted,
    Summary,
)
from experiments.results.parts.host_links import add_host_links
from experiments.results.parts.programs import ProgramRecord
from experiments.results.parts.replications import Interval, Replications
from experiments.results.run_directory import seed_folder

INTERRUPTED = "it was interrupted before its end"
_CONFIDENCE = 0.95
# Values that have a mean over replications.
METRICS: Mapping[str, Callable[[Summary], float | None]] = {
    "offered": lambda summary: summary.offered,
    "accepted": lambda summary: summary.accepted,
    "loss": lambda summary: summary.loss,
    "latency_mean_ms": lambda summary: summary.latency_ms.mean,
    "latency_p50_ms": lambda summary: summary.latency_ms.p50,
    "latency_p99_ms": lambda summary: summary.latency_ms.p99,
    "latency_p99_9_ms": lambda summary: summary.latency_ms.p99_9,
    "queueing_frame_times": lambda summary: summary.queueing_frame_times,
    "fct_mean_ms": lambda summary: summary.flows.fct_ms.mean if summary.flows else None,
    "slowdown_mean": lambda summary: summary.flows.slowdown.mean if summary.flows else None,
    "slowdown_p50": lambda summary: summary.flows.slowdown.p50 if summary.flows else None,
    "slowdown_p99": lambda summary: summary.flows.slowdown.p99 if summary.flows else None,
}


def interval(values: Sequence[float]) -> tuple[float, float | None]:
    """Returns the mean of some values and half the width of its 95 % confidence interval.

    Args:
        values: at least one value.

    Returns:
        The mean; half the width by Student's t distribution, as the values are few, or None of one value.
    """
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    from scipy.special import stdtrit  # slow to import, and seldom needed

    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    quantile = float(stdtrit(len(values) - 1, (1 + _CONFIDENCE) / 2))
    return mean, quantile * math.sqrt(variance / len(values))


def combine(summaries: Sequence[Summary], asked: int) -> Summary:
    """Returns the result of several replications as one.

    Fractions, latencies and loads are means, counts are sums, evidence is the worst of all; the result is
    valid if all are. Interrupted replications do not count beside others.

    Args:
        summaries: results that differ in their seeds only; at least one.
        asked: number of replications that were asked for.
    """
    interrupted = [summary for summary in summaries if summary.interrupted]
    complete = [summary for summary in summaries if not summary.interrupted] or interrupted
    doubts = [INTERRUPTED] if interrupted and complete is not interrupted else []
    first = complete[0]
    intervals = {name: interval_of(map(value_of, complete)) for name, value_of in METRICS.items()}
    means = {name: entry.mean if entry else None for name, entry in intervals.items()}
    return replace(
        first,
        offered=means["offered"],
        accepted=means["accepted"],
        loss=means["loss"],
        latency_ms=Latencies(*(means[f"latency_{name}_ms"] for name in ("mean", "p50", "p99", "p99_9"))),
        queueing_frame_times=means["queueing_frame_times"],
        packets=PacketCounts(**_sums([vars(summary.packets) for summary in complete])),
        hops=dict(sorted(_sums([summary.hops for summary in complete]).items())),
        hops_as_distances=_all(summary.hops_as_distances for summary in complete),
        out_of_order=sum(summary.out_of_order for summary in complete),
        fidelity=_fidelity(complete).doubted(*doubts),
        repeat=Replications(asked=asked, seeds=tuple(s.seed for s in complete), **intervals),
        flows=combine_flows([s.flows for s in complete if s.flows]),
        predicted=_predicted([s.predicted for s in complete if s.predicted]),
        links=_links([s.links for s in complete if s.links]),
        host_links=add_host_links([s.host_links for s in complete if s.host_links]),
        adaptation=_adaptation([s.adaptation for s in complete if s.adaptation]),
        interrupted=True if interrupted else None,
        programs=_programs(complete),
    )


def _all(values: Iterable[bool | None]) -> bool | None:
    """Returns whether all values are true; None if there are none."""
    present = [value for value in values if value is not None]
    return all(present) if present else None


def _programs(summaries: Sequence[Summary]) -> tuple[ProgramRecord, ...] | None:
    """Returns the programs of all replications, whose files are in the replications' folders."""
    programs = [
        replace(
            program,
            output=f"{seed_folder(summary.seed)}/{program.output}",
            errors=f"{seed_folder(summary.seed)}/{program.errors}",
        )
        for summary in summaries
        for program in summary.programs or ()
    ]
    return tuple(programs) or None


def interval_of(values: Iterable[float | None]) -> Interval | None:
    """Returns the interval of those values that there are; None if there is none.

    Args:
        values: a value of each replication; None of one that has none.
    """
    present = tuple(value for value in values if value is not None)
    if not present:
        return None
    mean, half = interval(present)
    return Interval(round(mean, 6), None if half is None else round(half, 6), present)


def _mean(values: Sequence[float | None]) -> float:
    return round(math.fsum(value or 0.0 for value in values) / len(values), 6)


def _links(tables: Sequence[LinkSummary]) -> LinkSummary | None:
    """Returns the means of the loads and the sums of the packets; None if no load was observed."""
    if not tables:
        return None
    return LinkSummary(
        load_max=_mean([table.load_max for table in tables]),
        load_mean=_mean([table.load_mean for table in tables]),
        jain=_mean([table.jain for table in tables]),
        dropped_packets=sum(table.dropped_packets for table in tables),
        lost_packets=sum(table.lost_packets for table in tables),
    )


def _predicted(predictions: Sequence[Predicted]) -> Predicted | None:
    if not predictions:
        return None
    names = [field.name for field in fields(Predicted)]
    return Predicted(**{name: _mean([getattr(entry, name) for entry in predictions]) for name in names})


def _adaptation(entries: Sequence[Adaptation]) -> Adaptation | None:
    if not entries:
        return None
    modified = sum(entry.groups_modified for entry in entries)
    return Adaptation(entries[0].occupancy, modified, tuple(w for entry in entries for w in entry.warnings))


def _sums(counts: Sequence[Mapping[Any, int]]) -> dict[Any, int]:
    names = dict.fromkeys(name for count in counts for name in count)
    return {name: sum(count.get(name, 0) for count in counts) for name in names}


def _fidelity(summaries: Sequence[Summary]) -> Fidelity:
    """Returns the worst of all replications in each respect, and all reasons."""
    evidence = [summary.fidelity for summary in summaries]
    reasons = tuple(
        f"seed {summary.seed}: {reason}" for summary in summaries for reason in summary.fidelity.reasons
    )

    def worst(name: str, choose: Callable[..., Any], **how: Any) -> Any:
        values = (getattr(entry, name) for entry in evidence)
        return choose((value for value in values if value is not None), default=None, **how)

    longest = max(evidence, key=lambda entry: entry.held_frame_times_max or 0.0)
    return Fidelity(
        valid=not reasons,
        reasons=reasons,
        observed=worst("observed", min),
        held_frame_times_max=longest.held_frame_times_max,
        held_frame_times_rms=worst("held_frame_times_rms", max),
        held_frame_times_mean=worst("held_frame_times_mean", max),
        worst_second=longest.worst_second,
        worst_switch=longest.worst_switch,
        cpu_idle=worst("cpu_idle", min),
        cpu_stolen=worst("cpu_stolen", max),
        generator_lag_ms_p99=worst("generator_lag_ms_p99", max),
        link_rate_error=worst("link_rate_error", max, key=abs),
        links_saturated=worst("links_saturated", max),
        lost_outside_queues=worst("lost_outside_queues", max),
        try_link_rate_bps=worst("try_link_rate_bps", min),
    )
