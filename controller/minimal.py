"""Minimal routing (`min`): every packet takes the shortest path that the topology's formula names."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import numpy.typing as npt

from controller.pipeline import PRIORITY_DROP, PRIORITY_ROUTER, shared_rules, to_router
from controller.plan import (
    Bucket,
    DecrementTtl,
    Group,
    GroupKind,
    Output,
    RoutePlan,
    Rule,
    SwitchPlan,
    Table,
    ToGroup,
)
from topology.addressing import hosts_of
from topology.graph import Topology

NAME = "min"


def minimal_plan(topology: Topology, hosts_per_router: int) -> RoutePlan:
    """Returns the plan in which every pair's packets take exactly the pair's distance in hops.

    A switch holds one masked rule per other router, and one group per fabric port for these rules to
    point at, so that what happens at a port is said in one place.

    Args:
        topology: the fabric's graph.
        hosts_per_router: p, 1 to 254.

    Raises:
        ParameterError: the addresses cannot tell that many hosts or routers apart.
    """
    hosts = hosts_of(topology, hosts_per_router)
    next_hops = topology.all_next_hops()
    matches = [to_router(topology, router) for router in range(topology.routers)]
    switches = []
    for router, own_hosts in groupby(hosts, key=lambda host: host.router):
        ports = topology.ports_toward(router, next_hops[router]).tolist()
        rules = list(shared_rules(topology, router, tuple(own_hosts)))
        rules.append(Rule(Table.SOURCE, PRIORITY_DROP, (), goto=Table.MINIMAL))
        rules += [
            Rule(Table.MINIMAL, PRIORITY_ROUTER, matches[other], (ToGroup(ports[other]),))
            for other in range(topology.routers)
            if other != router
        ]
        degree = int(topology.degrees[router])
        groups = tuple(port_group(port) for port in range(1, degree + 1))
        switches.append(SwitchPlan(router, tuple(rules), groups))
    return RoutePlan(topology, hosts_per_router, NAME, tuple(switches), _exactly)


def port_group(port: int) -> Group:
    """Returns the group, numbered as the port, that sends a packet one hop on by way of it."""
    return Group(port, GroupKind.INDIRECT, (Bucket((DecrementTtl(), Output(port))),))


def _exactly(distances: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    return distances
