"""Worst case of minimal routing in networks of diameter 2: two routers' traffic on as many links as routers.

In a network of diameter 2 a packet takes the link from x to y only if x is its source or y its destination.
Under a permutation of routers with p hosts each, a link so carries the traffic of two routers at most: 2 p
packets in a packet time at full load. This pattern reaches the bound on N links. It is made of a permutation
s of the routers along links: router r sends to s(s(r)), over s(r) alone. The link from r to s(r) then carries
all of r's traffic, and all that comes to s(r). Minimal routing saturates at 1 / (2 p).

Source: derived here, after Besta and Hoefler, "Slim Fly" (SC14), section V-C, whose pattern limits minimal
routing to 1 / (p + 1).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from topology.base import Topology
from topology.errors import ParameterError
from traffic.workload.router_patterns import RouterIndices

_ATTEMPTS = 10
_ROUNDS = 60  # the sizes of the papers need up to 35
_NO_LINK = 1e6  # cost of a pair of routers without a link: more than all links of a permutation together


def worst_case(topology: Topology, routers: RouterIndices, generator: np.random.Generator) -> RouterIndices:
    """Returns, for each router r, s(s(r)) of a permutation s along links, over the only shortest path.

    The permutation is searched for: it has the least sum of random costs of links, and where r and s(s(r))
    are adjacent, equal or joined by several shortest paths, one of the two links becomes dearer.

    Args:
        topology: the graph of routers, of diameter 2.
        routers: indices of the routers with hosts, ascending; shape (N,).
        generator: source of the costs.

    Returns:
        int64 array, (N,): the index of the router that each of `routers` sends to.

    Raises:
        ParameterError: the diameter is not 2, a router has no hosts, or no permutation was found.
    """
    if topology.diameter != 2 or len(routers) < topology.routers:
        hosts = f"hosts at {len(routers)} of {topology.routers} routers"
        raise ParameterError(
            "pattern worst-case needs a network of diameter 2 with hosts at every router, got diameter "
            f"{topology.diameter} and {hosts} of {topology.name}; adv loads the links between groups"
        )
    distances = topology.distances(routers[:, None], routers[None, :])
    linked = distances == 1
    walks = linked.astype(np.float32) @ linked.astype(np.float32)
    only_path = (distances == 2) & (walks == 1)
    for _ in range(_ATTEMPTS if only_path.any(axis=1).all() else 0):
        following = _permutation_along_links(linked, only_path, generator)
        if following is not None:
            return following[following]
    raise ParameterError(
        "pattern worst-case needs a permutation of the routers over two links, the only shortest path; "
        f"none of {topology.name} was found; perm2hop is any permutation over two links"
    )


def _permutation_along_links(
    linked: npt.NDArray[np.bool_], only_path: npt.NDArray[np.bool_], generator: np.random.Generator
) -> RouterIndices | None:
    """Returns a permutation s along links of which every r to s(s(r)) is an only path; None if not found."""
    from scipy.optimize import linear_sum_assignment  # slow to import

    costs = np.where(linked, generator.random(linked.shape), _NO_LINK)
    everyone = np.arange(len(linked))
    for _ in range(_ROUNDS):
        following = linear_sum_assignment(costs)[1]
        if not linked[everyone, following].all():
            return None
        wrong = np.flatnonzero(~only_path[everyone, following[following]])
        if not len(wrong):
            return np.asarray(following, np.int64)
        starts = np.where(generator.random(len(wrong)) < 0.5, wrong, following[wrong])
        costs[starts, following[starts]] += generator.random(len(wrong))
    return None
