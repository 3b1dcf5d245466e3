"""Replications: the same measurement with several seeds as one result, with confidence intervals."""

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


def combine(summaries: Sequence[AnySummary], asked: int) -> AnySummary:
    """Returns the result of several replications as one.

    The rule at each field's type combines it (`parts.over_seeds`). Interrupted replications do not count
    beside others.

    Args:
        summaries: results that differ in their seeds only; at least one.
        asked: number of replications that were asked for.
    """
    interrupted = [one for one in summaries if one.interrupted]
    complete = [one for one in summaries if not one.interrupted] or interrupted
    whole = replace(combined([one.of_seed() for one in complete]), interrupted=True if interrupted else None)
    means = {one.key: interval_of(map(one.of, complete)) for one in metrics(whole.engine, In.SEEDS)}
    seeds, left_out = tuple(one.seed for one in complete), bool(interrupted) and complete is not interrupted
    return whole.repeated(complete, interrupted=left_out, asked=asked, seeds=seeds, **means)
