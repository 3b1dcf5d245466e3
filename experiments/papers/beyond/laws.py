"""Adaptive laws of PolarFly, beside those that the paper words: saturation and latency by law."""

from __future__ import annotations

from itertools import product
from typing import Any

from experiments.papers.beyond.measures import all_complete, latency_at, measure_columns, saturating_loads
from experiments.papers.model import BarChart, ItemResult, Row, Scale
from experiments.papers.performance.model import Curve, MeasuredCurves
from experiments.papers.performance.series import UGAL, UNIFORM
from experiments.papers.polarfly.performance import TORNADO, polarfly
from experiments.points.loads import LoadSteps

_ORDERS, _QUICK_ORDERS = (7, 11), (5,)
_LATENCY_LOAD = 0.4
_AT_LATENCY = LoadSteps(precision=_LATENCY_LOAD, steps=1, max_load=_LATENCY_LOAD)
_PATTERNS = {UNIFORM: "uniform", TORNADO: "tornado", "perm1hop": "perm1hop", "perm2hop": "perm2hop"}
# Name of a law -> the routing that has it.
_LAWS = {
    "UGAL_PF": "ugal-pf",
    "random neighbour": "ugal-pf:neighbour=random",
    "threshold of the port": "ugal-pf:buffer=port",
    "no detour of two hops": "ugal-pf:triangle=false",
    "all three as in the paper": "ugal-pf:neighbour=random,buffer=port,triangle=false",
    "UGAL": UGAL,
    "UGAL with own lengths": f"{UGAL},lengths=own",
}
PLOT = BarChart(
    ("law",),
    {
        f"{pattern}{measure}": f"{title}, {name}"
        for measure, title in (("", "saturation"), (" latency", f"cycles at {_LATENCY_LOAD}"))
        for pattern, name in _PATTERNS.items()
    },
    group="network",
)


def _curve(q: int, law: str, pattern: str, loads: LoadSteps) -> Curve:
    """Returns a curve of a PolarFly whose packets take any of four channels, as in the paper's figures."""
    return Curve(f"q={q} {law}", polarfly(q, _LAWS[law]), pattern, loads)


def _orders(scale: Scale) -> tuple[int, ...]:
    return _QUICK_ORDERS if scale.quick else _ORDERS


def law_curves(scale: Scale) -> list[Curve]:
    """Returns the curves for each law, order and pattern.

    Args:
        scale: the scale.
    """
    loads = saturating_loads(scale), _AT_LATENCY
    return [_curve(*member, steps) for member in product(_orders(scale), _LAWS, _PATTERNS) for steps in loads]


def laws(curves: MeasuredCurves, scale: Scale) -> ItemResult:
    """Returns saturation, and the mean latency at a load of 0.4, by law.

    Args:
        curves: the curves with their points.
        scale: the scale.
    """
    rows: list[Row] = []
    for q, law in product(_orders(scale), _LAWS):
        row: dict[str, Any] = {"network": f"ER_{q}", "law": law, "routing": _LAWS[law]}
        for pattern in _PATTERNS:
            searched, light = (
                curves[_curve(q, law, pattern, loads)] for loads in (saturating_loads(scale), _AT_LATENCY)
            )
            if not all_complete(searched, light):
                break
            row |= measure_columns(pattern, searched.saturation)
            row |= measure_columns(f"{pattern} latency", latency_at(light, _LATENCY_LOAD))
        else:
            rows.append(row)
    return ItemResult({}, rows)
