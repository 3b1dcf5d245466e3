"""Simulated performance of PolarFly and of other networks (Figs 8 to 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.papers.model import Scale, Value
from experiments.papers.networks import Network, network
from experiments.papers.performance.model import (
    Curve,
    MeasuredCurve,
    MeasuredCurves,
    divided_port,
    shared_port,
    simulated,
)
from experiments.papers.performance.series import (
    RANDOM,
    UGAL,
    UGAL_HIERARCHICAL,
    UGAL_OF_MANY_GROUPS,
    UNIFORM,
    Name,
    Values,
    at_full_size,
    by_name,
    latency_ratios,
    ratio,
    wide_loads,
)
from experiments.points.loads import LoadSteps
from experiments.spec.fabric import FabricOptions
from simulation.settings import RouterSettings
from topology.families.family import carried_hosts

TORNADO = "tornado"
_PERMUTATIONS = (TORNADO, RANDOM)
_ONE_HOP, _TWO_HOPS = "perm1hop", "perm2hop"
_SIZES, _QUICK_SIZES = (13, 19, 25, 31), (5, 7, 9)
_COPIES, _QUICK_COPIES = (3, 6, 9, 12), (1, 3)
_AUTHORS_ROUTERS = shared_port()
_Q, _QUICK_Q = 31, 7  # order of the PolarFly in Table V, and at quick scale
_GROWN = {"quadric": 2, "nonquadric": 1}  # kind of cluster -> ports that each copy adds


def _loads(fabric: FabricOptions, pattern: str, scale: Scale) -> LoadSteps:
    """Returns the loads to simulate for a curve.

    With minimal routing of a permutation, these loads are low: all p hosts of a router share a path, which
    saturates at load 1 / p.
    """
    if pattern != UNIFORM and fabric.routing in ("min", "hierarchical"):
        return LoadSteps(precision=0.01 if scale.quick else 0.0025, steps=5, max_load=0.5)
    return wide_loads(scale)


def _curves(fabrics: Mapping[str, FabricOptions], patterns: Sequence[str], scale: Scale) -> list[Curve]:
    return [
        Curve(label, fabric, pattern, _loads(fabric, pattern, scale))
        for label, fabric in fabrics.items()
        for pattern in patterns
    ]


def polarfly(
    q: int,
    routing: str,
    expand: str = "",
    hosts: int = 0,
    routers: RouterSettings = _AUTHORS_ROUTERS,
) -> FabricOptions:
    """Returns a PolarFly with endpoints, by default half as many at a router as it has links.

    Args:
        q: order of the field.
        routing: name of the routing.
        expand: copies of clusters, such as `quadric:3`; empty for none.
        hosts: endpoints at each router; 0 for half of q + 1.
        routers: settings of the routers; by default those of the authors' simulator.
    """
    params: dict[str, int | str] = {"q": q, "expand": expand} if expand else {"q": q}
    own = network("PF", "polarfly", **params)
    return simulated(own, hosts or carried_hosts(q + 1, 2), routing, routers)


def _polarflies(q: int) -> dict[str, FabricOptions]:
    return {
        "PF-MIN": polarfly(q, "min"),
        "PF-UGAL": polarfly(q, UGAL),
        "PF-UGAL_PF": polarfly(q, "ugal-pf"),
    }


def _compared(scale: Scale) -> dict[str, FabricOptions]:
    """Returns label of a curve -> network of Table V with a routing; at quick scale, small networks."""
    q, slim, arity, (a1, h1), (a2, h2) = (
        (_QUICK_Q, 5, 4, (4, 2), (3, 4)) if scale.quick else (_Q, 23, 18, (12, 6), (6, 27))
    )
    routers, degree = q * q + q + 1, q + 1
    half = carried_hosts(degree, 2)
    jellyfish = network("JF", "jellyfish", routers=routers, degree=degree)
    others: list[tuple[Network, int, str, str]] = [
        (network("SF", "slimfly", q=slim), 4 if scale.quick else 18, "min", UGAL),
        (network("DF1", "dragonfly", a=a1, h=h1), h1, "hierarchical", UGAL_HIERARCHICAL),
        (
            network("DF2", "dragonfly", a=a2, h=h2),
            2 if scale.quick else 10,
            "hierarchical",
            UGAL_HIERARCHICAL,
        ),
        (jellyfish, half, "min", UGAL_OF_MANY_GROUPS),
    ]
    found = _polarflies(q)
    for one, hosts, minimal, adaptive in others:
        # Dragonflies have one channel per hop in BookSim, too. Detours of three-hop paths have six hops.
        by_hop = one.family in ("dragonfly", "jellyfish")
        ports = [divided_port(4), divided_port(6)] if by_hop else [shared_port()] * 2
        for routing, name, port in zip((minimal, adaptive), ("MIN", "UGAL"), ports, strict=True):
            found[f"{one.label}-{name}"] = simulated(one, hosts, routing, port)
    tree = network("FT", "fat-tree", arity=arity, levels=3)
    return {**found, "FT-NCA": simulated(tree, arity, "nca", shared_port())}


def compared_curves(scale: Scale) -> list[Curve]:
    """Returns the curves of Fig 8: networks of Table V under uniform traffic and two permutations."""
    return _curves(_compared(scale), (UNIFORM, *_PERMUTATIONS), scale)


@at_full_size
def compared(curves: MeasuredCurves) -> Values:
    """Returns the values of the claims of Fig 8."""
    named = by_name(curves)

    def adaptive() -> list[Value]:
        routings = ("PF-UGAL", "PF-UGAL_PF")
        return [named[name, pattern].saturation for name in routings for pattern in _PERMUTATIONS]

    def as_fat_tree() -> Value:
        routings = ("PF-MIN", "PF-UGAL", "PF-UGAL_PF")
        best = max(named[name, UNIFORM].saturation for name in routings)
        return ratio(best, named["FT-NCA", UNIFORM].saturation)

    return {
        "uniform": lambda: named["PF-UGAL_PF", UNIFORM].saturation,
        "permutations": lambda: named["PF-UGAL_PF", TORNADO].saturation,
        "least": lambda: min(adaptive()),
        "most": lambda: max(adaptive()),
        "minimal": lambda: named["PF-MIN", TORNADO].saturation,
        "as fat tree": as_fat_tree,
        "dragonflies": lambda: ratio(*(named[f"{name}-UGAL", UNIFORM].saturation for name in ("DF1", "DF2"))),
        "latency": lambda: _detour_latency(named, *_PERMUTATIONS),
    }


def near_curves(scale: Scale) -> list[Curve]:
    """Returns the curves of Fig 9: PolarFly under permutations between routers one and two hops apart."""
    return _curves(_polarflies(_QUICK_Q if scale.quick else _Q), (_TWO_HOPS, _ONE_HOP), scale)


@at_full_size
def near(curves: MeasuredCurves) -> Values:
    """Returns the values of the claims of Fig 9."""
    named = by_name(curves)
    return {
        "minimal": lambda: named["PF-MIN", _ONE_HOP].saturation,
        "adaptive": lambda: named["PF-UGAL_PF", _ONE_HOP].saturation,
        "minimal 2": lambda: named["PF-MIN", _TWO_HOPS].saturation,
        "adaptive 2": lambda: named["PF-UGAL_PF", _TWO_HOPS].saturation,
        "latency": lambda: _detour_latency(named, _TWO_HOPS),
    }


def _detour_latency(named: Mapping[Name, MeasuredCurve], *patterns: str) -> float | None:
    """Returns the lowest ratio of UGAL_PF's latency to UGAL's, over all loads that are stable for both.

    Args:
        named: curves by name.
        patterns: patterns whose curves count.

    Returns:
        The ratio; None if no load is stable for both.
    """
    found = (latency_ratios(named["PF-UGAL", one], named["PF-UGAL_PF", one]) for one in patterns)
    return min((value for of_pattern in found for value in of_pattern.values()), default=None)


def size_curves(scale: Scale) -> list[Curve]:
    """Returns the curves of Fig 10: PolarFlies of several sizes under uniform traffic."""
    sizes = _QUICK_SIZES if scale.quick else _SIZES
    names: Mapping[str, str] = {"min": "MIN", "ugal-pf": "UGAL_PF"}
    fabrics = {f"q={q} {name}": polarfly(q, routing) for q in sizes for routing, name in names.items()}
    return _curves(fabrics, (UNIFORM,), scale)


@at_full_size
def sizes(curves: MeasuredCurves) -> Values:
    """Returns the value of the claim of Fig 10."""

    def smallest_over_largest() -> Value:
        found = [one.saturation for curve, one in curves.items() if curve.fabric.routing == "ugal-pf"]
        return ratio(min(found), max(found))

    return {"sizes": smallest_over_largest}


def grown_curves(scale: Scale) -> list[Curve]:
    """Returns the curves of Fig 11: ER_31 with copied clusters under uniform traffic.

    The number of endpoints per router is half the network radix that the authors' published generator would
    produce: q + 1, plus two for each copy of the quadrics or one for each copy of another cluster. UGAL is
    simulated only with the fewest and the most copies. To save time, only the quick scale has UGAL_PF, which
    the paper has, and half of the mean degree as endpoints with the most copies of the quadrics.
    """
    q, copies = (5, _QUICK_COPIES) if scale.quick else (31, _COPIES)
    ends = (copies[0], copies[-1])
    names = [("min", "MIN", copies), (UGAL_OF_MANY_GROUPS, "UGAL", ends)]
    if scale.quick:
        names.append(("ugal-pf", "UGAL_PF", ends))
    fabrics = {
        f"{grown_by} {name}": polarfly(q, routing, expand, hosts)
        for routing, name, shown in names
        for grown_by, expand, hosts in (
            ("+0", "", 0),
            *(
                (f"+{number} {kind}", f"{kind}:{number}", (q + 1 + ports * number) // 2)
                for kind, ports in _GROWN.items()
                for number in shown
            ),
        )
    }
    if scale.quick:
        most = f"quadric:{copies[-1]}"
        mean_degree = network("PF", "polarfly", q=q, expand=most).graph().degrees.mean()
        fewer = round(float(mean_degree) / 2)
        fabrics |= {
            f"+{copies[-1]} quadric with {fewer} endpoints {name}": polarfly(q, routing, most, fewer)
            for routing, name, _ in names
        }
    return _curves(fabrics, (UNIFORM,), scale)


@at_full_size
def grown(curves: MeasuredCurves) -> Values:
    """Returns the values of the claims of Fig 11: throughput, and its change relative to no copies.

    The throughput of a network is its saturation with the better of the two routings.
    """
    named = by_name(curves)

    def throughput(grown_by: str) -> Value:
        return max(named[f"{grown_by} {routing}", UNIFORM].saturation for routing in ("MIN", "UGAL"))

    most = f"+{max(_COPIES)}"
    return {
        "quadric": lambda: _change(throughput(f"{most} quadric"), throughput("+0")),
        "other": lambda: _change(throughput(f"{most} nonquadric"), throughput("+0")),
        "other at 10 %": lambda: throughput("+3 nonquadric"),
        "other at 39 %": lambda: throughput(f"{most} nonquadric"),
    }


def _change(now: Value, before: Value) -> Value:
    """Returns the relative change of a number, with the interval that follows from both intervals."""
    changed = ratio(now, before)
    assert changed.interval
    low, high = changed.interval
    return Value(changed.value - 1, (low - 1, high - 1))
