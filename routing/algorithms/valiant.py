"""Valiant routing (`valiant`): minimal paths to a random intermediate router and on to the destination.

The intermediate router is chosen by the hash of a packet's flow, so that a flow keeps its path.

Source: L. G. Valiant, "A scheme for fast parallel communication" (SIAM J. Comput. 11, 1982); PolarFly (SC22),
section V-B.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from routing.compiler import SourceTable, compile_plan, detour_bucket
from routing.plan.groups import GroupRole, RouterView, group_number
from routing.plan.model import Group, GroupKind, RoutePlan, Rule, Table, ToGroup
from routing.plan.tables import PRIORITY_ROUTER
from routing.reroute.base import FastReroute
from topology.base import Topology

NAME = "valiant"
# One group for all destinations.
GROUP = group_number(GroupRole.CHOICE_ANY)
# Open vSwitch divides a group of n equal buckets evenly up to n = 256.
MAX_INTERMEDIATES = 256


def valiant_plan(topology: Topology, concentration: int) -> RoutePlan:
    """Returns the plan in which a packet takes at most twice the diameter in hops.

    A source chooses among all other routers, or among 256 evenly spaced ones where there are more.

    Args:
        topology: the fabric's graph, connected.
        concentration: p, the number of hosts at each router that has any, 1 to 254.

    Raises:
        ParameterError: more hosts or routers than addresses and tags can tell apart, or longer paths than the
            packets' TTL allows.
    """
    diameter = topology.diameter

    def bound(distances: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
        return np.where(distances == 0, 0, 2 * diameter).astype(np.int16)

    return compile_plan(topology, concentration, NAME, bound, _source_table)


def _source_table(view: RouterView, reroute: FastReroute) -> SourceTable:
    others = view.others()
    chosen = np.linspace(0, len(others) - 1, min(len(others), MAX_INTERMEDIATES)).round()
    buckets = tuple(detour_bucket(reroute, others[int(index)]) for index in chosen)
    rules = tuple(
        Rule(Table.SOURCE, PRIORITY_ROUTER, view.matches[other], (ToGroup(GROUP),)) for other in others
    )
    return SourceTable(rules, (Group(GROUP, GroupKind.SELECT, buckets),))
