"""Which way packets go between two switches, and why: in words, from the rules themselves."""

from __future__ import annotations

import itertools
from typing import Any

from experiments.theory.geometry import lines_between
from routing.plan.model import RoutePlan
from routing.registry import make_plan, routing
from routing.replan.replan import surviving_plan
from routing.verification.forwarding_states import StateSpace
from routing.verification.paths import PacketPath, packet_paths
from topology.addressing import switch_name
from topology.base import Topology
from topology.errors import ParameterError
from topology.failures import NO_FAILURE, Failure, failure_of
from topology.faults import parse_elements

_MOST_LISTED = 12


def explain(topology: Topology, name: str, source: int, destination: int) -> dict[str, Any]:
    """Returns why a routing's packets go from one router to another as they do.

    Args:
        topology: the graph.
        name: the routing.
        source: a router.
        destination: another.

    Returns:
        `geometry`: lines about where both are; `shortest`: whether the routing takes no detours; `ways`:
        those that packets take; `alternatives`: those that the controller may choose; `failures`: for each
        link of the first way, what packets do when it dies, by the switches' own repair and after the
        controller has planned again.

    Raises:
        ParameterError: both routers are the same.
    """
    if source == destination:
        raise ParameterError(f"{switch_name(source)} is both ends; choose two switches")
    plan = make_plan(topology, 1, name)
    space = StateSpace(plan)
    taken, possible = _both(space, source, destination, NO_FAILURE)
    first = taken[0].routers
    return {
        "geometry": lines_between(topology, source, destination),
        "routing": f"{name}: {routing(name).summary}",
        "ways": _listed(taken),
        "alternatives": _listed(possible),
        "shortest": routing(name).shortest,
        "failures": [_failed(plan, space, source, destination, (a, b)) for a, b in itertools.pairwise(first)],
    }


def _both(
    space: StateSpace, source: int, destination: int, failure: Failure
) -> tuple[list[PacketPath], list[PacketPath]]:
    """Returns the ways that packets take and those that they may yet be sent by."""
    found = packet_paths(space, space.hosts[source], space.hosts[destination], failure)
    return [way for way in found if way.share > 0], [way for way in found if not way.share]


def _listed(found: list[PacketPath]) -> list[dict[str, Any]]:
    return [
        {
            "switches": [switch_name(router) for router in way.routers],
            "share": round(way.share, 4),
            **({"ends": way.fault} if way.fault else {}),
        }
        for way in found
    ]


def _failed(
    plan: RoutePlan, space: StateSpace, source: int, destination: int, ends: tuple[int, int]
) -> dict[str, Any]:
    topology = plan.topology
    low, high = sorted(ends)
    parallel = sum((link.a, link.b) == (low, high) for link in topology.link_list) > 1
    name = f"link:{switch_name(low)}-{switch_name(high)}" + (".1" if parallel else "")
    failure = failure_of(topology, parse_elements(name, topology, 1))
    repaired, _ = _both(space, source, destination, failure)
    left = surviving_plan(plan, failure, toward=[destination])
    planned, _ = _both(StateSpace(left), source, destination, failure)
    return {"failed": name, "switches_alone": _listed(repaired), "planned_again": _listed(planned)}


def lines_of(told: dict[str, Any]) -> list[str]:
    """Returns an explanation as lines for people."""
    lines = [*told["geometry"], "", f"Under {told['routing']}", *_way_lines(told["ways"])]
    if told["alternatives"]:
        lines += ["", "The controller may send some flows these ways instead, when queues are full:"]
        lines += _way_lines(told["alternatives"])
    for failure in told["failures"]:
        lines += ["", f"When {failure['failed']} dies, the switches by themselves send packets"]
        lines += _way_lines(failure["switches_alone"])
        again = "and after the controller has planned again"
        if len(failure["planned_again"]) == 1 < len(told["ways"]) and not told["shortest"]:
            again += ", minimally until all works again,"
        lines += [again, *_way_lines(failure["planned_again"])]
    return lines


def _way_lines(listed: list[dict[str, Any]]) -> list[str]:
    lines = []
    for way in listed[:_MOST_LISTED]:
        hops = len(way["switches"]) - 1
        share = f", {way['share']:.1%} of the packets" if 0 < way["share"] < 1 else ""
        ends = f", and end there: {way['ends']}" if "ends" in way else ""
        lines.append(
            f"  {' -> '.join(way['switches'])} ({hops} {'hop' if hops == 1 else 'hops'}{share}){ends}"
        )
    if len(listed) > _MOST_LISTED:
        lines.append(f"  and {len(listed) - _MOST_LISTED} more; --json has them all")
    return lines
