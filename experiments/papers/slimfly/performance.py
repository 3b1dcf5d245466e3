"""Simulated performance of Slim Fly, a dragonfly and a fat tree (Figs 6 and 8).

Routers are those of section V: packets of one flit, and buffers of 64 flits per port. The paper has three
virtual channels. Here a packet uses channel n on its n-th hop, so minimal routing needs two channels and
detours need four (section IV-D).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from experiments.papers.model import Scale, Value
from experiments.papers.networks import Network, network
from experiments.papers.performance.model import (
    Curve,
    MeasuredCurves,
    divided_port,
    shared_port,
    simulated,
)
from experiments.papers.performance.series import (
    BIT_REVERSE,
    OVERLOAD,
    UGAL,
    UGAL_HIERARCHICAL,
    UNIFORM,
    VALIANT,
    Values,
    at_full_size,
    by_name,
    curves_of,
    latency_ratio,
    load_ratio,
    ratio,
    wide_loads,
)
from experiments.points.loads import LoadSteps
from experiments.spec.fabric import FabricOptions
from simulation.settings import RouterSettings

HALF_SHIFT, WORST, NEXT_GROUP = "half-shift", "worst-case", "adv:1"
_PORT_FLITS, _BUFFERS, _QUICK_BUFFERS = 64, (8, 16, 32, 128, 256), (8, 256)
_Q, _QUICK_Q = 19, 5
_BALANCED, _QUICK_BALANCED = 15, 4
_HOSTS, _QUICK_HOSTS = (_BALANCED, 16, 18), (_QUICK_BALANCED, 5)
# Loads for a pattern under which 2 p hosts, with p = 15, share one link.
_ONE_PATH, _QUICK_ONE_PATH = (
    LoadSteps(precision=0.0025, steps=5, max_load=0.5),
    LoadSteps(precision=0.01, steps=5, max_load=0.5),
)


@dataclass(frozen=True)
class _Routing:
    """A routing of the paper: PolarLab's name, hops of its longest path in Slim Fly, and decision rule."""

    name: str
    hops: int
    decision: str | None = None


_ROUTINGS = {
    "MIN": _Routing("min", 2),
    "VAL": _Routing(VALIANT, 4),
    "UGAL-L": _Routing(UGAL, 4),
    "UGAL-G": _Routing(UGAL, 4, "product:whole-path=true"),
}
_COMPARED = ("MIN", "UGAL-L", "UGAL-G")


def _routers(channels: int, port_flits: int = _PORT_FLITS) -> RouterSettings:
    return divided_port(channels, packet_flits=1, port_flits=port_flits)


def slim_fly(q: int, hosts: int, name: str) -> FabricOptions:
    """Returns a Slim Fly with a routing.

    Args:
        q: order of the field.
        hosts: endpoints at each router.
        name: the paper's name of the routing, such as `UGAL-L`.
    """
    routing = _ROUTINGS[name]
    own = network("SF", "slimfly", q=q)
    return simulated(own, hosts, routing.name, _routers(routing.hops), routing.decision)


def _others(scale: Scale) -> dict[str, FabricOptions]:
    """Returns label of a curve -> network with its routing, for a dragonfly and a fat tree.

    They have about as many endpoints as the Slim Fly.
    """
    h, arity = (2, 4) if scale.quick else (7, 22)
    dragonfly: Network = network("DF", "dragonfly", a=2 * h, h=h)
    tree = network("FT", "fat-tree", arity=arity, levels=3)
    return {
        "DF-UGAL-L": simulated(dragonfly, h, UGAL_HIERARCHICAL, _routers(6)),
        "FT-NCA": simulated(tree, arity, "nca", shared_port(1, _PORT_FLITS)),
    }


def compared_curves(scale: Scale) -> list[Curve]:
    """Returns the curves of Fig 6: Slim Fly, a dragonfly and a fat tree under four patterns.

    In the worst case of a dragonfly or fat tree, all hosts of a group or subtree send to the next one
    (`adv:1`). The pattern `half-shift` excludes the half of the traffic that a source would send to itself.

    Args:
        scale: the scale; at quick scale there are small networks and coarse loads.
    """
    q, hosts = (_QUICK_Q, _QUICK_BALANCED) if scale.quick else (_Q, _BALANCED)
    slim = {f"SF-{name}": slim_fly(q, hosts, name) for name in _ROUTINGS}
    minimal = {"SF-MIN": slim["SF-MIN"]}
    detours = {label: fabric for label, fabric in slim.items() if label not in minimal}
    others, loads = _others(scale), wide_loads(scale)
    one_path = _QUICK_ONE_PATH if scale.quick else _ONE_PATH
    return [
        *curves_of({**slim, **others}, (UNIFORM, BIT_REVERSE, HALF_SHIFT), loads),
        *curves_of(minimal, (WORST,), one_path),
        *curves_of(detours, (WORST,), loads),
        *curves_of(others, (NEXT_GROUP,), loads),
    ]


