"""Failed links: throughput of PolarFly with fast reroute alone, and with new plans."""

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
from experiments.papers.model import ItemResult, Plot, Row, Scale
from experiments.papers.performance.failures import LinkFailures
from experiments.papers.performance.model import (
    Curve,
    MeasuredCurves,
)
from experiments.papers.performance.series import UNIFORM
from experiments.papers.polarfly.performance import polarfly
from experiments.points.loads import LoadSteps
from simulation.settings import RouterSettings

SHARES = (0.0, 0.02, 0.05, 0.1, 0.2)
REPAIRS = {False: "fast reroute", True: "re-planned"}
_ROUTINGS = {"min": "MIN", "ugal-pf": "UGAL_PF"}
_Q, _QUICK_Q = 11, 7
# In the intact network, minimal paths have two hops and detours four, and four channels suffice. Paths around
# failures are longer and need more channels. The buffer per channel is the same as with four channels.
_ROUTERS = RouterSettings(channels=8)
LOW = 0.1
_AT_LOW = LoadSteps(precision=LOW, steps=1, max_load=LOW)  # simulates only load LOW
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


def _curve(scale: Scale, routing: str, share: float, replanned: bool, loads: LoadSteps) -> Curve:
    """Returns the curve of a PolarFly under uniform traffic.

    Args:
        scale: the scale, which determines the order q.
        routing: name of the routing.
        share: share of the links that fail before the first packet; 0 for an intact network.
        replanned: whether switches get a plan for the surviving graph, in addition to fast reroute.
        loads: the loads to simulate.
    """
    whole = polarfly(_QUICK_Q if scale.quick else _Q, routing, routers=_ROUTERS)
    curve = Curve(f"PF-{_ROUTINGS[routing]}", whole, UNIFORM, loads)
    if not share:
        return curve
    label = f"{curve.label} {share:.0%} failed ({REPAIRS[replanned]})"
    return replace(curve, label=label, failures=LinkFailures(share, replanned))


def failure_curves(scale: Scale) -> list[Curve]:
    """Returns curves under uniform traffic for each routing, share of failed links and kind of repair.

    Args:
        scale: the scale.
    """
    loads = saturating_loads(scale), AT_FULL, _AT_LOW
    members = product(_ROUTINGS, SHARES, REPAIRS)
    return list(dict.fromkeys(_curve(scale, *one, steps) for one in members for steps in loads))


def failures(curves: MeasuredCurves, scale: Scale) -> ItemResult:
    """Returns saturation, accepted load at full load, and share delivered at low load, by failed links.

    A network that loses more than 1 % of its packets has no stable load: its saturation is 0. The delivered
    share is measured at a load of LOW, where no queue is full.

    Args:
        curves: the curves with their points.
        scale: the scale.
    """
    rows: list[Row] = []
    for routing, replanned, share in product(_ROUTINGS, REPAIRS, SHARES):
        searched, full, low = (
            curves[_curve(scale, routing, share, replanned, steps)]
            for steps in (saturating_loads(scale), AT_FULL, _AT_LOW)
        )
        if not all_complete(searched, full, low):
            continue
        names = {
            "curve": f"{_ROUTINGS[routing]}, {REPAIRS[replanned]}",
            "routers": searched.curve.fabric.topology.routers,
            "channels": _ROUTERS.channels,
            "failed": share,
            "deadlock": any(point.deadlock for point in (*searched.points, *full.points)),
        }
        measures = {
            "saturation": searched.saturation,
            "accepted at a load of 1": accepted_at(full, 1.0),
            f"share delivered at a load of {LOW:g}": delivered_at(low, LOW),
        }
        rows += measure_rows(names, measures)
    return ItemResult({}, rows)
