"""Replications of TCP flows as one result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from experiments.results.parts.flows import FlowBytes, FlowClass, FlowSummary, Quantiles


def combine_flows(summaries: Sequence[FlowSummary]) -> FlowSummary | None:
    """Returns the flows of several replications: counts are sums, times and slowdowns are means.

    Args:
        summaries: results that differ in their seeds only; None is returned if there is none.
    """
    if not summaries:
        return None
    names = dict.fromkeys(entry.name for summary in summaries for entry in summary.classes)
    by_name = {n: [c for summary in summaries for c in summary.classes if c.name == n] for n in names}
    hops = sorted({number for summary in summaries for number in summary.base_ms})
    return replace(
        summaries[0],
        **{
            name: sum(getattr(summary, name) for summary in summaries)
            for name in ("started", "completed", "unfinished", "failed", "warmup")
        },
        fct_ms=_quantiles([summary.fct_ms for summary in summaries]),
        slowdown=_quantiles([summary.slowdown for summary in summaries]),
        classes=tuple(map(_class, by_name.values())),
        base_ms={n: round(_known_mean([s.base_ms.get(n) for s in summaries]) or 0.0, 3) for n in hops},
        bytes=_bytes([summary.bytes for summary in summaries]),
        below_ideal=_known_mean([summary.below_ideal for summary in summaries]),
    )


def _class(entries: Sequence[FlowClass]) -> FlowClass:
    return FlowClass(
        entries[0].name,
        sum(entry.flows for entry in entries),
        sum(entry.completed for entry in entries),
        sum(entry.bytes for entry in entries),
        _quantiles([entry.fct_ms for entry in entries]),
        _quantiles([entry.slowdown for entry in entries]),
    )


def _quantiles(entries: Sequence[Quantiles]) -> Quantiles:
    names = ("mean", "p50", "p99")
    return Quantiles(*(_known_mean([getattr(entry, name) for entry in entries]) for name in names))


def _known_mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 4) if known else None


def _bytes(entries: Sequence[FlowBytes]) -> FlowBytes:
    by_flows = sum(entry.links_by_flows for entry in entries)
    observed = all(entry.links_counted is not None for entry in entries)
    counted = sum(entry.links_counted or 0 for entry in entries) if observed else None
    return FlowBytes(
        payload=sum(entry.payload for entry in entries),
        resent=sum(entry.resent for entry in entries),
        wire=sum(entry.wire for entry in entries),
        links_by_flows=by_flows,
        links_counted=counted,
        links_error=round(by_flows / counted - 1, 5) if counted else None,
    )
