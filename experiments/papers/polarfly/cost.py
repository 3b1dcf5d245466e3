"""Cost of networks with optical I/O, in links for 1,024 nodes (Fig 15).

The paper divides the links by the share of the bandwidth that a network accepts. These shares are the
saturations of Fig 8. At quick scale all networks count as accepting the same share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.papers.model import ItemResult, Row, Scale, Value
from experiments.papers.performance.model import Curve, MeasuredCurve, MeasuredCurves
from experiments.papers.performance.series import RANDOM, UNIFORM, Name, by_name, ratio
from experiments.papers.polarfly.performance import compared_curves

_NODES = 1024
_LEVELS, _SWITCHES, _TOP_SWITCHES, _SWITCH_LINKS, _NODE_LINKS = 10, 512, 256, 32, 16
# Links per node of direct networks: 4 modules of 8 links for PolarFly and Slim Fly, 6 for Dragonfly.
_LINKS = {"PolarFly": 32, "Slim Fly": 32, "Dragonfly": 48}
# Network -> labels of its curves in Fig 8; the best curve determines the network's cost.
_CURVES: Mapping[str, Sequence[str]] = {
    "PolarFly": ("PF-MIN", "PF-UGAL", "PF-UGAL_PF"),
    "Slim Fly": ("SF-MIN", "SF-UGAL"),
    "Dragonfly": ("DF1-MIN", "DF1-UGAL"),
    "fat tree": ("FT-NCA",),
}
_TRAFFIC = {"uniform": UNIFORM, "permutation": RANDOM}
_SLIM_FLY_RADIX = 35  # in Table V; the text of section X counts the 32 links of 4 modules


def cost_curves(scale: Scale) -> list[Curve]:
    """Returns the curves of Fig 8 that the cost depends on; none at quick scale."""
    if scale.quick:
        return []
    named = {name for names in _CURVES.values() for name in names}
    return [
        curve
        for curve in compared_curves(scale)
        if curve.label in named and curve.pattern in _TRAFFIC.values()
    ]


def cost(curves: MeasuredCurves, _scale: Scale) -> ItemResult:
    """Returns the optical links of networks of 1,024 nodes for equal accepted traffic."""
    switches = (_LEVELS - 1) * _SWITCHES + _TOP_SWITCHES
    links = {name: _NODES * each for name, each in _LINKS.items()}
    links["fat tree"] = switches * _SWITCH_LINKS + _NODES * _NODE_LINKS
    base = links["PolarFly"]
    rows: list[Row] = []
    ratios: dict[tuple[str, str], Value] = {}
    for traffic, pattern in _TRAFFIC.items():
        accepted = _accepted(curves, pattern)
        for name, number in links.items():
            share = ratio(accepted["PolarFly"], accepted[name]) if accepted else Value(1.0)
            ratios[name, traffic] = _times(share, number / base)
            rows.append(
                {
                    "network": f"{name}, {traffic}",
                    "links": number,
                    "accepted": accepted[name].value if accepted else None,
                    "over_polarfly": number / base * share.value,
                }
            )
    if not curves:
        return ItemResult(
            {}, rows, "all networks count as accepting the same share; only the full scale simulates"
        )
    values = {
        "fat tree uniform": ratios["fat tree", "uniform"],
        "fat tree permutation": ratios["fat tree", "permutation"],
        "slimfly": ratios["Slim Fly", "uniform"],
        "slimfly slides": ratios["Slim Fly", "uniform"],
        "slimfly conclusion": ratios["Slim Fly", "uniform"],
        "dragonfly": ratios["Dragonfly", "uniform"],
        **_readings(by_name(curves), ratios["Slim Fly", "uniform"]),
    }
    return ItemResult(values, rows)


def _readings(named: Mapping[Name, MeasuredCurve], slim_fly: Value) -> dict[str, Value]:
    """Returns the values of claims under uniform traffic as they may have been computed.

    Args:
        named: curves by name.
        slim_fly: cost of Slim Fly over PolarFly with the links of the text and the best routing of each.
    """
    more_links = Value(_SLIM_FLY_RADIX / _LINKS["Slim Fly"])
    adaptive, *others = (named[name, UNIFORM].saturation for name in ("PF-UGAL_PF", "SF-UGAL", "DF1-UGAL"))
    to_slim_fly, to_dragonfly = (ratio(adaptive, other) for other in others)
    return {
        "slimfly radix": more_links,
        "slimfly radix best": _times(slim_fly, more_links.value),
        "slimfly radix adaptive": _times(to_slim_fly, _SLIM_FLY_RADIX / _LINKS["PolarFly"]),
        "dragonfly adaptive": _times(to_dragonfly, _LINKS["Dragonfly"] / _LINKS["PolarFly"]),
    }


def _times(number: Value, factor: float) -> Value:
    """Returns a multiple of a number, with its interval."""
    ends = number.interval and (factor * number.interval[0], factor * number.interval[1])
    return Value(factor * number.value, ends)


def _accepted(curves: MeasuredCurves, pattern: str) -> dict[str, Value]:
    """Returns network -> saturation under a pattern with its best routing; empty if there are no curves."""
    found = by_name(curves)
    return {
        network: max(found[name, pattern].saturation for name in names)
        for network, names in _CURVES.items()
        if found
    }
