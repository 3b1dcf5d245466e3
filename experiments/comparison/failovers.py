"""Comparison of failovers and of series of failovers."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.codec import plain
from experiments.comparison.model import Comparison, ValueRow, rows_of
from experiments.comparison.settings import side_by_side
from experiments.results.open import Failover, Failovers

_QUANTILES = ("p50", "p90", "p99", "max")
# Entries of a summary that are settings or are compared elsewhere.
_NOT_RESULTS = ("name", "params", "routing", "hosts", "local_repair", "faults", "phases", "format")


def compare_failovers(failovers: Sequence[Failover]) -> Comparison:
    """Compares failovers by all values of their summaries, including the counts by phase.

    Args:
        failovers: the failovers.

    Raises:
        ParameterError: a failover's results are damaged.
    """
    values = []
    for failover in failovers:
        summary = plain(failover.summary)
        counts = {
            f"{phase}.{name}": value
            for phase, entries in summary["phases"].items()
            for name, value in entries.items()
        }
        values.append({name: value for name, value in summary.items() if name not in _NOT_RESULTS} | counts)
    return side_by_side(failovers, results=rows_of(values))


def compare_series(series: Sequence[Failovers]) -> Comparison:
    """Compares series of failovers by means with their intervals, and by quantiles.

    Args:
        series: the series.

    Raises:
        ParameterError: the results of a series are damaged.
    """
    summaries = [one.summary for one in series]
    tables = [summary.distributions() for summary in summaries]
    results: dict[str, ValueRow] = {
        "failovers": [len(summary.seeds) for summary in summaries],
        "interrupted": [summary.interrupted for summary in summaries],
        "negative": [summary.negative for summary in summaries],
        "repaired_by": [dict(summary.repaired_by) for summary in summaries],
    }
    keys = {"": "mean", **{f".{quantile}": quantile for quantile in _QUANTILES}}
    values = [
        {f"{name}{end}": getattr(found, key) for name, found in table.items() for end, key in keys.items()}
        for table in tables
    ]
    intervals = rows_of([{name: found.ci95 for name, found in table.items()} for table in tables])
    return side_by_side(series, results=results | rows_of(values), intervals=intervals)
