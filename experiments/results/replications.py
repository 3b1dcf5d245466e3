"""Combination of replications, which differ only in their seeds, with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from experiments.results.metrics import In, metrics
from experiments.results.model import Summary
from experiments.results.parts.over_seeds import combined
from experiments.results.parts.replications import Interval
from experiments.results.simulation.model import SimulationSummary

_CONFIDENCE = 0.95
AnySummary = TypeVar("AnySummary", Summary, SimulationSummary)


def interval(values: Sequence[float]) -> tuple[float, float | None]:
    """Returns the mean of values and half the width of its 95 % confidence interval.

    Args:
        values: at least one value.

    Returns:
        The mean, and half the width (None for one value) by Student's t distribution, which suits few values.
    """
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    from scipy.special import stdtrit  # slow to import and rarely needed

    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    quantile = float(stdtrit(len(values) - 1, (1 + _CONFIDENCE) / 2))
    return mean, quantile * math.sqrt(variance / len(values))


def interval_of(values: Iterable[float | None]) -> Interval | None:
    """Returns mean and confidence interval of the values that are not None; None if all are None.

    Args:
        values: value of each replication, or None.
    """
    present = tuple(value for value in values if value is not None)
    if not present:
        return None
    mean, half = interval(present)
    return Interval(round(mean, 6), None if half is None else round(half, 6), present)


def combine(summaries: Sequence[AnySummary], asked: int) -> AnySummary:
    """Combines the results of several replications.

    The type of a field determines how it is combined (`parts.over_seeds`). Interrupted replications are
    excluded unless all are interrupted.

    Args:
        summaries: results that differ only in their seeds; at least one.
        asked: requested number of replications.
    """
    interrupted = [one for one in summaries if one.interrupted]
    complete = [one for one in summaries if not one.interrupted] or interrupted
    whole = replace(combined([one.of_seed() for one in complete]), interrupted=True if interrupted else None)
    means = {one.key: interval_of(map(one.of, complete)) for one in metrics(whole.engine, In.SEEDS)}
    seeds, left_out = tuple(one.seed for one in complete), bool(interrupted) and complete is not interrupted
    return whole.repeated(complete, interrupted=left_out, asked=asked, seeds=seeds, **means)
