"""Stable load of PolarFly if a controller moves flows periodically, by order q and loop period."""

from __future__ import annotations

from dataclasses import replace

from experiments.papers.beyond.measures import (
    AT_HALF,
    HALF,
    accepted_at,
    all_complete,
    measure_rows,
    saturating_loads,
)
from experiments.papers.model import ItemResult, Plot, Row, Scale
from experiments.papers.performance.model import (
    Curve,
    MeasuredCurves,
    divided_port,
)
from experiments.papers.performance.series import RANDOM
from experiments.papers.polarfly.performance import polarfly
from experiments.points.loads import LoadSteps
from experiments.spec.fabric import FabricOptions

_PATTERNS = (RANDOM, "perm2hop")
_QS, _QUICK_QS = (3, 5, 7, 9, 11), (3, 5, 7)
_PERIODS, _QUICK_PERIODS = (20, 100, 400), (20, 100)  # periods of the loop, in cycles
# The warm-up lasts _WARM_PERIODS periods of the loop, but at least _WARM_CYCLES cycles.
_WARM_PERIODS, _WARM_CYCLES = 100, 8000
_QUICK_WARM_PERIODS, _QUICK_WARM_CYCLES = 40, 2000
_PER_PACKET = 0
PLOT = Plot(
    "q",
    "value",
    "q",
    "load",
    by="decision",
    panels="measure",
    low="value_low",
    high="value_high",
)


def _fabric(q: int, period: int) -> FabricOptions:
    """Returns a PolarFly with UGAL_PF, where the controller's loop or the sources choose paths.

    Args:
        q: order of the field.
        period: cycles between two steps of the controller's loop; 0: sources choose each packet's path.
    """
    whole = polarfly(q, "ugal-pf", routers=divided_port(4))
    return whole if period == _PER_PACKET else replace(whole, decision=f"buckets:period={period}")


def _decision(period: int) -> str:
    return "per packet" if period == _PER_PACKET else f"every {period} cycles"


def _curve(q: int, period: int, pattern: str, scale: Scale, loads: LoadSteps) -> Curve:
    """Returns a curve whose warm-up is long enough for the loop to settle."""
    periods, cycles = (
        (_QUICK_WARM_PERIODS, _QUICK_WARM_CYCLES) if scale.quick else (_WARM_PERIODS, _WARM_CYCLES)
    )
    label = f"q={q} {_decision(period)}"
    return Curve(label, _fabric(q, period), pattern, loads, max(cycles, periods * period))


def _members(scale: Scale) -> list[tuple[int, int, str]]:
    """Returns all combinations (order q, loop period in cycles, pattern) of a scale."""
    orders, periods = (_QUICK_QS, _QUICK_PERIODS) if scale.quick else (_QS, _PERIODS)
    return [
        (q, period, pattern) for q in orders for period in (_PER_PACKET, *periods) for pattern in _PATTERNS
    ]


def loop_curves(scale: Scale) -> list[Curve]:
    """Returns the curves for each order and period under two permutations.

    Args:
        scale: the scale.
    """
    loads = saturating_loads(scale), AT_HALF
    return [_curve(*member, scale, steps) for member in _members(scale) for steps in loads]


def loop(curves: MeasuredCurves, scale: Scale) -> ItemResult:
    """Returns saturation, and the accepted load at an offered load of 0.5, by order q.

    Args:
        curves: the curves with their points.
        scale: the scale.
    """
    rows: list[Row] = []
    for q, period, pattern in _members(scale):
        searched = curves[_curve(q, period, pattern, scale, saturating_loads(scale))]
        half = curves[_curve(q, period, pattern, scale, AT_HALF)]
        if not all_complete(searched, half):
            continue
        names = {
            "q": q,
            "routers": searched.curve.fabric.topology.routers,
            "decision": _decision(period),
            "pattern": pattern,
            "warmup": searched.curve.warmup,
        }
        measures = {
            f"saturation, {pattern}": searched.saturation,
            f"accepted at a load of 0.5, {pattern}": accepted_at(half, HALF),
        }
        rows += measure_rows(names, measures)
    return ItemResult({}, rows)
