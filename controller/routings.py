"""The routings by their names on the command line: one line for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controller import minimal
from controller.plan import RoutePlan
from topology.errors import UsageError
from topology.graph import Topology

ROUTINGS: Mapping[str, Callable[[Topology, int], RoutePlan]] = {
    minimal.NAME: minimal.minimal_plan,
}


# Routings whose choices do not depend on the traffic, so that theory can tell what they accept.
OBLIVIOUS = frozenset({minimal.NAME})


def check_routing(name: str) -> None:
    """Raises UsageError, naming those that exist, unless there is a routing called `name`."""
    if name not in ROUTINGS:
        raise UsageError(f"unknown routing {name!r}; there are: {', '.join(sorted(ROUTINGS))}")


def make_plan(topology: Topology, hosts_per_router: int, routing: str) -> RoutePlan:
    """Returns the plan of a routing for a fabric.

    Raises:
        UsageError: there is no such routing, or it cannot route this fabric.
    """
    check_routing(routing)
    return ROUTINGS[routing](topology, hosts_per_router)
