"""Measures of simulated curves, and the loads at which they are measured."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.papers.model import Row, Scale, Value
from experiments.papers.performance.model import CurvePoint, MeasuredCurve
from experiments.points.loads import LoadSteps

HALF = 0.5
AT_HALF = LoadSteps(precision=HALF, steps=1, max_load=HALF)  # simulates only load HALF
AT_FULL = LoadSteps(precision=1.0, steps=1, max_load=1.0)  # simulates only full load


def saturating_loads(scale: Scale) -> LoadSteps:
    """Returns the loads among which saturation is searched; at quick scale they are coarse.

    Args:
        scale: the scale.
    """
    return LoadSteps(precision=0.05, steps=4) if scale.quick else LoadSteps(precision=0.01, steps=10)


def all_complete(*curves: MeasuredCurve) -> bool:
    """Returns whether all given curves have all their points, so that a figure's row can be built from them.

    Args:
        curves: the curves.
    """
    return all(one.complete for one in curves)


def _at(found: MeasuredCurve, load: float) -> CurvePoint | None:
    return next((point for point in found.points if abs(point.load - load) < 1e-9), None)


def accepted_at(found: MeasuredCurve, load: float) -> Value | None:
    """Returns the accepted load at an offered load, stable or not; None if that load was not simulated.

    Args:
        found: the curve.
        load: the offered load.
    """
    point = _at(found, load)
    return None if point is None else _with_interval(point.accepted, point.accepted_ci95)


def delivered_at(found: MeasuredCurve, load: float) -> Value | None:
    """Returns the accepted share of an offered load; None if that load was not simulated.

    Args:
        found: the curve.
        load: the load.
    """
    point = _at(found, load)
    # The ratio has no interval: both loads vary together, so the interval of one says little about it.
    return Value(point.accepted / point.offered) if point and point.offered else None


def latency_at(found: MeasuredCurve, load: float) -> Value | None:
    """Returns the mean latency at a load, in cycles; None if the load is saturated.

    Latencies of saturated loads would depend on the length of the simulation.

    Args:
        found: the curve.
        load: the load.
    """
    point = _at(found, load)
    if point is None or not point.stable or point.latency_cycles is None:
        return None
    return _with_interval(point.latency_cycles, point.latency_ci95_cycles)


def _with_interval(value: float, half: float | None) -> Value:
    return Value(value, None if half is None else (value - half, value + half))


def measure_columns(name: str, measure: Value | None) -> Row:
    """Returns the columns of a measure: its value, and the ends of its interval.

    Args:
        name: name of the measure's column.
        measure: the measure; None if it is not known.
    """
    low, high = (measure.interval if measure else None) or (None, None)
    return {name: measure.value if measure else None, f"{name}_low": low, f"{name}_high": high}


def measure_rows(names: Row, measures: Mapping[str, Value | None]) -> list[Row]:
    """Returns one row per measure, with the columns `measure`, `value`, `value_low` and `value_high`.

    Args:
        names: columns that all rows share.
        measures: name -> measure; None if it is not known.
    """
    return [
        {**names, "measure": name, **measure_columns("value", measure)} for name, measure in measures.items()
    ]
