"""Performance of a trunked dragonfly under routings of colours and their alternatives (Figs 9 and 10).

Packets have 8 phits, links within a group 10 cycles and global ones 100, routers no speedup and random
arbitration (Table II). Simulated buffers are of one size: that of the paper's global links, 256 phits for a
virtual channel, which their round trip needs; its local ones have 32. Coloured routings are free of circles
with any number of channels, and take the one with most room; the others need a channel for each hop, five of
`valiant-group` where the paper's has four. OLM-MML of the paper, which misroutes locally, is not built.
"""

from __future__ import annotations

from experiments.papers.model import Scale, Value
from experiments.papers.networks import Network, network
from experiments.papers.performance.model import (
    Curve,
    MeasuredCurves,
    simulated,
)
from experiments.papers.performance.series import (
    COARSE,
    OVERLOAD,
    UNIFORM,
    Values,
    at_full_size,
    by_name,
    curves_of,
    latency_ratio,
    ratio,
)
from experiments.points.loads import LoadSteps
from simulation.settings import ChannelPolicy, RouterSettings

NEXT_GROUP = "adv:1"
SIMULATED, HOSTS = network("trunked dragonfly", "dragonfly", a=24, h=13, trunking=4), 13
_SMALL, _SMALL_HOSTS = network("trunked dragonfly", "dragonfly", a=8, h=4, trunking=4, groups=9), 4
_CHANNELS = 3
_MOST_CHANNELS = 4  # of Fig 10
_ONE_PATH = LoadSteps(precision=0.01, steps=5, most=0.5)
_VALIANT_HOPS = 5
# Name of the curve -> routing.
_COLOURS = {
    "2-color": "two-color",
    "4-color": "four-color",
    "4-color Valiant": "four-color-valiant:intermediates=1024",
    "4-color adaptive": "four-color-adaptive",
}
_MINIMAL = ("Minimal", "2-color", "4-color")  # one path, or few, between two groups


def _routers(channels: int, policy: ChannelPolicy) -> RouterSettings:
    return RouterSettings(
        packet_flits=8,
        channels=channels,
        buffer_flits=256,
        speedup=1,
        channel_policy=policy,
        arbitration="random",
        link_cycles=10,
        global_link_cycles=100,
    )


def _simulated(scale: Scale) -> tuple[Network, int]:
    return (_SMALL, _SMALL_HOSTS) if scale.quick else (SIMULATED, HOSTS)


def compared_curves(scale: Scale) -> list[Curve]:
    """Returns the curves of Fig 9: six routings under uniform traffic, and under that to the next group.

    Beside the loads up to saturation there is full load, under which a routing may accept more.

    Args:
        scale: the scale; a quick look has a small dragonfly.
    """
    one, hosts = _simulated(scale)
    hop, coloured = _routers(_CHANNELS, "hop"), _routers(_CHANNELS, "any")
    more_hops = _routers(_VALIANT_HOPS, "hop")
    fabrics = {
        "Minimal": simulated(one, hosts, "hierarchical", hop),
        "Valiant": simulated(one, hosts, "valiant-group:intermediates=1024", more_hops),
        **{label: simulated(one, hosts, routing, coloured) for label, routing in _COLOURS.items()},
    }
    low = {label: fabric for label, fabric in fabrics.items() if label in _MINIMAL}
    high = {label: fabric for label, fabric in fabrics.items() if label not in _MINIMAL}
    return [
        *curves_of(fabrics, (UNIFORM,), COARSE),
        *curves_of(low, (NEXT_GROUP,), _ONE_PATH),
        *curves_of(high, (NEXT_GROUP,), COARSE),
        *curves_of(fabrics, (UNIFORM, NEXT_GROUP), OVERLOAD),
    ]


@at_full_size
def compared(curves: MeasuredCurves) -> Values:
    """Returns the claims' values of Fig 9: the greatest accepted loads at any load, full load included.

    The paper's axes end where its curves of accepted load do, so that saturation is not their measure.

    Args:
        curves: the curves with their points.
    """
    return {
        "uniform": lambda: max(_accepted(curves, UNIFORM).values()),
        "adversarial": lambda: max(_accepted(curves, NEXT_GROUP).values()),
        "colours": lambda: ratio(*(_accepted(curves, UNIFORM)[label] for label in ("4-color", "2-color"))),
        "minimal adversarial": lambda: _accepted(curves, NEXT_GROUP)["Minimal"],
    }


def _accepted(curves: MeasuredCurves, pattern: str) -> dict[str, Value]:
    """Returns the greatest accepted load of each routing under a pattern."""
    accepted: dict[str, Value] = {}
    for curve, found in curves.items():
        if curve.pattern == pattern:
            label = curve.label
            accepted[label] = max(accepted.get(label, Value(0.0)), found.throughput)
    return accepted


def channel_curves(scale: Scale) -> list[Curve]:
    """Returns the curves of Fig 10: adaptive routing of four colours over the number of virtual channels.

    Args:
        scale: the scale; a quick look has a small dragonfly, and fewer channels.
    """
    one, hosts = _simulated(scale)
    routing = _COLOURS["4-color adaptive"]
    fabrics = {
        _label(count): simulated(one, hosts, routing, _routers(count, "any"))
        for count in range(1, (2 if scale.quick else _MOST_CHANNELS) + 1)
    }
    return curves_of(fabrics, (UNIFORM, NEXT_GROUP), COARSE)


def _label(channels: int) -> str:
    return f"{channels} VC" if channels == 1 else f"{channels} VCs"


@at_full_size
def channels(curves: MeasuredCurves) -> Values:
    """Returns the claim's value of Fig 10: the latency with most virtual channels over that with one.

    It is that of traffic to the next group, at the greatest load that both carry.

    Args:
        curves: the curves with their points.
    """
    named = by_name(curves)
    fewest, most = (named[_label(count), NEXT_GROUP] for count in (1, _MOST_CHANNELS))
    return {"latency": lambda: latency_ratio(fewest, most)}
