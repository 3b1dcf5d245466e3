"""Comparison of sweeps, point by point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from experiments.comparison.model import ComparedPoint, Comparison, JsonValue, rows_of
from experiments.comparison.settings import flat_settings, side_by_side
from experiments.results.open import SimulatedSweep, Sweep
from experiments.results.sweep_points import columns_of
from experiments.spec.sweep import Point
from routing.path_sets.registry import PATH_SETS
from routing.registry import routing
from topology.errors import UsageError

_POINT = ("routing", "pattern", "load")
AnySweep = Sweep | SimulatedSweep


def compare_sweeps(sweeps: Sequence[AnySweep]) -> Comparison:
    """Compares sweeps at all points that any of them has, with differences from the first sweep.

    Routings of different families are paired by role, such as `min` and `hierarchical`.

    Args:
        sweeps: the sweeps, of one engine.

    Raises:
        ParameterError: a sweep's results are damaged.
    """
    # For each sweep: point of the comparison -> its own point.
    places = [
        {replace(point, routing=names.get(point.routing, point.routing)): point for point in sweep.points}
        for sweep, names in zip(sweeps, _paired_routings(sweeps), strict=True)
    ]
    points = sorted({point for own in places for point in own}, key=attrgetter("order"))
    return side_by_side(
        sweeps,
        [_settings(sweep) for sweep in sweeps],
        points=tuple(_point(point, sweeps, [own.get(point) for own in places]) for point in points),
    )


def _settings(sweep: AnySweep) -> dict[str, JsonValue]:
    """Returns the entries of a sweep's manifest, without varied settings."""
    settings = sweep.manifest.sweep
    entries = flat_settings(sweep.manifest)
    return {name: value for name, value in entries.items() if not settings.varies(name.rpartition(".")[2])}


def _paired_routings(sweeps: Sequence[AnySweep]) -> list[dict[str, str]]:
    """Pairs routings of different sweeps that have the same role.

    Returns, for each sweep, routing -> common name of the paired routings, like `min / hierarchical`.

    Routings that all sweeps share are not paired. Others are paired only if each sweep has exactly one with
    that role.
    """
    own = [dict.fromkeys(point.routing for point in sweep.points) for sweep in sweeps]
    paired: list[dict[str, str]] = [{} for _ in sweeps]
    if len({sweep.manifest.name for sweep in sweeps}) > 1:
        left = [[name for name in names if not all(name in other for other in own)] for names in own]
        for role in dict.fromkeys(_role(name) for names in left for name in names):
            meeting = [[name for name in names if _role(name) == role] for names in left]
            if all(len(names) == 1 for names in meeting):
                common = " / ".join(dict.fromkeys(name for [name] in meeting))
                for names, [name] in zip(paired, meeting, strict=True):
                    names[name] = common
    return paired


def _role(name: str) -> str:
    """Returns a routing's role: `minimal`, `not minimal` or `adaptive`; for unknown routings, the name."""
    try:
        found = routing(name)
    except UsageError:  # the name is from another version
        return name
    if not found.oblivious:
        return "adaptive"
    return "minimal" if found.shortest or name.partition(":")[0] in PATH_SETS else "not minimal"


def _point(point: Point, sweeps: Sequence[AnySweep], own: Sequence[Point | None]) -> ComparedPoint:
    rows = [None if one is None else sweep.points[one] for sweep, one in zip(sweeps, own, strict=True)]
    halves = [{} if one is None else sweep.halves(one) for sweep, one in zip(sweeps, own, strict=True)]
    columns = [name for name in columns_of((), sweeps[0].row) if name not in _POINT]
    values = {name: [None if row is None else getattr(row, name) for row in rows] for name in columns}
    return ComparedPoint(
        point.routing,
        point.pattern,
        point.load,
        values,
        {name: _differences(row) for name, row in values.items() if any(map(_is_number, row))},
        next((row.varied for row in rows if row is not None and row.varied), {}),
        rows_of(halves),
    )


def _differences(values: Sequence[Any]) -> list[float | None]:
    first = values[0]
    known = [_is_number(first) and _is_number(value) for value in values]
    return [round(v - first, 6) if both else None for v, both in zip(values, known, strict=True)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
