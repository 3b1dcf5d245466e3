"""Threshold of UGAL_PF: saturation and latency over the occupancy beyond which packets take detours."""

from __future__ import annotations

from experiments.papers.beyond.measures import (
    AT_HALF,
    HALF,
    all_complete,
    latency_at,
    measure_rows,
    saturating_loads,
)
from experiments.papers.model import Effort, Found, Plot, Row
from experiments.papers.performance.model import Curve, MeasuredCurves, RoutedNetwork, divided_port
from experiments.papers.performance.series import UNIFORM
from experiments.papers.polarfly.performance import TORNADO, polarfly

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


def _routed(effort: Effort) -> dict[float, RoutedNetwork]:
    """Returns a PolarFly under UGAL_PF for each threshold."""
    q = _QUICK_Q if effort.quick else _Q
    thresholds = _QUICK_THRESHOLDS if effort.quick else _THRESHOLDS
    return {
        one: polarfly(q, f"ugal-pf:threshold={one}", f"threshold {one}", routers=divided_port(4))
        for one in thresholds
    }


def threshold_curves(effort: Effort) -> list[Curve]:
    """Returns the curves of each threshold under uniform traffic and two permutations.

    Args:
        effort: the effort.
    """
    loads = saturating_loads(effort), AT_HALF
    networks = _routed(effort).values()
    return [Curve(one, pattern, steps) for one in networks for pattern in _PATTERNS for steps in loads]


def thresholds(curves: MeasuredCurves, effort: Effort) -> Found:
    """Returns saturation, and the mean latency at a load of 0.5, over the threshold.

    Args:
        curves: the curves with their points.
        effort: the effort.
    """
    rows: list[Row] = []
    for threshold, routed in _routed(effort).items():
        for pattern in _PATTERNS:
            searched = curves[Curve(routed, pattern, saturating_loads(effort))]
            half = curves[Curve(routed, pattern, AT_HALF)]
            if not all_complete(searched, half):
                continue
            names = {
                "threshold": threshold,
                "routers": routed.network.graph().routers,
                "pattern": pattern,
            }
            measures = {
                "saturation (load)": searched.saturation,
                "mean latency at a load of 0.5 (cycles)": latency_at(half, HALF),
            }
            rows += measure_rows(names, measures)
    return Found({}, rows)
