"""Registry of the path sets by command-line name: one line for each."""

from __future__ import annotations

from routing.path_sets.restricted import PathSet
from topology.base import Topology
from topology.parameters import Parameter
from topology.plugins import Places

ALL_SHORTEST = "min"

PATH_SETS = Places[PathSet](
    {
        "hierarchical": "routing.path_sets.hierarchical:PATHS",
        "two-color": "routing.path_sets.coloured:TWO_COLOR_PATHS",
        "four-color": "routing.path_sets.coloured:FOUR_COLOR_PATHS",
        "dor": "routing.path_sets.dimension_order:PATHS",
        "nca": "routing.path_sets.common_ancestor:PATHS",
        "up-down": "routing.path_sets.up_down:PATHS",
    }
)

# The path set of the paths to and from intermediate routers.
OVER = Parameter(
    name="over",
    type=str,
    help="paths to and from the intermediate router",
    choices=lambda: (ALL_SHORTEST, *PATH_SETS),
    default=ALL_SHORTEST,
)


def with_paths(topology: Topology, name: str) -> Topology:
    """Returns a topology whose minimal routes are the paths of a path set.

    Args:
        topology: the fabric's graph, connected.
        name: a key of `PATH_SETS`, or `min` for all shortest paths.

    Raises:
        UsageError: the topology's family does not have the paths.

    Examples:
        >>> graph = make_topology("polarfly", {"q": 3})
        >>> graph.diameter, with_paths(graph, "up-down").diameter
        (2, 4)
        >>> with_paths(graph, OVER.default) is graph
        True
    """
    return topology if name == ALL_SHORTEST else PATH_SETS[name].restrict(topology)
