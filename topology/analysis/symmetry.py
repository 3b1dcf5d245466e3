"""Classes of routers under the automorphisms of a graph: all routers of a class see the same network.

An automorphism is a permutation of the routers that preserves the number of links between every two routers
and the number of hosts at every router. The classes are the orbits of all automorphisms, which BLISS
(Junttila and Kaski, ALENEX 2007) finds, through igraph.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topology.addressing import MAX_HOSTS
from topology.base import Topology
from topology.errors import ParameterError

# The slowest graphs are two-dimensional Hamming graphs: 8 s for 70 x 70 routers.
MAX_ROUTERS = 5000


@dataclass(frozen=True)
class RouterClasses:
    """Classes of the routers of a graph, sorted by descending size, then by lowest router.

    Attributes:
        class_of: int64 array, N: the class of each router.
        sizes: the number of routers of each class.
        representatives: the lowest router index of each class.
    """

    class_of: npt.NDArray[np.int64]
    sizes: tuple[int, ...]
    representatives: tuple[int, ...]


def router_classes(topology: Topology) -> RouterClasses:
    """Returns the classes of routers under the automorphisms of a graph.

    Args:
        topology: the graph, with at most 5,000 routers.

    Raises:
        ParameterError: the graph has more routers.
        ImportError: igraph is not installed.
    """
    if topology.routers > MAX_ROUTERS:
        raise ParameterError(
            f"number of routers must be at most {MAX_ROUTERS} for a search for router classes, "
            f"got {topology.routers}"
        )
    from scipy.sparse import coo_array  # slow to import
    from scipy.sparse.csgraph import connected_components

    routers = np.arange(topology.routers)
    images = automorphism_generators(topology)
    same = (np.ones(images.size), (np.tile(routers, len(images)), images.ravel()))
    count, labels = connected_components(coo_array(same, shape=(topology.routers, topology.routers)))
    _, first, sizes = np.unique(labels, return_index=True, return_counts=True)
    order = np.lexsort((first, -sizes))
    number = np.empty(count, np.int64)
    number[order] = np.arange(count)
    return RouterClasses(number[labels], tuple(sizes[order].tolist()), tuple(first[order].tolist()))


def automorphism_generators(topology: Topology) -> npt.NDArray[np.int64]:
    """Returns permutations of the routers that generate all automorphisms.

    Args:
        topology: the graph.

    Returns:
        int64 array, one row per generator: the image of every router.

    Raises:
        ImportError: igraph is not installed.
    """
    images = np.array([one[: topology.routers] for one in _generators(topology)], np.int64)
    return images.reshape(-1, topology.routers)


def _generators(topology: Topology) -> list[list[int]]:
    """Returns generators of the automorphism group: permutations whose first N entries are routers.

    BLISS treats parallel links as one. Therefore each set of parallel links becomes an extra vertex between
    its routers, coloured by the number of links; these vertices are numbered from N.
    """
    import igraph  # optional dependency

    links = Counter((link.a, link.b) for link in topology.link_list)
    several = [(ends, copies) for ends, copies in links.items() if copies > 1]
    edges = [ends for ends, copies in links.items() if copies == 1]
    for point, (ends, _) in enumerate(several, topology.routers):
        edges += [(end, point) for end in ends]
    colours = [*topology.host_counts(1).tolist(), *(MAX_HOSTS + copies for _, copies in several)]
    graph = igraph.Graph(len(colours), edges)
    generators: list[list[int]] = graph.automorphism_group(color=colours)
    return generators
