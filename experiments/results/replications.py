"""The same measurement with several seeds, as one: means and their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

_CONFIDENCE = 0.95
# What a mean is taken of, by where it is in a summary.
METRICS: dict[str, Callable[[dict[str, Any]], float | None]] = {
    "offered": lambda summary: summary["offered"],
    "accepted": lambda summary: summary["accepted"],
    "loss": lambda summary: summary["loss"],
    **{
        f"latency_{name}_ms": lambda summary, name=name: summary["latency_ms"][name]  # type: ignore[misc]
        for name in ("mean", "p50", "p99", "p99_9")
    },
}


def interval(values: Sequence[float]) -> tuple[float, float | None]:
    """Returns the mean of some values and half the width of its 95 % confidence interval.

    By Student's t distribution, as the values are few; None for a single one.
    """
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    from scipy.special import stdtrit  # slow to import, and seldom needed

    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    quantile = float(stdtrit(len(values) - 1, (1 + _CONFIDENCE) / 2))
    return mean, quantile * math.sqrt(variance / len(values))


def combine(summaries: Sequence[dict[str, Any]], asked: int) -> dict[str, Any]:
    """Returns the summary of several runs, of as many as were `asked` for, that differ in their seeds only.

    Fractions, latencies and loads are means, counts are sums; it is valid if all runs are. Interrupted runs
    do not count where others did not end so. `repeat` has each mean with half the width of its confidence
    interval (`ci95`) and the values.
    """
    interrupted = [summary for summary in summaries if "interrupted" in summary]
    summaries = [summary for summary in summaries if summary not in interrupted] or interrupted
    first = summaries[0]
    repeat: dict[str, Any] = {"asked": asked, "seeds": [summary["seed"] for summary in summaries]}
    for name, value_of in METRICS.items():
        values = [value for value in map(value_of, summaries) if value is not None]
        if values:
            mean, half = interval(values)
            repeat[name] = {
                "mean": round(mean, 6),
                "ci95": None if half is None else round(half, 6),
                "values": values,
            }
    means = {name: entry["mean"] for name, entry in repeat.items() if name in METRICS}
    latency = {name: means.get(f"latency_{name}_ms") for name in first["latency_ms"]}
    return {
        **first,
        **{name: means.get(name) for name in ("offered", "accepted", "loss")},
        "latency_ms": latency,
        "packets": _sums([summary["packets"] for summary in summaries]),
        "hops": _sums([summary["hops"] for summary in summaries]),
        "hops_as_distances": all(summary["hops_as_distances"] for summary in summaries),
        "out_of_order": sum(summary["out_of_order"] for summary in summaries),
        "fidelity": _fidelity(summaries),
        "repeat": repeat,
        **({"predicted": _means([s["predicted"] for s in summaries])} if "predicted" in first else {}),
        "links": _links([summary["links"] for summary in summaries if summary["links"]]),
        **({"adaptation": _adaptation(summaries)} if "adaptation" in first else {}),
        **({"interrupted": True} if interrupted else {}),
    }


def _links(tables: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Returns the means of the loads and the sums of the packets; None if nobody could see the links."""
    if not tables:
        return None
    packets = [name for name in tables[0] if name.endswith("_packets")]
    return {**_means(tables), **{name: sum(table[name] for table in tables) for name in packets}}


def _means(tables: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: round(math.fsum(t[name] or 0 for t in tables) / len(tables), 6) for name in tables[0]}


def _adaptation(summaries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    told = [summary["adaptation"] for summary in summaries]
    return {
        **told[0],
        "groups_modified": sum(entry["groups_modified"] for entry in told),
        "warnings": [warning for entry in told for warning in entry["warnings"]],
    }


def _sums(counts: Sequence[dict[str, int]]) -> dict[str, int]:
    names = sorted({name for count in counts for name in count}, key=lambda name: (len(name), name))
    return {name: sum(count.get(name, 0) for count in counts) for name in names}


def _fidelity(summaries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns the worst of all runs in each respect, and all reasons."""
    told = [summary["fidelity"] for summary in summaries]
    reasons = [f"seed {s['seed']}: {reason}" for s in summaries for reason in s["fidelity"]["reasons"]]

    def worst(name: str, choose: Callable[..., Any], **how: Any) -> Any:
        return choose((f[name] for f in told if f[name] is not None), default=None, **how)

    return {
        "valid": not reasons,
        "reasons": reasons,
        "cpu_idle": worst("cpu_idle", min),
        "generator_lag_ms_p99": worst("generator_lag_ms_p99", max),
        "link_rate_error": worst("link_rate_error", max, key=abs),
        "links_saturated": worst("links_saturated", max),
        "lost_outside_queues": worst("lost_outside_queues", max),
    }
