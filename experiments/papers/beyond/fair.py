"""All families compared: members with about equal ports, endpoints or cost, in one chart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from experiments.papers.beyond.measures import all_complete, measure_columns, saturating_loads
from experiments.papers.beyond.members import COMPARISONS, NetworkWithHosts, compared_members, left_out
from experiments.papers.links import QUICK_SEARCHES, SEARCHES
from experiments.papers.model import BarChart, ItemResult, Row, Scale
from experiments.papers.performance.model import (
    Curve,
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
)
from experiments.papers.polarfly.performance import TORNADO
from experiments.papers.polarstar.performance import ADVERSARIAL
from topology.analysis.bisection import bisect, search_remark
from topology.shortest_paths import host_pairs_by_distance

_Q, _QUICK_Q = 7, 5
PLOT = BarChart(
    ("network", "hosts"),
    {
        "uniform": "saturation, uniform",
        "tornado": "saturation, tornado",
        "adversarial": "saturation, adversarial",
        "endpoints": "endpoints",
        "cost": "ports per endpoint",
        "price": "$ per endpoint",
        "bisection": "bisection / links",
        "diameter": "diameter",
    },
    group="compared",
    condition=("pattern", "adversarial pattern"),
)


class BestRouting(NamedTuple):
    """A family's best routing, and an adversarial traffic pattern for the family.

    Attributes:
        routing: name of the routing.
        adversarial: name of the pattern: the worst case in the family's source, or a permutation.
    """

    routing: str
    adversarial: str


# If most pairs have many shortest paths, plans with all routers as intermediates take minutes.
_UGAL_IN_ORDER = f"{UGAL_OF_MANY_GROUPS},over=dor"
_BEST_ROUTINGS: Mapping[str, BestRouting] = {
    "polarfly": BestRouting("ugal-pf", "worst-case"),
    "slimfly": BestRouting(UGAL, "worst-case"),
    "polarstar": BestRouting(UGAL, ADVERSARIAL),
    "bundlefly": BestRouting(UGAL, ADVERSARIAL),
    "spectralfly": BestRouting(UGAL_OF_MANY_GROUPS, RANDOM),
    "delorme": BestRouting(UGAL, ADVERSARIAL),
    "dragonfly": BestRouting(UGAL_HIERARCHICAL, "adv"),
    "dragonfly3": BestRouting(UGAL, ADVERSARIAL),
    "fat-tree": BestRouting("nca", RANDOM),
    "megafly": BestRouting(UGAL, "adv"),
    "orthogonal-fat-tree": BestRouting(UGAL, RANDOM),
    "multi-layer-full-mesh": BestRouting(UGAL, RANDOM),
    "hyperx": BestRouting(UGAL, TORNADO),
    "torus": BestRouting(_UGAL_IN_ORDER, RANDOM),
    "hypercube": BestRouting(_UGAL_IN_ORDER, RANDOM),
    "long-hop": BestRouting(UGAL, RANDOM),
    "jellyfish": BestRouting(UGAL, RANDOM),
    "xpander": BestRouting(UGAL, RANDOM),
    "dln": BestRouting(UGAL, RANDOM),
}


def best_routing_of(family: str) -> BestRouting:
    """Returns a family's best routing, and an adversarial traffic pattern for the family.

    Args:
        family: name of the family, one of `members.FAMILIES`.
    """
    return _BEST_ROUTINGS[family]


def _members(scale: Scale) -> list[tuple[str, NetworkWithHosts]]:
    """Returns (comparison, member) for all members of all comparisons, in the order of the chart."""
    return [(one, member) for one in COMPARISONS for member in compared_members(_order(scale), one)]


def _order(scale: Scale) -> int:
    return _QUICK_Q if scale.quick else _Q


def _remark(scale: Scale) -> str:
    """Returns a note for the user: families missing in each comparison, and how bisections are searched."""
    missing = {one: left_out(_order(scale), one) for one in COMPARISONS}
    without = "; ".join(f"{one}: {', '.join(names)}" for one, names in missing.items() if names)
    return ". ".join(filter(None, (f"families without a comparable member: {without}", search_remark())))


def _curves(member: NetworkWithHosts, scale: Scale) -> dict[str, Curve]:
    """Returns a member's curves by column of the chart: `uniform`, `tornado` and `adversarial`."""
    of_family = best_routing_of(member.network.family)
    # A detour of an adaptive routing is two minimal paths, and each of its hops needs its own channel.
    adaptive = of_family.routing != "nca"
    routers = divided_port(2 * member.network.graph().diameter) if adaptive else shared_port()
    fabric = simulated(member.network, member.hosts, of_family.routing, routers)
    patterns = {"uniform": UNIFORM, "tornado": TORNADO, "adversarial": of_family.adversarial}
    loads = saturating_loads(scale)
    label = member.network.label
    return {name: Curve(label, fabric, pattern, loads) for name, pattern in patterns.items()}


def fair_curves(scale: Scale) -> list[Curve]:
    """Returns the curves of all compared members; a member of several comparisons is included once.

    Args:
        scale: the scale.
    """
    found = (curve for _, member in _members(scale) for curve in _curves(member, scale).values())
    return list(dict.fromkeys(found))


def fair(curves: MeasuredCurves, scale: Scale) -> ItemResult:
    """Returns one row per member and comparison.

    Args:
        curves: the curves with their points.
        scale: the scale; its `seeds` is the number of simulations per point and of searches per bisection.
    """
    rows: list[Row] = []
    for comparison, member in _members(scale):
        graph, own = member.network.graph(), _curves(member, scale)
        if not all_complete(*(curves[one] for one in own.values())):
            continue
        cut = bisect(graph, scale.number(SEARCHES, QUICK_SEARCHES))
        row: dict[str, object] = {
            "compared": comparison,
            "family": member.network.family,
            "network": member.network.label,
            "hosts": f"{member.hosts} hosts",
            "routing": own["uniform"].fabric.routing,
            "pattern": own["adversarial"].pattern,
            "routers": graph.routers,
            "ports": member.ports,
            "endpoints": member.endpoints,
            "links": graph.links,
            "cost": member.cost,
            "price": round(member.price, 2),
            "diameter": max(host_pairs_by_distance(graph)),
            "bisection": cut.share,
        }
        for name, curve in own.items():
            row |= measure_columns(name, curves[curve].saturation)
        row["deadlock"] = any(point.deadlock for curve in own.values() for point in curves[curve].points)
        rows.append(row)
    return ItemResult({}, rows, _remark(scale))
