"""Failed links: throughput of PolarFly with the repairs of its plan alone, and with plans made anew."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from experiments.papers.beyond.measures import (
    AT_FULL,
    accepted_at,
    all_complete,
    delivered_at,
    measure_rows,
    saturating_loads,
)
from experiments.papers.model import Effort, Found, Plot, Row
from experiments.papers.performance.failures import LinkFailures
from experiments.papers.performance.model import (
    Curve,
    MeasuredCurves,
    RoutedNetwork,
)
from experiments.papers.performance.series import UNIFORM
from experiments.papers.polarfly.performance import polarfly
from experiments.points.loads import LoadSteps
from simulation.settings import RouterSettings

SHARES = (0.0, 0.02, 0.05, 0.1, 0.2)
REPAIRS = {False: "fast reroute", True: "re-planned"}
_ROUTINGS = {"min": "MIN", "ugal-pf": "UGAL_PF"}
_Q, _QUICK_Q = 11, 7
# Paths of a surviving graph and rerouted packets take more hops than the two and four of the whole network;
# each channel has the buffer of the four that the whole network needs.
_ROUTERS = RouterSettings(channels=8)
LOW = 0.1
_AT_LOW = LoadSteps(precision=LOW, steps=1, most=LOW)  # this load alone
PLOT = Plot(
    "failed",
    "value",
    "share of failed links",
    "load",
    by="curve",
    panels="measure",
    low="value_low",
    high="value_high",
)


def _routed(effort: Effort, routing: str, share: float, replanned: bool) -> RoutedNetwork:
    """Returns a PolarFly of which a share of the links has failed; without failures repairs have no part."""
    label = f"PF-{_ROUTINGS[routing]}"
    whole = polarfly(_QUICK_Q if effort.quick else _Q, routing, label, routers=_ROUTERS)
    if not share:
        return whole
    label = f"{label} {share:.0%} failed ({REPAIRS[replanned]})"
    return replace(whole, label=label, failures=LinkFailures(share, replanned))


def failure_curves(effort: Effort) -> list[Curve]:
    """Returns the curves of both routings under uniform traffic, with each share of failed links and repair.

    Args:
        effort: the effort.
    """
    loads = saturating_loads(effort), AT_FULL, _AT_LOW
    routed = (_routed(effort, *one) for one in product(_ROUTINGS, SHARES, REPAIRS))
    return [Curve(one, UNIFORM, steps) for one in dict.fromkeys(routed) for steps in loads]


def failures(curves: MeasuredCurves, effort: Effort) -> Found:
    """Returns saturation, and loads that are accepted below and beyond it, over the share of failed links.

    A network that loses more than one packet in a hundred carries no load: its saturation is 0. The delivered
    share is that at a load of LOW, at which no queue is full.

    Args:
        curves: the curves with their points.
        effort: the effort.
    """
    rows: list[Row] = []
    for routing, replanned, share in product(_ROUTINGS, REPAIRS, SHARES):
        routed = _routed(effort, routing, share, replanned)
        searched = curves[Curve(routed, UNIFORM, saturating_loads(effort))]
        full = curves[Curve(routed, UNIFORM, AT_FULL)]
        low = curves[Curve(routed, UNIFORM, _AT_LOW)]
        if not all_complete(searched, full, low):
            continue
        names = {
            "curve": f"{_ROUTINGS[routing]}, {REPAIRS[replanned]}",
            "routers": routed.network.graph().routers,
            "channels": routed.routers.channels,
            "failed": share,
            "deadlock": any(point.deadlock for point in (*searched.points, *full.points)),
        }
        measures = {
            "saturation": searched.saturation,
            "accepted at a load of 1": accepted_at(full, 1.0),
            f"share delivered at a load of {LOW:g}": delivered_at(low, LOW),
        }
        rows += measure_rows(names, measures)
    return Found({}, rows)
