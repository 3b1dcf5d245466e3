"""Valiant routing (`valiant`): minimal paths to a random intermediate router and on to the destination.

The intermediate router is chosen by the hash of a packet's flow, so that a flow keeps its path.

Source: L. G. Valiant, "A scheme for fast parallel communication" (SIAM J. Comput. 11, 1982); PolarFly (SC22),
section V-B.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from routing.compiler import SourceTable, compile_plan, detour_bucket, evenly_spaced
from routing.plan.groups import GroupRole, RouterView, group_number
from routing.plan.model import Group, GroupKind, RoutePlan, Rule, Table, ToGroup
from routing.plan.tables import PRIORITY_ROUTER
from routing.reroute.base import FastReroute
from topology.base import Topology
from topology.parameters import Parameter

NAME = "valiant"
# One group for all destinations.
GROUP = group_number(GroupRole.CHOICE_ANY)
# Open vSwitch divides a group of n equal buckets evenly up to n = 256.
INTERMEDIATES = Parameter(
    name="intermediates",
    type=int,
    help="most intermediate routers that a source chooses among, evenly spaced",
    least=1,
    most=256,
    default=256,
)
PLAN_PARAMETERS = (INTERMEDIATES,)


def valiant_plan(topology: Topology, concentration: int, *, intermediates: int) -> RoutePlan:
    """Returns the plan in which a packet takes at most twice the diameter in hops.

    A source chooses among all other routers, or among evenly spaced ones where there are too many.

    Args:
        topology: the fabric's graph, connected.
        concentration: p, the number of hosts at each router that has any, 1 to 254.
        intermediates: the most routers that a source chooses among, 1 to 256.

    Raises:
        ParameterError: more hosts or routers than addresses and tags can tell apart, or longer paths than the
            packets' TTL allows.
    """
    diameter = topology.diameter

    def bound(distances: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
        return np.where(distances == 0, 0, 2 * diameter).astype(np.int16)

    return compile_plan(topology, concentration, NAME, bound, partial(_source_table, intermediates))


def _source_table(intermediates: int, view: RouterView, reroute: FastReroute) -> SourceTable:
    others = view.others()
    buckets = tuple(detour_bucket(reroute, other) for other in evenly_spaced(others, intermediates))
    rules = tuple(
        Rule(Table.SOURCE, PRIORITY_ROUTER, view.matches[other], (ToGroup(GROUP),)) for other in others
    )
    return SourceTable(rules, (Group(GROUP, GroupKind.SELECT, buckets),))
