"""Performance of a trunked dragonfly with coloured routings and their alternatives (Figs 9 and 10).

Packets have 8 phits. Links within a group take 10 cycles and global links 100; routers have no speedup and
arbitrate at random (Table II). All simulated buffers have the size that the round trip of global links needs,
256 phits per virtual channel; in the paper, buffers of local links have 32. Coloured routings have acyclic
channel dependencies with any number of channels, and use the channel with most free space. The others need
one channel per hop: `valiant-group` needs five, while the paper's Valiant routing has four. The paper's
OLM-MML, which misroutes locally, is not implemented.
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
_MAX_CHANNELS = 4  # largest number of virtual channels in Fig 10
_ONE_PATH = LoadSteps(precision=0.01, steps=5, max_load=0.5)
_VALIANT_HOPS = 5
# Name of the curve -> routing.
_COLOURS = {
    "2-color": "two-color",
    "4-color": "four-color",
    "4-color Valiant": "four-color-valiant:intermediates=1024",
    "4-color adaptive": "four-color-adaptive",
}
_MINIMAL = ("Minimal", "2-color", "4-color")  # routings with one path, or few, between two groups


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
    """Returns the curves of Fig 9: six routings under uniform traffic and under traffic to the next group.

    Full load is added to the loads up to saturation, because a routing may accept more there.

    Args:
        scale: the scale; at quick scale the dragonfly is small.
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
    """Returns the values of the claims of Fig 9: the highest accepted loads, including those at full load.

    Saturation would be another measure: the paper's curves show accepted loads up to the end of the axis.

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
    """Returns the highest accepted load of each routing under a pattern."""
    accepted: dict[str, Value] = {}
    for curve, found in curves.items():
        if curve.pattern == pattern:
            label = curve.label
            accepted[label] = max(accepted.get(label, Value(0.0)), found.throughput)
    return accepted


def channel_curves(scale: Scale) -> list[Curve]:
    """Returns the curves of Fig 10: adaptive four-colour routing by number of virtual channels.

    Args:
        scale: the scale; at quick scale the dragonfly is small and there are fewer channels.
    """
    one, hosts = _simulated(scale)
    routing = _COLOURS["4-color adaptive"]
    fabrics = {
        _label(count): simulated(one, hosts, routing, _routers(count, "any"))
        for count in range(1, (2 if scale.quick else _MAX_CHANNELS) + 1)
    }
    return curves_of(fabrics, (UNIFORM, NEXT_GROUP), COARSE)


def _label(channels: int) -> str:
    return f"{channels} VC" if channels == 1 else f"{channels} VCs"


@at_full_size
def channels(curves: MeasuredCurves) -> Values:
    """Returns the value of the claim of Fig 10: latency with the most channels, divided by latency with one.

    The latencies are those of traffic to the next group, at the highest load that is stable for both.

    Args:
        curves: the curves with their points.
    """
    named = by_name(curves)
    fewest, most = (named[_label(count), NEXT_GROUP] for count in (1, _MAX_CHANNELS))
    return {"latency": lambda: latency_ratio(fewest, most)}
