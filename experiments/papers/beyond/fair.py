"""All families side by side: members of about equal ports, endpoints or cost, on one page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from experiments.papers.beyond.measures import all_complete, measure_columns, saturating_loads
from experiments.papers.beyond.members import COMPARISONS, Attached, compared_members, left_out
from experiments.papers.links import QUICK_SEARCHES, SEARCHES
from experiments.papers.model import Effort, Found, Row, Sheet
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
PLOT = Sheet(
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


class Practice(NamedTuple):
    """The routing of a family, and its worst pattern.

    Attributes:
        routing: name of the routing.
        adversarial: name of the pattern: the worst case that the family's source has, or a permutation.
    """

    routing: str
    adversarial: str


# Plans with all routers as intermediates take minutes where most pairs have many shortest paths.
_UGAL_IN_ORDER = f"{UGAL_OF_MANY_GROUPS},over=dor"
_PRACTICES: Mapping[str, Practice] = {
    "polarfly": Practice("ugal-pf", "worst-case"),
    "slimfly": Practice(UGAL, "worst-case"),
    "polarstar": Practice(UGAL, ADVERSARIAL),
    "bundlefly": Practice(UGAL, ADVERSARIAL),
    "spectralfly": Practice(UGAL_OF_MANY_GROUPS, RANDOM),
    "delorme": Practice(UGAL, ADVERSARIAL),
    "dragonfly": Practice(UGAL_HIERARCHICAL, "adv"),
    "dragonfly3": Practice(UGAL, ADVERSARIAL),
    "fat-tree": Practice("nca", RANDOM),
    "megafly": Practice(UGAL, "adv"),
    "orthogonal-fat-tree": Practice(UGAL, RANDOM),
    "multi-layer-full-mesh": Practice(UGAL, RANDOM),
    "hyperx": Practice(UGAL, TORNADO),
    "torus": Practice(_UGAL_IN_ORDER, RANDOM),
    "hypercube": Practice(_UGAL_IN_ORDER, RANDOM),
    "long-hop": Practice(UGAL, RANDOM),
    "jellyfish": Practice(UGAL, RANDOM),
    "xpander": Practice(UGAL, RANDOM),
    "dln": Practice(UGAL, RANDOM),
}


def practice_of(family: str) -> Practice:
    """Returns the routing of a family, and its worst pattern.

    Args:
        family: name of the family, one of `members.FAMILIES`.
    """
    return _PRACTICES[family]


def _members(effort: Effort) -> list[tuple[str, Attached]]:
    """Returns the members of each comparison."""
    return [(one, member) for one in COMPARISONS for member in compared_members(_order(effort), one)]


def _order(effort: Effort) -> int:
    return _QUICK_Q if effort.quick else _Q


def _remark(effort: Effort) -> str:
    """Returns which families are not compared, and how halves are found."""
    missing = {one: left_out(_order(effort), one) for one in COMPARISONS}
    without = "; ".join(f"{one}: {', '.join(names)}" for one, names in missing.items() if names)
    return ". ".join(filter(None, (f"families without a member about equal: {without}", search_remark())))


def _curves(member: Attached, effort: Effort) -> dict[str, Curve]:
    """Returns the curves of a member by the columns of their saturation."""
    of_family = practice_of(member.network.family)
    # Adaptive routings have a detour of two paths, with a channel for each hop.
    adaptive = of_family.routing != "nca"
    routers = divided_port(2 * member.network.graph().diameter) if adaptive else shared_port()
    fabric = simulated(member.network, member.hosts, of_family.routing, routers)
    patterns = {"uniform": UNIFORM, "tornado": TORNADO, "adversarial": of_family.adversarial}
    loads = saturating_loads(effort)
    label = member.network.label
    return {name: Curve(label, fabric, pattern, loads) for name, pattern in patterns.items()}


def fair_curves(effort: Effort) -> list[Curve]:
    """Returns the curves of all members; one that is in several comparisons has its curves once.

    Args:
        effort: the effort.
    """
    found = (curve for _, member in _members(effort) for curve in _curves(member, effort).values())
    return list(dict.fromkeys(found))


def fair(curves: MeasuredCurves, effort: Effort) -> Found:
    """Returns a row for each member of each comparison.

    Args:
        curves: the curves with their points.
        effort: the effort; its seeds are simulations of a point, and searches for a bisection.
    """
    rows: list[Row] = []
    for comparison, member in _members(effort):
        graph, own = member.network.graph(), _curves(member, effort)
        if not all_complete(*(curves[one] for one in own.values())):
            continue
        cut = bisect(graph, effort.number(SEARCHES, QUICK_SEARCHES))
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
    return Found({}, rows, _remark(effort))
