"""Router patterns: every router with hosts sends to one other router with hosts.

Such a pattern is a function in this module and an entry in `patterns.PATTERNS`. Routers without hosts neither
send nor receive: patterns are defined on the N routers with hosts, numbered in ascending order of their
indices. "Router i" in a definition (tornado, neighbour) refers to these numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from topology.base import Topology
from topology.clusters import Clusters
from topology.errors import ParameterError

RouterIndices = npt.NDArray[np.int64]

# (topology, indices of the routers with hosts, random generator, parameters by key) -> the router that each
# of them sends to
RouterPattern = Callable[..., RouterIndices]


def tornado(_topology: Topology, routers: RouterIndices, _generator: np.random.Generator) -> RouterIndices:
    """Returns router i + floor(N / 2) modulo N for each router i.

    Args:
        routers: indices of the routers with hosts, ascending; shape (N,), N at least 2.

    Returns:
        int64 array, (N,): the index of the router that each of `routers` sends to.

    Source:
        PolarFly (SC22), section VIII-A.
    """
    return np.roll(routers, -(len(routers) // 2))


def neighbour(_topology: Topology, routers: RouterIndices, _generator: np.random.Generator) -> RouterIndices:
    """Returns router i + 1 modulo N for each router i.

    Args:
        routers: indices of the routers with hosts, ascending; shape (N,), N at least 2.

    Returns:
        int64 array, (N,): the index of the router that each of `routers` sends to.

    Source:
        Dally and Towles, Principles and Practices of Interconnection Networks, table 3.1, in one dimension.
    """
    return np.roll(routers, -1)


def shift(
    _topology: Topology, routers: RouterIndices, _generator: np.random.Generator, *, by: int
) -> RouterIndices:
    """Returns router i + by modulo N for each router i.

    Args:
        routers: indices of the routers with hosts, ascending; shape (N,), N at least 2.
        by: distance in the order of the routers, at least 1 and not a multiple of N.

    Returns:
        int64 array, (N,): the index of the router that each of `routers` sends to.

    Raises:
        ParameterError: every router would send to itself.
    """
    if by % len(routers) == 0:
        raise ParameterError(
            "pattern shift: by must not be a multiple of the number of routers with hosts, "
            f"{len(routers)}, got {by}"
        )
    return np.roll(routers, -by)


def random_permutation(
    _topology: Topology, routers: RouterIndices, generator: np.random.Generator
) -> RouterIndices:
    """Returns a random permutation of the routers in which no router sends to itself.

    Args:
        routers: indices of the routers with hosts, ascending; shape (N,), N at least 2.
        generator: random generator; all permutations without fixed points are equally likely.

    Returns:
        int64 array, (N,): the index of the router that each of `routers` sends to.

    Source:
        PolarFly (SC22), section VIII-A.
    """
    while True:
        partners = generator.permutation(len(routers))
        if (partners != np.arange(len(routers))).all():
            return routers[partners]


def perm1hop(topology: Topology, routers: RouterIndices, generator: np.random.Generator) -> RouterIndices:
    """Returns a random permutation in which every router sends to a neighbour.

    Args:
        topology: the graph of routers.
        routers: indices of the routers with hosts, ascending; shape (N,), N at least 2.
        generator: random generator of the permutation.

    Returns:
        int64 array, (N,): the index of the router that each of `routers` sends to.

    Raises:
        ParameterError: no such permutation of the routers with hosts exists.

    Source:
        PolarFly (SC22), section VIII-A.
    """
    return _permutation_at_distance(topology, routers, generator, 1)


def perm2hop(topology: Topology, routers: RouterIndices, generator: np.random.Generator) -> RouterIndices:
    """Returns a random permutation in which every router sends to one at distance 2.

    Args:
        topology: the graph of routers.
        routers: indices of the routers with hosts, ascending; shape (N,), N at least 2.
        generator: random generator of the permutation.

    Returns:
        int64 array, (N,): the index of the router that each of `routers` sends to.

    Raises:
        ParameterError: no such permutation of the routers with hosts exists.

    Source:
        PolarFly (SC22), section VIII-A.
    """
    return _permutation_at_distance(topology, routers, generator, 2)


def _permutation_at_distance(
    topology: Topology, routers: RouterIndices, generator: np.random.Generator, distance: int
) -> RouterIndices:
    """Returns a random permutation in which each router sends to one at the given distance.

    It is a perfect matching of sources and destinations, found with the Hopcroft-Karp algorithm on randomly
    renumbered routers.
    """
    import networkx as nx  # slow to import, and not needed by traffic processes

    count = len(routers)
    at_distance = topology.distances(routers[:, None], routers[None, :]) == distance
    rows, columns = generator.permutation(count), generator.permutation(count)
    graph = nx.Graph()
    graph.add_nodes_from(range(2 * count))
    edges = np.argwhere(at_distance[rows][:, columns])
    graph.add_edges_from((int(s), int(d) + count) for s, d in generator.permutation(edges))
    matching = nx.bipartite.hopcroft_karp_matching(graph, top_nodes=range(count))
    if len(matching) < 2 * count:
        raise ParameterError(
            f"pattern perm{distance}hop requires a permutation that maps each router with hosts to one at "
            f"distance {distance}; {topology.name} has none"
        )
    partners = np.empty(count, np.int64)
    for place in range(count):
        partners[rows[place]] = routers[columns[matching[place] - count]]
    return partners


def adversarial(topology: Topology, routers: RouterIndices, generator: np.random.Generator) -> RouterIndices:
    """Returns a permutation in which each cluster sends to one other cluster, over long minimal paths.

    Clusters, and the routers within matched clusters, are matched so that the sum of distances is maximal.
    Routers without hosts are ignored.

    Args:
        topology: the graph of routers; its clusters are the groups of the pattern.
        routers: indices of the routers with hosts, ascending; shape (N,).
        generator: random generator of the clusters' order, which breaks ties between equal sums.

    Returns:
        int64 array, (N,): the index of the router that each of `routers` sends to.

    Raises:
        ParameterError: the routers with hosts are not divided into two or more clusters of equal size.

    Source:
        PolarStar, section 9.6.
    """
    from scipy.optimize import linear_sum_assignment  # slow to import

    groups = _equal_groups(topology, routers, "adversarial")
    order = generator.permutation(len(groups))
    scores = np.full((len(groups), len(groups)), -1.0)
    matched = {}
    for u, v in np.argwhere(~np.eye(len(groups), dtype=bool)).tolist():
        distances = topology.distances(groups[order[u]][:, None], groups[order[v]])
        matched[u, v] = linear_sum_assignment(distances, maximize=True)
        scores[u, v] = distances[matched[u, v]].sum()
    partners = np.empty(topology.routers, np.int64)
    for u, v in zip(*linear_sum_assignment(scores, maximize=True), strict=True):
        rows, columns = matched[int(u), int(v)]
        partners[groups[order[u]][rows]] = groups[order[v]][columns]
    return partners[routers]


def next_groups(
    topology: Topology, routers: RouterIndices, _generator: np.random.Generator, *, by: int
) -> RouterIndices:
    """Returns, for each router of group g, the router at the same position in group g + by (cyclic order).

    All minimal paths from a group share its links to one other group: the worst case of a dragonfly. Routers
    without hosts are ignored.

    Args:
        topology: the graph of routers; its clusters are the groups.
        routers: indices of the routers with hosts, ascending; shape (N,).
        by: distance in the order of the groups, at least 1 and not a multiple of their number.

    Returns:
        int64 array, (N,): the index of the router that each of `routers` sends to.

    Raises:
        ParameterError: every router would send to itself, or the routers with hosts are not divided into two
            or more clusters of equal size.

    Source:
        Kim et al., "Technology-Driven, Highly-Scalable Dragonfly Topology" (ISCA 2008), section 4.3; `adv:h`:
        Garcia et al., "OFAR" (ICPP 2012), section III.
    """
    groups = np.stack(_equal_groups(topology, routers, "adv"))
    if by % len(groups) == 0:
        raise ParameterError(
            f"pattern adv: by must not be a multiple of the number of groups, {len(groups)}, got {by}"
        )
    return _between_groups(topology, routers, groups, np.roll(groups, -by, axis=0))


def group_permutation(
    topology: Topology, routers: RouterIndices, generator: np.random.Generator
) -> RouterIndices:
    """Returns, for each router, the router at the same position in its group's partner group.

    The partners are a random permutation of the groups; no group is its own partner.

    Args:
        topology: the graph of routers; its clusters are the groups.
        routers: indices of the routers with hosts, ascending; shape (N,).
        generator: random generator of the permutation.

    Returns:
        int64 array, (N,): the index of the router that each of `routers` sends to.

    Raises:
        ParameterError: the routers with hosts are not divided into two or more clusters of equal size.
    """
    groups = np.stack(_equal_groups(topology, routers, "group-permutation"))
    numbers = np.arange(len(groups))
    partners = random_permutation(topology, numbers, generator)
    return _between_groups(topology, routers, groups, groups[partners])


def _between_groups(
    topology: Topology, routers: RouterIndices, groups: RouterIndices, partners: RouterIndices
) -> RouterIndices:
    """Returns the router that each of `routers` sends to.

    Args:
        topology: the graph of routers.
        routers: indices of the routers with hosts, ascending; shape (N,).
        groups: indices of the routers of each group; shape (groups, positions).
        partners: indices of the routers to which the routers in `groups` send; same shape.
    """
    partner_of = np.empty(topology.routers, np.int64)
    partner_of[groups] = partners
    return partner_of[routers]


def _equal_groups(topology: Topology, routers: RouterIndices, pattern: str) -> list[RouterIndices]:
    """Returns one array per cluster with the indices of its routers that have hosts.

    Raises:
        ParameterError: there are fewer than two such clusters, or their sizes differ.
    """
    hosting = set(routers.tolist())
    members = (tuple(filter(hosting.__contains__, cluster)) for cluster in topology.clusters().members)
    groups = Clusters(tuple(filter(None, members))).equal_partition(len(routers))
    if len(groups) < 2:
        raise ParameterError(
            f"pattern {pattern} requires routers with hosts in two or more clusters of equal size; "
            f"{topology.name} has none"
        )
    return [np.array(group) for group in groups]
