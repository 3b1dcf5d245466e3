"""Means over replications and their confidence intervals, key by key."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.codec import omitted


@dataclass(frozen=True)
class Interval:
    """Mean over replications with its confidence interval (Student's t).

    Attributes:
        mean: arithmetic mean of the replications.
        ci95: half the width of the 95 % confidence interval of the mean, t s / sqrt(n) with the standard
            deviation s of n values and Student's t; None of a single value.
        values: value of each replication that has one.
    """

    mean: float
    ci95: float | None
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Replications:
    """Means over replications that differ in their seeds only.

    Attributes:
        asked: number of replications that were asked for.
        seeds: seeds of those that were measured.
        offered, accepted, loss: as in the summary of a run.
        latency_mean_ms, latency_p50_ms: as `latency_ms` of a run.
        latency_p99_ms, latency_p99_9_ms: as `latency_ms` of a run.
        queueing_frame_times: as in the summary of a run.
        fct_mean_ms: mean of `fct_ms` of all TCP flows of a run.
        slowdown_mean, slowdown_p50, slowdown_p99: as `slowdown` of all TCP flows of a run.
    """

    asked: int
    seeds: tuple[int, ...]
    offered: Interval | None = omitted()
    accepted: Interval | None = omitted()
    loss: Interval | None = omitted()
    latency_mean_ms: Interval | None = omitted()
    latency_p50_ms: Interval | None = omitted()
    latency_p99_ms: Interval | None = omitted()
    latency_p99_9_ms: Interval | None = omitted()
    queueing_frame_times: Interval | None = omitted()
    fct_mean_ms: Interval | None = omitted()
    slowdown_mean: Interval | None = omitted()
    slowdown_p50: Interval | None = omitted()
    slowdown_p99: Interval | None = omitted()
