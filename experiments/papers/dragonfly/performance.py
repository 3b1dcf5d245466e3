"""Performance of a trunked dragonfly with coloured routings and their alternatives (Figs 9 and 10).

Packets have 8 phits. Links within a group take 10 cycles and global links 100; routers have no speedup and
arbitrate at random (Table II). All simulated buffers have the size that the round trip of global links needs,
256 phits per virtual channel; in the paper, buffers of local links have 32. Coloured routings have acyclic
channel dependencies with any number of channels, and use a random one with room. The references use channels
by their place in hierarchical paths, as in the paper: two for minimal paths, four for Valiant routing by
router. The paper's OLM-MML, which misroutes locally, is not implemented.

Beside the paper's routings are those that had their names before: coloured routings in this project's own
orders, shortest hierarchical paths, and Valiant routing by group.
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
_MINIMAL_LEVELS, _VALIANT_LEVELS = 2, 4
_GROUP_VALIANT_HOPS = 5
# Name of the curve -> routing.
_COLOURS = {
    "2-color": "two-color",
    "4-color": "four-color",
    "4-color Valiant": "four-color-valiant:intermediates=1024",
    "4-color adaptive": "four-color-adaptive",
}
_OWN_COLOURS = {
    "2-color own order": "two-color:order=own",
    "4-color own order": "four-color:order=own",
    "4-color Valiant own order": "four-color-valiant:intermediates=1024,order=own",
    "4-color adaptive own order": "four-color-adaptive:order=own",
}
_PAPERS = ("Minimal", "Valiant", *_COLOURS)
# Routings with one path, or few, between two groups.
_MINIMAL = (
    *("Minimal", "2-color", "4-color"),
    *("Minimal nearest", "2-color own order", "4-color own order"),
)


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
    """Returns the curves of Fig 9: the routings under uniform traffic and under traffic to the next group.

    Full load is added to the loads up to saturation, because a routing may accept more there.

    Args:
        scale: the scale; at quick scale the dragonfly is small.
    """
    one, hosts = _simulated(scale)
    free, emptiest = _routers(_CHANNELS, "free"), _routers(_CHANNELS, "any")
    by_hop, more_hops = _routers(_CHANNELS, "hop"), _routers(_GROUP_VALIANT_HOPS, "hop")
    minimal, valiant = _routers(_MINIMAL_LEVELS, "level"), _routers(_VALIANT_LEVELS, "level")
    fabrics = {
        "Minimal": simulated(one, hosts, "hierarchical:gateways=any", minimal),
        "Valiant": simulated(one, hosts, "valiant:over=hierarchical,intermediates=1024", valiant),
        **{label: simulated(one, hosts, routing, free) for label, routing in _COLOURS.items()},
        "Minimal nearest": simulated(one, hosts, "hierarchical", by_hop),
        "Valiant by group": simulated(one, hosts, "valiant-group:intermediates=1024", more_hops),
        **{label: simulated(one, hosts, routing, emptiest) for label, routing in _OWN_COLOURS.items()},
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
        "uniform": lambda: max(_of_the_paper(curves, UNIFORM).values()),
        "adversarial": lambda: max(_of_the_paper(curves, NEXT_GROUP).values()),
        "colours": lambda: _ratio(curves, UNIFORM, "4-color", "2-color"),
        "minimal adversarial": lambda: _accepted(curves, NEXT_GROUP)["Minimal"],
        "nonminimal": lambda: _ratio(curves, NEXT_GROUP, "4-color Valiant", "Valiant"),
        "adaptive uniform": lambda: _ratio(curves, UNIFORM, "4-color adaptive", "4-color"),
        "adaptive adversarial": lambda: _ratio(curves, NEXT_GROUP, "4-color adaptive", "4-color Valiant"),
    }


def _ratio(curves: MeasuredCurves, pattern: str, label: str, other: str) -> Value:
    accepted = _accepted(curves, pattern)
    return ratio(accepted[label], accepted[other])


def _of_the_paper(curves: MeasuredCurves, pattern: str) -> dict[str, Value]:
    """Returns the highest accepted loads of the paper's routings under a pattern."""
    accepted = _accepted(curves, pattern)
    return {label: accepted[label] for label in _PAPERS}


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
        _label(count): simulated(one, hosts, routing, _routers(count, "free"))
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
