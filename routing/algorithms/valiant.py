"""Valiant routing (`valiant`): minimal paths to a random intermediate router and on to the destination.

The hash of a packet's flow selects the intermediate router, so a flow keeps its path.

Source: L. G. Valiant, "A scheme for fast parallel communication" (SIAM J. Comput. 11, 1982); PolarFly (SC22),
section VII-B.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from routing.algorithms.group_detours import Intermediates, group_detours
from routing.algorithms.routing import Routing
from routing.compiler import SourceTable, compile_plan, detour_bucket, evenly_spaced
from routing.path_sets.registry import OVER, with_paths
from routing.plan.groups import GroupRole, RouterView, group_number
from routing.plan.model import Group, GroupKind, RoutePlan, Rule, Table, ToGroup
from routing.plan.tables import PRIORITY_ROUTER
from routing.reroute.base import FastReroute
from topology.base import Topology
from topology.parameters import Parameter

NAME = "valiant"
# One group for all destinations.
GROUP = group_number(GroupRole.CHOICE_ANY)
# Open vSwitch divides a group of n equal buckets evenly up to n = 256. Simulations of large networks need
# more, because 256 of the routers load the links unevenly; a group of 1,364 would not fit into a message.
INTERMEDIATES = Parameter(
    name="intermediates",
    type=int,
    help="maximum number of intermediate routers of a source; of more candidates, it uses evenly spaced ones",
    least=1,
    most=1024,
    default=256,
)
BY_GROUP = "valiant-group"


def valiant_plan(topology: Topology, hosts_per_router: int, *, intermediates: int, over: str) -> RoutePlan:
    """Returns the plan in which packets visit a random router; paths have at most twice the diameter in hops.

    A source chooses among all other routers, or among evenly spaced ones if there are too many.

    Args:
        topology: the fabric's graph, connected.
        hosts_per_router: p, the number of hosts at each router that has any, 1 to 254.
        intermediates: the maximum number of routers that a source chooses among, 1 to 1024.
        over: path set of the paths to and from the intermediate router; `min` for all shortest paths.

    Raises:
        UsageError: the topology's family does not have such paths.
        ParameterError: there are more hosts or routers than addresses and tags, or paths are longer than the
            packets' TTL allows.
    """
    topology = with_paths(topology, over)
    diameter = topology.diameter

    def bound(distances: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
        return np.where(distances == 0, 0, 2 * diameter).astype(np.int16)

    return compile_plan(
        topology, hosts_per_router, NAME, bound, partial(_source_table, intermediates, RouterView.others)
    )


def valiant_group_plan(topology: Topology, hosts_per_router: int, *, intermediates: int) -> RoutePlan:
    """Returns the plan in which packets visit a random other group of a dragonfly.

    The intermediate router is the one at which a link of the source's group enters the other group. Paths to
    and from it are hierarchical.

    Args:
        topology: a dragonfly.
        hosts_per_router: p, the number of hosts at each router, 1 to 254.
        intermediates: the maximum number of entry routers that a source chooses among, 1 to 1024.

    Raises:
        UsageError: the topology is of another family.
        ParameterError: there are more hosts or routers than addresses and tags, or paths are longer than the
            packets' TTL allows.
    """
    paths, bound, entries = group_detours(topology, BY_GROUP)
    source_table = partial(_source_table, intermediates, entries)
    return compile_plan(paths, hosts_per_router, BY_GROUP, bound, source_table)


def _source_table(
    most: int, intermediates: Intermediates, view: RouterView, reroute: FastReroute
) -> SourceTable:
    others = view.others()
    chosen = evenly_spaced(intermediates(view), most, view.router)
    buckets = tuple(detour_bucket(reroute, other) for other in chosen)
    rules = tuple(
        Rule(Table.SOURCE, PRIORITY_ROUTER, view.matches[other], (ToGroup(GROUP),)) for other in others
    )
    return SourceTable(rules, (Group(GROUP, GroupKind.SELECT, buckets),))


ROUTING = Routing(
    valiant_plan,
    "via a random router",
    "Valiant, SIAM J. Comput. 11, 1982",
    plan_parameters=(INTERMEDIATES, OVER),
)
BY_GROUP_ROUTING = Routing(
    valiant_group_plan,
    "via a random other group (dragonfly)",
    "Kim et al., ISCA 2008, section 4.1",
    plan_parameters=(INTERMEDIATES,),
    families=("dragonfly",),
)
