"""Registry of the path sets by their names on the command line: one line for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from routing.path_sets import coloured, common_ancestor, dimension_order, hierarchical, up_down
from topology.base import Topology
from topology.parameters import Parameter

ALL_SHORTEST = "min"


@dataclass(frozen=True)
class PathSet:
    """The definition of a path set.

    Attributes:
        restrict: (topology, values of `parameters` by key) -> the topology restricted to the paths of the
            set.
        summary: its paths, in one line.
        source: the publication that defines it.
        shortest: whether its paths are shortest paths.
        families: names of the families that have it; empty for any graph.
        parameters: its parameters.
    """

    restrict: Callable[..., Topology]
    summary: str
    source: str
    shortest: bool = False
    families: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()


PATH_SETS: Mapping[str, PathSet] = {
    hierarchical.NAME: PathSet(
        hierarchical.hierarchical_paths,
        "at most one global link, with local hops before and after (dragonfly)",
        "Kim et al., ISCA 2008, section 4.1",
        families=("dragonfly",),
    ),
    coloured.TWO_COLOR: PathSet(
        coloured.two_color_paths,
        "hierarchical over gateways of two colours, acyclic (dragonfly, trunking 2)",
        "after Camarero et al., TACO 2014, section 6",
        families=("dragonfly",),
    ),
    coloured.FOUR_COLOR: PathSet(
        coloured.four_color_paths,
        "hierarchical over gateways of four colours, acyclic (dragonfly, trunking 4)",
        "after Camarero et al., TACO 2014, section 6",
        families=("dragonfly",),
    ),
    dimension_order.NAME: PathSet(
        dimension_order.dimension_order_paths,
        "one dimension after another (hyperx, torus, hypercube)",
        "Dally and Towles, section 8.4.2",
        shortest=True,
        families=("hyperx", "torus", "hypercube"),
    ),
    common_ancestor.NAME: PathSet(
        common_ancestor.common_ancestor_paths,
        "up to a nearest common ancestor over any link, then down (networks with levels)",
        "Petrini and Vanneschi, IPPS 1997",
        shortest=True,
        families=("fat-tree", "megafly", "orthogonal-fat-tree", "multi-layer-full-mesh"),
    ),
    up_down.NAME: PathSet(
        up_down.up_down_paths,
        "toward a root, then away from it, on any graph",
        "Schroeder et al., JSAC 1991",
        parameters=(up_down.ROOT,),
    ),
}

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
