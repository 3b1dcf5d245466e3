"""Curves of several networks and patterns: loads, names, and points as the data of a figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import wraps

from experiments.papers.model import ItemResult, Row, Scale, Value
from experiments.papers.performance.model import (
    Curve,
    CurveNotMeasuredError,
    MeasuredCurve,
    MeasuredCurves,
)
from experiments.points.loads import LoadSteps
from experiments.spec.fabric import FabricOptions

UNIFORM, RANDOM = "uniform", "random-permutation"
BIT_SHUFFLE, BIT_REVERSE = "bit-shuffle", "bit-reverse"
# Papers choose intermediate routers among all routers, which spreads detours more evenly than among 256.
UGAL = "ugal:intermediates=4094"
VALIANT = "valiant:intermediates=1024"  # also among all routers
UGAL_HIERARCHICAL = f"{UGAL},over=hierarchical"  # the same routing on dragonflies
# For graphs with so many minimal paths that the plan would need over 10 GB with all routers as intermediates.
# Each destination has other intermediates, so the detours still spread evenly over the network.
UGAL_OF_MANY_GROUPS = "ugal:intermediates=256"
COARSE = LoadSteps(precision=0.05, steps=2)
OVERLOAD = LoadSteps(precision=1.0, steps=1)  # simulates only full load
# Key of a claim -> function that returns its value, or None if the curves have none.
Values = Mapping[str, Callable[[], Value | float | None]]
# Label of a network and its routing, such as `PF-UGAL`, and name of a pattern.
Name = tuple[str, str]


def wide_loads(scale: Scale) -> LoadSteps:
    """Returns the loads of curves that may reach full load.

    Args:
        scale: the scale; at quick scale the loads are coarse.
    """
    return COARSE if scale.quick else LoadSteps()


def curves_of(fabrics: Mapping[str, FabricOptions], patterns: Sequence[str], loads: LoadSteps) -> list[Curve]:
    """Returns a curve for every combination of network and pattern.

    Args:
        fabrics: label -> the network with its routing.
        patterns: names of the patterns.
        loads: the loads of each curve.
    """
    return [Curve(*one, pattern, loads) for one in fabrics.items() for pattern in patterns]


def by_name(curves: MeasuredCurves) -> dict[Name, MeasuredCurve]:
    """Returns name (label and pattern) -> curve.

    Args:
        curves: the curves with their points.
    """
    return {(curve.label, curve.pattern): found for curve, found in curves.items()}


def all_rows(curves: MeasuredCurves) -> list[Row]:
    """Returns the points of curves as rows; a load that two curves of the same name share appears once.

    Args:
        curves: the curves with their points.
    """
    rows = (row for found in curves.values() for row in found.rows())
    return list({(row["curve"], row["pattern"], row["load"]): row for row in rows}.values())


def at_full_size(
    values: Callable[[MeasuredCurves], Values],
) -> Callable[[MeasuredCurves, Scale], ItemResult]:
    """Decorates a function from curves to values of claims, which are about full-size networks only.

    The decorated function returns the points together with these values. Values that need an incomplete curve
    are omitted. At quick scale all values are omitted; the remark has the numbers of the smaller networks.

    Args:
        values: the curves with their points -> key of a claim -> function that returns its value.
    """

    @wraps(values)
    def find(curves: MeasuredCurves, scale: Scale) -> ItemResult:
        if scale.quick:
            return ItemResult({}, all_rows(curves), _quick_remark(curves))
        found: dict[str, Value | float] = {}
        for key, value_of in values(curves).items():
            with suppress(CurveNotMeasuredError):
                value = value_of()
                if value is not None:
                    found[key] = value
        return ItemResult(found, all_rows(curves))

    return find


def _quick_remark(curves: MeasuredCurves) -> str:
    """Returns the note at quick scale: why no claim is computed, and each complete curve's saturation."""
    sizes = sorted({curve.fabric.topology.routers for curve in curves})
    numbers: dict[str, list[str]] = {}
    for curve, found in curves.items():
        with suppress(CurveNotMeasuredError):
            number = f"{found.saturation.value:.3g} under {curve.pattern}"
            numbers.setdefault(curve.label, []).append(number)
    listed = "; ".join(f"{label} {', '.join(one)}" for label, one in numbers.items())
    return (
        "not computed: the claims are about networks of full size, and --quick simulates smaller ones, of "
        f"{', '.join(map(str, sizes))} routers. Accepted load at saturation there: {listed or 'none yet'}"
    )


def ratio(above: Value, below: Value) -> Value:
    """Returns the ratio of two numbers, with the interval that follows from both intervals.

    Args:
        above: the dividend.
        below: the divisor; 0 results in infinity. If either has no interval, the ratio has none.
    """
    value = _divided(above.value, below.value)
    if above.interval is None or below.interval is None:
        return Value(value)
    (low, high), (least, most) = above.interval, below.interval
    return Value(value, (_divided(low, most), _divided(high, least)))


def load_ratio(named: Mapping[Name, MeasuredCurve], above: str, below: str, pattern: str) -> Value:
    """Returns the ratio of two curves' loads at saturation under a pattern.

    Args:
        named: curves by name.
        above: label of the dividend, such as `SF-MIN`.
        below: label of the divisor.
        pattern: name of the pattern.
    """
    return ratio(named[above, pattern].saturation_load, named[below, pattern].saturation_load)


def latency_ratio(below: MeasuredCurve, above: MeasuredCurve) -> float | None:
    """Returns the ratio of two curves' latencies at their highest common stable load; None if there is none.

    Args:
        below: the curve whose latency is the divisor.
        above: the other curve.
    """
    ratios = latency_ratios(below, above)
    return ratios[max(ratios)] if ratios else None


def latency_ratios(below: MeasuredCurve, above: MeasuredCurve) -> dict[float, float]:
    """Returns load -> ratio of two curves' latencies, for each load that is stable for both.

    Args:
        below: the curve whose latencies are the divisors.
        above: the other curve.
    """
    stable = [
        {one.load: one.latency_cycles for one in found.points if one.stable and one.latency_cycles}
        for found in (below, above)
    ]
    return {load: stable[1][load] / stable[0][load] for load in stable[0].keys() & stable[1].keys()}


def _divided(above: float, below: float) -> float:
    return above / below if below else math.inf
