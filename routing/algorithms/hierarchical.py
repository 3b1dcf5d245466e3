"""Hierarchical routing (`hierarchical`): at most one global link, with local hops before and after it.

With `gateways=nearest`, packets take all shortest hierarchical paths. With `gateways=any`, as in the paper's
reference "Minimal", a source with links to the destination's group takes one of those; otherwise it chooses
among all routers of its group that have such links, whether or not they are on a shortest path.

Source: Camarero, Vallejo, Beivide, "Topological Characterization of Hamming and Dragonfly Networks and Its
Implications on Routing" (TACO 2014), section 7.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from routing.algorithms.first_hops import first_hops_source_table
from routing.algorithms.minimal import minimal_plan
from routing.algorithms.routing import Routing
from routing.compiler import compile_plan
from routing.path_sets.hierarchical import NAME, PATHS, dragonfly_of, hierarchical_paths
from routing.path_sets.restricted import Lengths
from routing.plan.model import RoutePlan
from topology.base import Topology
from topology.errors import ParameterError, UsageError
from topology.families.dragonflies.dragonfly import Dragonfly
from topology.families.dragonflies.dragonfly3 import Dragonfly3
from topology.parameters import Parameter

NEAREST, ANY = "nearest", "any"
GATEWAYS = Parameter(
    name="gateways",
    type=str,
    help="routers over whose global links packets leave a group: those of shortest paths, or the source "
    "itself if it has one, else any",
    choices=lambda: (NEAREST, ANY),
    default=NEAREST,
)


def hierarchical_plan(topology: Topology, hosts_per_router: int, *, gateways: str) -> RoutePlan:
    """Returns the plan in which packets take hierarchical paths.

    Args:
        topology: a dragonfly; with complete groups unless `gateways` is `nearest`.
        hosts_per_router: p, the number of hosts at each router, 1 to 254.
        gateways: a value of `GATEWAYS`.

    Raises:
        UsageError: the topology is of another family, or has three levels and `gateways` is not `nearest`.
        ParameterError: the groups are not complete, there are more hosts or routers than addresses and tags,
            or paths are longer than the packets' TTL allows.
    """
    if gateways == NEAREST:
        return minimal_plan(hierarchical_paths(topology), hosts_per_router)
    if isinstance(topology, Dragonfly3):
        raise UsageError(f"gateways of {NAME} on {topology.name} must be {NEAREST}, got {gateways}")
    dragonfly = dragonfly_of(topology, NAME)
    if len(dragonfly.local) > 1:
        raise ParameterError(
            f"groups for {NAME}:gateways={ANY} must be complete graphs, got the Hamming graph "
            f"{dragonfly.params['local']}; omit --local, or try {NAME}"
        )
    source_table = first_hops_source_table(partial(_gateways, dragonfly))
    return compile_plan(hierarchical_paths(dragonfly, True), hosts_per_router, NAME, _bound, source_table)


def _gateways(dragonfly: Dragonfly, router: int) -> dict[int, tuple[int, ...]]:
    """Returns destination -> all gateways toward its group, for groups to which the router has no link."""
    group_of = dragonfly.group_of
    own = int(group_of[router])
    around = [tuple(np.unique(ends).tolist()) if ends[0] >= 0 else () for ends in dragonfly.gateways[own]]
    return {
        destination: around[group]
        for destination, group in enumerate(group_of.tolist())
        if group != own and router not in around[group]
    }


def _bound(distances: Lengths) -> Lengths:
    """Returns the distances with each 2 replaced by 3: other gateways may need a second local hop."""
    return np.where(distances == 2, 3, distances).astype(np.int16)


ROUTING = Routing(
    hierarchical_plan,
    PATHS.summary,
    PATHS.source,
    plan_parameters=(GATEWAYS,),
    families=PATHS.families,
)
