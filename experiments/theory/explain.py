"""Explanation of the paths between two switches, derived from the rules, as data and as text."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from experiments.codec import omitted
from experiments.theory.geometry import lines_between
from routing.plan.model import RoutePlan
from routing.registry import make_plan, routing
from routing.replan.replan import surviving_plan
from routing.verification.forwarding_states import StateSpace
from routing.verification.paths import PacketPath, packet_paths
from topology.addressing import Host, switch_name
from topology.base import Topology
from topology.errors import ParameterError
from topology.failures import NO_FAILURE, Failure, failure_of
from topology.faults import parse_components

_MAX_LISTED = 12


@dataclass(frozen=True)
class ListedPath:
    """Path between two switches.

    Attributes:
        switches: names of the switches in order.
        share: fraction of the packets that take it; 0 for a path that the controller may choose.
        ends: reason why packets end at the last switch; None if they arrive at the destination.
    """

    switches: tuple[str, ...]
    share: float
    ends: str | None = omitted()


@dataclass(frozen=True)
class FailedLink:
    """Paths when a link fails.

    Attributes:
        failed: name of the link.
        switches_alone: paths by fast reroute, before the controller has replanned.
        planned_again: paths after the controller has replanned.
    """

    failed: str
    switches_alone: tuple[ListedPath, ...]
    planned_again: tuple[ListedPath, ...]


@dataclass(frozen=True)
class Explanation:
    """Paths of a routing between two switches, and their explanation.

    Attributes:
        geometry: lines about the position of both routers in the topology.
        routing: name and summary of the routing.
        ways: paths that packets take.
        alternatives: paths that the controller may choose.
        shortest: whether the routing uses minimal paths only.
        failures: paths when a link of the first path fails, for each of its links.

    Examples:
        >>> found = explain(topology("polarfly", q=3), "s3", "s8")
        >>> found.ways[0].switches
        ('s3', 's8')
        >>> found.failures[0].failed, found.failures[0].switches_alone[0].switches
        ('link:s3-s8', ('s3', 's2', 's6', 's11', 's8'))
    """

    geometry: tuple[str, ...]
    routing: str
    ways: tuple[ListedPath, ...]
    alternatives: tuple[ListedPath, ...]
    shortest: bool
    failures: tuple[FailedLink, ...]

    def __str__(self) -> str:
        return "\n".join(lines_of(self)).strip()

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        """Prints the text in IPython."""
        printer.text(str(self))


def explain(topology: Topology, name: str, source: int, destination: int) -> Explanation:
    """Explains the paths of a routing's packets from one router to another.

    Args:
        topology: graph of the routers.
        name: name of the routing.
        source: a router.
        destination: another router.

    Raises:
        ParameterError: both routers are the same, or one has no hosts.
    """
    if source == destination:
        raise ParameterError(f"{switch_name(source)} is both ends; choose two switches")
    check_has_hosts(topology, source, destination)
    plan = make_plan(topology, 1, name)
    space = StateSpace(plan)
    taken, possible = _both(space, source, destination, NO_FAILURE)
    links = itertools.pairwise(taken[0].routers)
    return Explanation(
        geometry=tuple(lines_between(topology, source, destination)),
        routing=f"{plan.routing}: {routing(name).summary}",
        ways=_listed(taken),
        alternatives=_listed(possible),
        shortest=routing(name).shortest,
        failures=tuple(_failed(plan, space, source, destination, ends) for ends in links),
    )


def check_has_hosts(topology: Topology, *routers: int) -> None:
    """Raises ParameterError unless all given routers have hosts."""
    counts = topology.host_counts(1)
    for router in routers:
        if not counts[router]:
            raise ParameterError(f"{switch_name(router)} must have hosts, got a router without any")


def paths_between(
    plan: RoutePlan, source: Host, destination: Host, failure: Failure
) -> tuple[tuple[ListedPath, ...], tuple[ListedPath, ...]]:
    """Returns the paths that packets from one host to another take, and those that the controller may choose.

    Args:
        plan: the installed plan.
        source: the host that sends.
        destination: a host of another router.
        failure: the links and switches that have failed.
    """
    paths = packet_paths(StateSpace(plan), source, destination, failure)
    taken = [path for path in paths if path.share > 0]
    return _listed(taken), _listed([path for path in paths if not path.share])


def _both(
    space: StateSpace, source: int, destination: int, failure: Failure
) -> tuple[list[PacketPath], list[PacketPath]]:
    """Returns the paths that packets take, and those that the controller may choose instead.

    They lead from the first host of the router `source` to the first host of the router `destination`.
    """
    first_hosts = {host.router: host for host in reversed(space.hosts)}
    paths = packet_paths(space, first_hosts[source], first_hosts[destination], failure)
    return [path for path in paths if path.share > 0], [path for path in paths if not path.share]


def _listed(paths: list[PacketPath]) -> tuple[ListedPath, ...]:
    return tuple(
        ListedPath(
            tuple(switch_name(router) for router in path.routers), round(path.share, 4), path.fault or None
        )
        for path in paths
    )


def _failed(
    plan: RoutePlan, space: StateSpace, source: int, destination: int, ends: tuple[int, int]
) -> FailedLink:
    topology = plan.topology
    low, high = sorted(ends)
    parallel = sum((link.a, link.b) == (low, high) for link in topology.link_list) > 1
    name = f"link:{switch_name(low)}-{switch_name(high)}" + (".1" if parallel else "")
    failure = failure_of(topology, parse_components(name, topology, 1))
    rerouted, _ = _both(space, source, destination, failure)
    surviving = surviving_plan(plan, failure, toward=[destination])
    planned, _ = _both(StateSpace(surviving), source, destination, failure)
    return FailedLink(name, _listed(rerouted), _listed(planned))


def lines_of(explanation: Explanation) -> list[str]:
    """Returns an explanation as readable lines."""
    lines = [*explanation.geometry, "", f"Under {explanation.routing}", *path_lines(explanation.ways)]
    if explanation.alternatives:
        lines += ["", "The controller may send some flows by these paths instead, when queues are full:"]
        lines += path_lines(explanation.alternatives)
    for failure in explanation.failures:
        lines += ["", f"If {failure.failed} fails, the switches by themselves send packets"]
        lines += path_lines(failure.switches_alone)
        again = "and after the controller has planned again"
        if len(failure.planned_again) == 1 < len(explanation.ways) and not explanation.shortest:
            again += ", minimally until the failure is repaired,"
        lines += [again, *path_lines(failure.planned_again)]
    return lines


def path_lines(paths: tuple[ListedPath, ...]) -> list[str]:
    """Returns the first twelve paths as readable lines."""
    lines = []
    for path in paths[:_MAX_LISTED]:
        hops = len(path.switches) - 1
        share = f", {path.share:.1%} of the packets" if 0 < path.share < 1 else ""
        ends = f", and end there: {path.ends}" if path.ends else ""
        lines.append(f"  {' -> '.join(path.switches)} ({hops} {'hop' if hops == 1 else 'hops'}{share}){ends}")
    if len(paths) > _MAX_LISTED:
        lines.append(f"  and {len(paths) - _MAX_LISTED} more; --json has them all")
    return lines
