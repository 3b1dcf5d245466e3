"""Minimal routing (`min`): every packet takes a shortest path."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from routing.algorithms.routing import Routing
from routing.compiler import SourceTable, compile_plan
from routing.plan.groups import RouterView
from routing.plan.model import RoutePlan, Rule, Table
from routing.plan.tables import PRIORITY_ROUTER, TO_ANY_HOST
from routing.reroute.base import FastReroute, RerouteMaker
from topology.base import Topology

NAME = "min"
_TO_MINIMAL = Rule(Table.SOURCE, PRIORITY_ROUTER, TO_ANY_HOST, goto=Table.MINIMAL)


def minimal_plan(
    topology: Topology, hosts_per_router: int, make_reroute: RerouteMaker | None = None
) -> RoutePlan:
    """Returns the plan in which packets take exactly as many hops as the distance to their destination.

    Args:
        topology: the fabric's graph, connected.
        hosts_per_router: p, the number of hosts at each router that has any, 1 to 254.
        make_reroute: builds the fast reroute of one router; None for the topology family's own.

    Raises:
        ParameterError: there are more hosts or routers than addresses and tags, or paths are longer than the
            packets' TTL allows.
    """
    return compile_plan(topology, hosts_per_router, NAME, _distance, _source_table, make_reroute=make_reroute)


def _source_table(_view: RouterView, _reroute: FastReroute) -> SourceTable:
    return SourceTable((_TO_MINIMAL,))


def _distance(distances: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
    return distances


ROUTING = Routing(minimal_plan, "the shortest path", "PolarFly, section VII-A", shortest=True)