@at_full_size
def compared(curves: MeasuredCurves) -> Values:
    """Returns the values of the claims of Fig 6: saturations of Slim Fly.

    Args:
        curves: the curves with their points.
    """
    named = by_name(curves)

    def saturation(name: str, pattern: str) -> Value:
        return named[f"SF-{name}", pattern].saturation

    def tree_over_slim_fly() -> Value:
        best = max(named[f"SF-{name}", UNIFORM].saturation_load for name in _ROUTINGS)
        return ratio(named["FT-NCA", UNIFORM].saturation_load, best)

    over = partial(load_ratio, named)
    own, dragonfly, tree = "SF-UGAL-L", "DF-UGAL-L", "FT-NCA"
    permutations = {"bit reverse": BIT_REVERSE, "shift": HALF_SHIFT}
    return {
        **{f"{name} uniform": partial(saturation, name, UNIFORM) for name in ("VAL", "UGAL-L")},
        **{f"{name} worst": partial(saturation, name, WORST) for name in ("MIN", "VAL", "UGAL-L")},
        **{f"{name} best": partial(over, f"SF-{name}", own, UNIFORM) for name in ("MIN", "UGAL-G")},
        "fat tree uniform": tree_over_slim_fly,
        "dragonfly uniform": partial(over, dragonfly, own, UNIFORM),
        **{f"dragonfly {name}": partial(over, dragonfly, own, each) for name, each in permutations.items()},
        **{f"fat tree {name}": partial(over, tree, own, each) for name, each in permutations.items()},
    }


def accepted_curves(scale: Scale) -> list[Curve]:
    """Returns the curves of Fig 8: Slim Fly under uniform traffic with more endpoints, or other buffer sizes.

    Curves by endpoints include full load, because a network may accept more there than at saturation, where
    its first links are full. Curves of buffer sizes use UGAL-L.

    Args:
        scale: the scale; at quick scale there are a small Slim Fly and coarse loads.
    """
    q, counts = (_QUICK_Q, _QUICK_HOSTS) if scale.quick else (_Q, _HOSTS)
    loads = wide_loads(scale)
    endpoints = {f"p={hosts} {name}": slim_fly(q, hosts, name) for hosts in counts for name in _COMPARED}
    balanced = slim_fly(q, counts[0], "UGAL-L")
    channels = balanced.routers.channels
    buffers = {
        f"{flits} flits UGAL-L": replace(balanced, routers=_routers(channels, flits))
        for flits in (_QUICK_BUFFERS if scale.quick else _BUFFERS)
    }
    return [
        *curves_of(endpoints, (UNIFORM,), loads),
        *curves_of(endpoints, (UNIFORM,), OVERLOAD),
        *curves_of(buffers, (UNIFORM,), loads),
    ]


@at_full_size
def accepted(curves: MeasuredCurves) -> Values:
    """Returns the values of the claims of Fig 8: the highest accepted load by endpoints per router.

    It is the highest at any load and with any routing, including full load (`MeasuredCurve.throughput`). The
    load at saturation would be another measure: the paper states how much a network accepts, not up to which
    load it accepts everything.

    Args:
        curves: the curves with their points.
    """
    named = by_name(curves)

    def best_throughput(hosts: int) -> Value:
        own = [one for curve, one in curves.items() if curve.label.startswith(f"p={hosts} ")]
        return max(one.throughput for one in own)

    least, most = (f"{flits} flits UGAL-L" for flits in (_BUFFERS[0], _BUFFERS[-1]))
    return {
        **{f"p={hosts}": partial(best_throughput, hosts) for hosts in _HOSTS},
        "latency of buffers": lambda: latency_ratio(named[most, UNIFORM], named[least, UNIFORM]),
        "bandwidth of buffers": lambda: ratio(*(named[label, UNIFORM].saturation for label in (most, least))),
    }
