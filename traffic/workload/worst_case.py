"""Worst case of minimal routing in networks of diameter 2: N links that each carry two routers' traffic.

In a network of diameter 2, a packet takes the link from x to y only if x is its source or y its destination.
Under a permutation of routers with p hosts each, a link therefore carries the traffic of at most two routers:
2 p packets per packet time at full load. This pattern reaches the bound on N links. It uses a permutation s
of the routers along links: router r sends to s(s(r)), and the only shortest path is via s(r). The link
from r to s(r) then carries all traffic from r and all traffic to s(r), and minimal routing saturates at
1 / (2 p).

Source: derived for PolarLab from Besta and Hoefler, "Slim Fly" (SC14), section V-C, whose pattern limits
minimal routing to 1 / (p + 1).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from topology.base import Topology
from topology.errors import ParameterError
from traffic.workload.router_patterns import RouterIndices

_ATTEMPTS = 10
_ROUNDS = 60  # changes of costs per attempt; the papers' networks need up to 35
_NO_LINK = 1e6  # cost of a pair of routers without a link, above the cost of any permutation along links


def worst_case(topology: Topology, routers: RouterIndices, generator: np.random.Generator) -> RouterIndices:
    """Returns s(s(r)) for each router r, where s is a permutation along links (see the module's docstring).

    The search assigns random costs to links and computes the permutation of minimum cost. Where r and s(s(r))
    are adjacent, equal or connected by several shortest paths, it raises the cost of one of the two links and
    tries again.

    Args:
        topology: the graph of routers, of diameter 2.
        routers: indices of the routers with hosts, ascending; shape (N,).
        generator: random generator of the costs.

    Returns:
        int64 array, (N,): the index of the router that each of `routers` sends to.

    Raises:
        ParameterError: the diameter is not 2, a router has no hosts, or no permutation was found.
    """
    if topology.diameter != 2 or len(routers) < topology.routers:
        hosts = f"hosts at {len(routers)} of {topology.routers} routers"
        raise ParameterError(
            "pattern worst-case requires a network of diameter 2 with hosts at every router, got diameter "
            f"{topology.diameter} and {hosts} of {topology.name}; for networks of groups, use pattern adv"
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
        "pattern worst-case requires a permutation of routers at distance 2 with unique shortest paths; "
        f"none was found in {topology.name}; pattern perm2hop allows several shortest paths"
    )


def _permutation_along_links(
    linked: npt.NDArray[np.bool_], only_path: npt.NDArray[np.bool_], generator: np.random.Generator
) -> RouterIndices | None:
    """Searches for a permutation s along links such that each r has a unique shortest path to s(s(r)).

    Returns:
        Index of s(r) for each r; shape (routers,). None if no such permutation was found.
    """
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
