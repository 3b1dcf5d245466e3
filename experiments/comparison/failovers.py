"""Failovers side by side, single ones and series."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.codec import plain
from experiments.comparison.model import Comparison, Row
from experiments.comparison.settings import side_by_side
from experiments.results.open import Failover, Failovers

_QUANTILES = ("p50", "p90", "p99", "max")
# Entries of a summary that are settings, or have a table of their own.
_NO_RESULTS = ("name", "params", "routing", "hosts", "local_repair", "faults", "phases", "format")


def compare_failovers(failovers: Sequence[Failover]) -> Comparison:
    """Returns failovers side by side: every value of their summaries, and their phases' counts.

    Args:
        failovers: the failovers.

    Raises:
        ParameterError: one is damaged.
    """
    summaries = [plain(failover.summary) for failover in failovers]
    phases = [
        {
            f"{phase}.{name}": value
            for phase, counts in summary["phases"].items()
            for name, value in counts.items()
        }
        for summary in summaries
    ]
    values = [
        {**{name: value for name, value in summary.items() if name not in _NO_RESULTS}, **counts}
        for summary, counts in zip(summaries, phases, strict=True)
    ]
    results = {name: [value.get(name) for value in values] for name in values[0]}
    return side_by_side(failovers, results=results)


def compare_series(series: Sequence[Failovers]) -> Comparison:
    """Returns series of failovers side by side: means with their intervals, and quantiles.

    Args:
        series: the series.

    Raises:
        ParameterError: one is damaged.
    """
    summaries = [one.summary for one in series]
    tables = [summary.distributions() for summary in summaries]
    known = dict.fromkeys(name for table in tables for name in table)
    results: dict[str, Row] = {
        "failovers": [len(summary.seeds) for summary in summaries],
        "interrupted": [summary.interrupted for summary in summaries],
        "negative": [summary.negative for summary in summaries],
        "repaired_by": [dict(summary.repaired_by) for summary in summaries],
    }
    for name in known:
        results[name] = [getattr(table.get(name), "mean", None) for table in tables]
        for quantile in _QUANTILES:
            results[f"{name}.{quantile}"] = [getattr(table.get(name), quantile, None) for table in tables]
    intervals = {name: [getattr(table.get(name), "ci95", None) for table in tables] for name in known}
    return side_by_side(series, results=results, intervals=intervals)
