"""Replications of a simulation: the same traffic with several seeds as one result, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace

from experiments.results.model import Predicted
from experiments.results.replications import interval_of
from experiments.results.simulation.model import (
    Latencies,
    SimulatedLinks,
    SimulatedPackets,
    SimulatedReplications,
    SimulationSummary,
)

# Values that have a mean over replications.
METRICS: Mapping[str, Callable[[SimulationSummary], float | None]] = {
    "offered": lambda summary: summary.offered,
    "accepted": lambda summary: summary.accepted,
    "loss": lambda summary: summary.loss,
    "latency_mean_cycles": lambda summary: summary.latency_cycles.mean,
    "latency_p50_cycles": lambda summary: summary.latency_cycles.p50,
    "latency_p99_cycles": lambda summary: summary.latency_cycles.p99,
    "queueing_frame_times": lambda summary: summary.queueing_frame_times,
    "detoured": lambda summary: summary.detoured,
}


def combine_simulations(summaries: Sequence[SimulationSummary], asked: int) -> SimulationSummary:
    """Returns the result of several replications as one.

    Fractions, latencies and loads are means, counts and times are sums; the result is stable if all are.
    Interrupted replications do not count beside others.

    Args:
        summaries: results that differ in their seeds only; at least one.
        asked: number of replications that were asked for.
    """
    interrupted = any(summary.interrupted for summary in summaries)
    summaries = [summary for summary in summaries if not summary.interrupted] or summaries
    first = summaries[0]
    intervals = {name: interval_of(map(value_of, summaries)) for name, value_of in METRICS.items()}
    means = {name: entry.mean if entry else None for name, entry in intervals.items()}
    hops = Counter[int]()
    for summary in summaries:
        hops.update(summary.hops)
    seeds = tuple(summary.seed for summary in summaries)
    stable = sum(bool(summary.stable) for summary in summaries)
    return replace(
        first,
        offered=means["offered"] or 0.0,
        accepted=means["accepted"] or 0.0,
        loss=means["loss"],
        packets=SimulatedPackets(**_sums([vars(summary.packets) for summary in summaries])),
        stable=stable == len(summaries),
        steady=None if first.steady is None else all(summary.steady for summary in summaries),
        latency_cycles=_latencies([summary.latency_cycles for summary in summaries]),
        latency_frame_times=_latencies([summary.latency_frame_times for summary in summaries]),
        queueing_frame_times=means["queueing_frame_times"],
        hops=dict(sorted(hops.items())),
        detoured=means["detoured"],
        links=_links([summary.links for summary in summaries]),
        deadlock=next((summary.deadlock for summary in summaries if summary.deadlock), None),
        packet_hops=sum(summary.packet_hops for summary in summaries),
        seconds=round(sum(summary.seconds for summary in summaries), 6),
        predicted=_predicted([summary.predicted for summary in summaries if summary.predicted]),
        batches=None,
        repeat=SimulatedReplications(asked=asked, seeds=seeds, stable=stable, **intervals),
        interrupted=True if interrupted else None,
    )


def _mean(values: Iterable[float | None]) -> float | None:
    """Returns the mean of those values that there are; None if there is none."""
    found = interval_of(values)
    return found.mean if found else None


def _sums(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {name: sum(count[name] for count in counts) for name in counts[0]}


def _latencies(entries: Sequence[Latencies]) -> Latencies:
    """Returns the means of latencies, and the greatest of the longest."""
    means = {f.name: _mean(getattr(one, f.name) for one in entries) for f in fields(Latencies)}
    longest = max((one.max for one in entries if one.max is not None), default=None)
    return Latencies(**{**means, "max": longest})


def _links(entries: Sequence[SimulatedLinks]) -> SimulatedLinks:
    """Returns the means of loads, and the sum of the dropped packets."""
    means = {name: _mean(getattr(one, name) for one in entries) for name in ("load_max", "load_mean", "jain")}
    return SimulatedLinks(**means, dropped_packets=sum(one.dropped_packets for one in entries))


def _predicted(entries: Sequence[Predicted]) -> Predicted | None:
    if not entries:
        return None
    return Predicted(
        **{f.name: _mean(getattr(one, f.name) for one in entries) or 0.0 for f in fields(Predicted)}
    )
