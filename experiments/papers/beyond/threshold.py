"""Threshold of UGAL_PF: saturation and latency by the queue occupancy above which packets detour."""

from __future__ import annotations

from itertools import product

from experiments.papers.beyond.measures import (
    AT_HALF,
    HALF,
    all_complete,
    latency_at,
    measure_rows,
    saturating_loads,
)
from experiments.papers.model import ItemResult, Plot, Row, Scale
from experiments.papers.performance.model import Curve, MeasuredCurves, divided_port
from experiments.papers.performance.series import UNIFORM
from experiments.papers.polarfly.performance import TORNADO, polarfly
from experiments.points.loads import LoadSteps

_PATTERNS = (UNIFORM, TORNADO, "perm2hop")
_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_QUICK_THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.95)
_Q, _QUICK_Q = 13, 7
PLOT = Plot(
    "threshold",
    "value",
    "threshold of UGAL_PF",
    "",
    by="pattern",
    panels="measure",
    low="value_low",
    high="value_high",
)


def _members(scale: Scale) -> list[tuple[float, str]]:
    """Returns all combinations (threshold, pattern) of a scale."""
    return list(product(_QUICK_THRESHOLDS if scale.quick else _THRESHOLDS, _PATTERNS))


def _curve(threshold: float, pattern: str, scale: Scale, loads: LoadSteps) -> Curve:
    """Returns the curve of a PolarFly with UGAL_PF at a threshold, under a pattern."""
    q = _QUICK_Q if scale.quick else _Q
    fabric = polarfly(q, f"ugal-pf:threshold={threshold}", routers=divided_port(4))
    return Curve(f"threshold {threshold}", fabric, pattern, loads)


def threshold_curves(scale: Scale) -> list[Curve]:
    """Returns the curves for each threshold under uniform traffic and two permutations.

    Args:
        scale: the scale.
    """
    loads = saturating_loads(scale), AT_HALF
    return [_curve(*member, scale, steps) for member in _members(scale) for steps in loads]


def thresholds(curves: MeasuredCurves, scale: Scale) -> ItemResult:
    """Returns saturation, and the mean latency at a load of 0.5, by threshold.

    Args:
        curves: the curves with their points.
        scale: the scale.
    """
    rows: list[Row] = []
    for threshold, pattern in _members(scale):
        searched = curves[_curve(threshold, pattern, scale, saturating_loads(scale))]
        half = curves[_curve(threshold, pattern, scale, AT_HALF)]
        if not all_complete(searched, half):
            continue
        names = {
            "threshold": threshold,
            "routers": searched.curve.fabric.topology.routers,
            "pattern": pattern,
        }
        measures = {
            "saturation (load)": searched.saturation,
            "mean latency at a load of 0.5 (cycles)": latency_at(half, HALF),
        }
        rows += measure_rows(names, measures)
    return ItemResult({}, rows)
