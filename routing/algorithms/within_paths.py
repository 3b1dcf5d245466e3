"""Routings within a path set (`hierarchical`, `dor`, `nca`, `up-down`): packets take paths of the set."""

from __future__ import annotations

from functools import partial

from routing.algorithms.minimal import minimal_plan
from routing.algorithms.routing import Routing
from routing.path_sets.registry import PATH_SETS
from routing.plan.model import RoutePlan
from topology.base import Topology
from topology.parameters import Value


def plan_within_paths(
    topology: Topology, hosts_per_router: int, *, paths: str, **parameters: Value | None
) -> RoutePlan:
    """Returns the plan in which packets take paths of a path set.

    Args:
        topology: the fabric's graph, connected.
        hosts_per_router: p, the number of hosts at each router that has any, 1 to 254.
        paths: name of the path set, a key of `PATH_SETS`.
        **parameters: values of its parameters, by key.

    Raises:
        UsageError: the topology's family does not have the paths.
        ParameterError: a parameter does not fit the topology, there are more hosts or routers than addresses
            and tags, or paths are longer than the packets' TTL allows.
    """
    return minimal_plan(PATH_SETS[paths].restrict(topology, **parameters), hosts_per_router)


def routing_within_paths(name: str) -> Routing:
    """Returns the routing within a path set.

    Args:
        name: name of the path set, a key of `PATH_SETS`.
    """
    paths = PATH_SETS[name]
    return Routing(
        partial(plan_within_paths, paths=name),
        paths.summary,
        paths.source,
        shortest=paths.shortest,
        families=paths.families,
        plan_parameters=paths.parameters,
    )
