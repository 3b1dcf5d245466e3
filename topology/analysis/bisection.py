"""Bisection: a search for two halves of the routers with hosts that have few links between them.

Routers without hosts, such as the upper ones of a fat tree, are placed on the side that cuts fewer links. The
search does not prove a minimum; its result is an upper bound on the bisection width. It makes Kernighan-Lin
passes from halves in router order and along smooth random vectors. If METIS is installed (extra `paper`),
METIS searches, too, and the better halves are used. In families with structure, such as PolarStar, METIS
finds worse halves than these passes.

Source: Kernighan and Lin, "An Efficient Heuristic Procedure for Partitioning Graphs" (1970); Karypis and
Kumar, "A Fast and High Quality Multilevel Scheme for Partitioning Irregular Graphs" (1998).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from topology.base import Topology

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # importing it takes a tenth of a second

METIS, OWN = "METIS", "Kernighan-Lin"
_SMOOTHING = 30  # steps of a random walk
_MAX_PASSES = 50
_PATIENCE = 0.15  # share of the routers that a pass moves without improvement before it stops

# Two sets of routers: bool array, N, the set of each router. `hosting` below: which routers have hosts.
Sides = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Bisection:
    """Two halves of the routers with hosts, and the links between these halves.

    Attributes:
        cut: number of links between the halves, counting parallel links individually.
        links: number of all links.
        halves: number of routers with hosts in each half, the larger first.
        method: METIS or OWN (Kernighan-Lin).
        seeds: number of searches per method; this bisection is the best of them all.
    """

    cut: int
    links: int
    halves: tuple[int, int]
    method: str
    seeds: int

    @property
    def share(self) -> float:
        """The share of cut links, 0 to 1."""
        return self.cut / self.links


def metis_found() -> bool:
    """Returns whether METIS is installed (a suitable version of pymetis, from the extra `paper`)."""
    try:
        from pymetis import CSRAdjacency  # noqa: F401
    except Exception:  # its library may be missing or built for another machine
        return False
    return True


def search_remark() -> str:
    """Returns a note that METIS is not installed and what is used instead; empty if it is installed."""
    if metis_found():
        return ""
    return (
        "METIS is not installed, so only Kernighan-Lin passes search for halves; "
        "to add it: pip install 'polarlab[paper]' (x86-64)"
    )


def bisect(topology: Topology, seeds: int = 8, method: str | None = None) -> Bisection:
    """Returns the best bisection found by several searches.

    Args:
        topology: the graph, with at least 2 routers.
        seeds: the number of searches per method, at least 1.
        method: METIS or OWN; None for both if METIS is installed, else OWN.

    Returns:
        The bisection with the fewest links between its halves, which differ by at most 1 router with hosts.

    Source:
        PolarFly (SC22), Fig 12: the share of links between the halves found by METIS. Slim Fly (SC14), Fig
        5c: halves of the endpoints; a fat tree of N endpoints has N / 2 links between them.
    """
    weights = link_weights(topology)
    hosting = topology.host_counts(1) > 0
    methods = [method] if method else [METIS, OWN] if metis_found() else [OWN]
    sides = {name: _best_side(weights, hosting, name, seeds) for name in methods}
    chosen = min(methods, key=lambda name: cut_links(weights, sides[name]))
    size = int(np.count_nonzero(sides[chosen][hosting]))
    others = int(np.count_nonzero(hosting)) - size
    halves = max(size, others), min(size, others)
    return Bisection(cut_links(weights, sides[chosen]), topology.links, halves, chosen, seeds)


def _best_side(weights: csr_matrix, hosting: Sides, method: str, seeds: int) -> Sides:
    """Runs one search per seed with one method, and returns the halves with the fewest links between them."""
    search: Callable[[csr_matrix, Sides, int], Sides] = _metis_sides if method == METIS else _pass_sides
    candidates = [_place_hostless(weights, hosting, search(weights, hosting, seed)) for seed in range(seeds)]
    halved = (side for side in candidates if is_halved(side[hosting]))
    return min(halved, key=lambda side: cut_links(weights, side))


def _place_hostless(weights: csr_matrix, hosting: Sides, side: Sides) -> Sides:
    """Divides the routers without hosts so that the fewest links are cut, by a maximum flow.

    The routers with hosts stay on their sides. Source: Ford and Fulkerson, "Maximal Flow through a Network"
    (1956).
    """
    if hosting.all():
        return side
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    routers, links = len(side), weights.tocoo()
    source, sink = routers, routers + 1
    unlimited = int(weights.sum()) + 1
    ends = [np.flatnonzero(hosting & side), np.flatnonzero(hosting & ~side)]
    rows = np.concatenate([links.row, np.full(len(ends[0]), source), ends[1]])
    columns = np.concatenate([links.col, ends[0], np.full(len(ends[1]), sink)])
    limits = np.concatenate([links.data, np.full(len(ends[0]) + len(ends[1]), unlimited)]).astype(np.int32)
    capacities = coo_matrix((limits, (rows, columns)), shape=(routers + 2, routers + 2)).tocsr()
    left = capacities - maximum_flow(capacities, source, sink).flow
    left.eliminate_zeros()
    reachable = np.zeros(routers + 2, bool)
    reachable[breadth_first_order(left, source, return_predecessors=False)] = True
    return reachable[:routers]


def link_weights(topology: Topology) -> csr_matrix:
    """Returns the number of links between each pair of routers.

    Args:
        topology: the graph.

    Returns:
        Sparse float64 matrix, N x N, symmetric.
    """
    from scipy.sparse import csr_matrix

    starts, neighbours = topology.adjacency.starts, topology.adjacency.neighbours
    shape = topology.routers, topology.routers
    weights = csr_matrix((np.ones(len(neighbours)), neighbours.astype(np.int64), starts), shape=shape)
    weights.sum_duplicates()
    return weights


def cut_links(weights: csr_matrix, side: Sides) -> int:
    """Returns the number of links between the two sets of routers.

    Args:
        weights: the number of links between each pair, N x N.
        side: bool array, N: the set of each router.
    """
    return int((weights @ side.astype(float))[~side].sum())


def is_halved(side: Sides) -> bool:
    """Returns whether the sizes of two sets differ by at most 1 router.

    Args:
        side: bool array, N: the set of each router.
    """
    return abs(2 * int(np.count_nonzero(side)) - len(side)) <= 1


def _metis_sides(weights: csr_matrix, hosting: Sides, seed: int) -> Sides:
    """Returns the halves found by METIS, after moving routers if the sizes differ by more than 1."""
    import pymetis

    adjacency: Any = pymetis.CSRAdjacency(weights.indptr.tolist(), weights.indices.tolist())
    _, parts = pymetis.part_graph(
        2,
        adjacency=adjacency,
        eweights=weights.data.astype(int).tolist(),
        **({} if hosting.all() else {"vweights": hosting.astype(int).tolist()}),
        recursive=True,
        options=pymetis.Options(ufactor=1, seed=seed),
    )
    return _balanced(weights, hosting, np.asarray(parts) == 1)


def _balanced(weights: csr_matrix, hosting: Sides, side: Sides) -> Sides:
    """Returns the sets after moving routers with hosts to the smaller set until sizes differ by at most 1."""
    side = side.copy()
    while not is_halved(side[hosting]):
        larger = 2 * int(np.count_nonzero(side[hosting])) > int(np.count_nonzero(hosting))
        outside = weights @ (side != larger).astype(float)
        inside = weights @ (side == larger).astype(float)
        side[np.where(hosting & (side == larger), outside - inside, -np.inf).argmax()] = not larger
    return side


def _pass_sides(weights: csr_matrix, hosting: Sides, seed: int) -> Sides:
    """Returns halves after Kernighan-Lin passes, repeated until a pass changes nothing.

    The first search starts from router order, which reflects the structure of many families (slabs of tori,
    groups of dragonflies); the others start along a smooth random vector.
    """
    places = _smooth_vector(weights, np.random.default_rng(seed)) if seed else np.arange(weights.shape[0])
    middle = int(np.count_nonzero(hosting)) // 2
    side: Sides = places >= np.partition(places[hosting], middle)[middle]
    for _ in range(_MAX_PASSES):
        side = _place_hostless(weights, hosting, side)
        if not _improve(weights, hosting, side):
            break
    return side


def _smooth_vector(weights: csr_matrix, random: np.random.Generator) -> npt.NDArray[np.float64]:
    """Returns a random vector smoothed by a random walk, one entry per router."""
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    vector = random.standard_normal(len(degrees))
    for _ in range(_SMOOTHING):
        vector -= degrees @ vector / degrees.sum()
        vector = (vector + (weights @ vector) / degrees) / 2
    return vector


def _improve(weights: csr_matrix, hosting: Sides, side: Sides) -> bool:
    """Makes one Kernighan-Lin pass on `side`, in place; returns whether it reduced the number of cut links.

    Only routers with hosts are swapped.
    """
    signs = np.where(side, 1.0, -1.0)
    gains = -signs * (weights @ signs)  # links to the other half minus links to the own half
    free = [np.where(hosting & (side == which), gains, -np.inf) for which in (False, True)]
    swaps: list[tuple[int, int]] = []
    total, best, kept = 0.0, 0.0, 0
    patience = max(20, int(_PATIENCE * len(side)))
    for _ in range(int(np.count_nonzero(hosting)) // 2):
        pair = []
        for which in (False, True):
            router = int(free[which].argmax())
            total += free[which][router]
            row = slice(weights.indptr[router], weights.indptr[router + 1])
            around, change = weights.indices[row], 2 * weights.data[row]
            free[which][router] = -np.inf
            free[which][around] += change
            free[not which][around] -= change
            pair.append(router)
        swaps.append((pair[0], pair[1]))
        if total > best:
            best, kept = total, len(swaps)
        elif len(swaps) - kept > patience:
            break
    for a, b in swaps[:kept]:
        side[a], side[b] = True, False
    return kept > 0
