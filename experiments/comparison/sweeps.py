"""Sweeps side by side, point by point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from experiments.comparison.model import ComparedPoint, Comparison, Value
from experiments.comparison.settings import flat_settings, side_by_side
from experiments.results.open import SimulatedSweep, Sweep
from experiments.results.parts.sweep_rows import SweptRow
from experiments.results.simulation.sweep import SimulatedPointRow
from experiments.results.sweep_points import PointRow
from experiments.spec.sweep import Point

_POINT = ("routing", "pattern", "load", "varied")
SIMULATED_KIND = "sweeps of simulations"


def compare_sweeps(names: Sequence[str], sweeps: Sequence[Sweep]) -> Comparison:
    """Returns sweeps side by side: all points that one of them has, and the differences to the first sweep.

    Args:
        names: a name for each sweep.
        sweeps: the sweeps.

    Raises:
        ParameterError: one is damaged.
    """
    return _compared("sweeps", names, sweeps, PointRow)


def compare_simulated_sweeps(names: Sequence[str], sweeps: Sequence[SimulatedSweep]) -> Comparison:
    """Returns sweeps of simulations side by side, as `compare_sweeps`.

    Args:
        names: a name for each sweep.
        sweeps: the sweeps.

    Raises:
        ParameterError: one is damaged.
    """
    return _compared(SIMULATED_KIND, names, sweeps, SimulatedPointRow)


def _compared(
    kind: str, names: Sequence[str], sweeps: Sequence[Sweep | SimulatedSweep], row: type[SweptRow]
) -> Comparison:
    sides = side_by_side([_settings(sweep) for sweep in sweeps])
    points = {point for sweep in sweeps for point in sweep.points}
    return Comparison(
        kind=kind,
        runs=tuple(names),
        same=sides.same,
        differing=sides.differing,
        points=tuple(_point(point, sweeps, row) for point in sorted(points, key=attrgetter("order"))),
    )


def _settings(sweep: Sweep | SimulatedSweep) -> dict[str, Value]:
    """Returns the entries of a sweep's manifest, without those that differ between its points."""
    settings = sweep.manifest.sweep
    entries = flat_settings(sweep.manifest)
    return {name: value for name, value in entries.items() if not settings.varies(name.rpartition(".")[2])}


def _point(point: Point, sweeps: Sequence[Sweep | SimulatedSweep], kind: type[SweptRow]) -> ComparedPoint:
    rows = [sweep.points.get(point) for sweep in sweeps]
    values = {
        field.name: [None if row is None else getattr(row, field.name) for row in rows]
        for field in fields(kind)
        if field.name not in _POINT
    }
    varied = next((row.varied for row in rows if row is not None and row.varied), {})
    differences = {name: _differences(row) for name, row in values.items() if any(map(_is_number, row))}
    return ComparedPoint(point.routing, point.pattern, point.load, values, differences, varied)


def _differences(values: Sequence[Any]) -> list[float | None]:
    first = values[0]
    known = [_is_number(first) and _is_number(value) for value in values]
    return [round(v - first, 6) if both else None for v, both in zip(values, known, strict=True)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
