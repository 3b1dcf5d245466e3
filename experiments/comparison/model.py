"""Model of a comparison: the settings and values of several results, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.results.metrics import METRICS, In
from experiments.results.text import readable

# A value of a manifest or a summary as JSON has it: a number, a text, a list, or a mapping.
Value = Any
Row = list[Value]


@dataclass(frozen=True)
class ComparedPoint:
    """Point of several sweeps; every list has one value for each sweep, None where it was not measured.

    Attributes:
        routing, pattern, load: the point.
        values: values by their columns in `points.csv`.
        differences: value of each sweep less that of the first, for numbers.
        varied: key of `--vary` -> its value at the point; empty if the sweeps vary nothing else.
        intervals: half the width of the 95 % confidence interval of values that have one.
    """

    routing: str
    pattern: str
    load: float
    values: Mapping[str, Row]
    differences: Mapping[str, list[float | None]]
    varied: Mapping[str, Value] = field(default_factory=dict)
    intervals: Mapping[str, list[float | None]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The point in a table."""
        options = (f" {key}={readable(value)}" for key, value in self.varied.items() if "." not in key)
        return f"{self.routing} {self.pattern} {self.load:g}{''.join(options)}"


def compared_columns(points: Sequence[ComparedPoint]) -> list[str]:
    """Returns the columns of points by which one sweep is better than another, where a point has a value.

    Args:
        points: points of sweeps of one kind.
    """
    names = dict.fromkeys(one.key for one in METRICS if In.REPORT in one.places and one.better)
    return [
        name
        for name in names
        if any(value is not None for point in points for value in point.values.get(name, ()))
    ]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Results of one kind side by side; every table has, under each name, one value for each of them.

    Attributes:
        kind: kind of the results, in the plural: `runs`, `simulations`, `sweeps`, `failovers`.
        runs: names of the results.
        same: entries of the manifests that are equal in all of them.
        differing: entries in which they differ; None where a manifest has no such entry.
        results: measured results; None where one has no such result.
        intervals: half the width of the 95 % confidence interval of a result that is a mean; None of others.
        collectives: (message size in bytes, bus bandwidth in bit/s) by size, for each run; empty if it is
            not a collective.
        points: points of sweeps.
    """

    kind: str
    runs: tuple[str, ...]
    same: Mapping[str, Value]
    differing: Mapping[str, Row]
    results: Mapping[str, Row] = field(default_factory=dict)
    intervals: Mapping[str, list[float | None]] = field(default_factory=dict)
    collectives: list[list[tuple[int, float]]] = field(default_factory=list)
    points: tuple[ComparedPoint, ...] = ()
