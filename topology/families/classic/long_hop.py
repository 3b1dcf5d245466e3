"""Long Hop networks: hypercubes with the links of an error-correcting code.

A router is an n-bit integer. A link joins two routers whose bitwise XOR is one of n + r masks: the n masks of
a single bit, as in a hypercube, and r masks of several bits. The masks are the columns of the generator
matrix of a linear code. Each code word divides the routers into two halves, by the parity of some of their
bits; a word with w ones has w N / 2 links between its halves. The eigenvalues of the graph show that no other
halves have fewer links between them than the halves of the lightest word. For a code of minimum distance d,
the bisection therefore has d N / 2 links.

Source: Tomic, "Network Throughput Optimization via Error Correcting Codes" (2013). The codes here are built
greedily, which gives shortened Hamming codes for d = 3; the paper uses the best codes from tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from topology.base import Adjacency, Routers, Topology
from topology.clusters import Clusters
from topology.errors import ParameterError
from topology.families.checks import check_integer
from topology.families.classic.hypercube import LARGEST_DIMENSION, subcubes
from topology.families.classic.product import nested_circles
from topology.families.family import Family, Member
from topology.layout import Layout
from topology.parameters import Parameter
from topology.shortest_paths import adjacency_from_links

_SMALLEST_DIMENSION = 3
SMALLEST_DISTANCE, LARGEST_DISTANCE = 3, 8


@cache
def code_rows(dimension: int, distance: int) -> tuple[int, ...]:
    """Returns a linear code as one row of check bits for each data bit.

    The number of check bits is the smallest for which the greedy choice of rows succeeds.

    Args:
        dimension: n, the number of data bits.
        distance: d, the minimum number of bits in which two code words differ.

    Returns:
        n rows, each an integer of r check bits. A code word is the n data bits followed by the XOR of the
        rows of all data bits that are 1.
    """
    if distance % 2 == 0:  # a parity bit over the whole word makes an odd distance even
        odd = code_rows(dimension, distance - 1)
        return tuple(row << 1 | 1 ^ row.bit_count() & 1 for row in odd)
    checks = distance - 1
    while len(rows := _greedy_rows(dimension, distance, checks)) < dimension:
        checks += 1
    return rows


def _greedy_rows(dimension: int, distance: int, checks: int) -> tuple[int, ...]:
    """Chooses the rows of a code greedily: each is the largest number that keeps the minimum distance.

    A row must not be the XOR of at most d - 2 other rows and single bits: together they would form a code
    word of at most d - 1 ones.

    Returns:
        n rows, integers of `checks` bits; fewer if no further row keeps the distance.
    """
    numbers = np.arange(1 << checks)
    # sums[i][x]: whether x is the XOR of at most i rows and single bits, for i = 0 .. d - 2.
    sums = [np.bitwise_count(numbers) <= most for most in range(distance - 1)]
    rows: list[int] = []
    while len(rows) < dimension and not sums[-1].all():
        row = int(np.flatnonzero(~sums[-1])[-1])
        rows.append(row)
        for most in range(distance - 2, 0, -1):
            sums[most] |= sums[most - 1][numbers ^ row]
    return tuple(rows)


@cache
def link_masks(dimension: int, distance: int) -> tuple[int, ...]:
    """Returns the masks of the links: a router is linked to its index XOR each mask.

    Args:
        dimension: n, the number of bits of a router's index.
        distance: d, the minimum distance of the code.

    Returns:
        n + r masks of n bits, ascending: the single bits, and for each check bit the data bits that it
        covers.
    """
    rows = code_rows(dimension, distance)
    checks = max(rows).bit_length()
    longer = [sum((row >> check & 1) << bit for bit, row in enumerate(rows)) for check in range(checks)]
    return tuple(sorted([*(1 << bit for bit in range(dimension)), *longer]))


class LongHop(Topology):
    """The Long Hop network of n bits and minimum distance d: 2^n routers with n + r links each.

    Router order: the bits of the router are those of its index, the highest one first.

    Attributes:
        masks: a router's neighbours are its index XOR each of these masks; ascending.
    """

    name = "long-hop"

    def __init__(self, dimension: int, distance: int = SMALLEST_DISTANCE) -> None:
        """Builds the graph.

        Args:
            dimension: n, from 3 to 14.
            distance: d, from 3 to 8.

        Raises:
            ParameterError: a number is outside its domain, or the code would join two routers by two links.
        """
        check_integer("dimension", dimension, _SMALLEST_DIMENSION, LARGEST_DIMENSION)
        check_integer("distance", distance, SMALLEST_DISTANCE, LARGEST_DISTANCE)
        self.masks = link_masks(dimension, distance)
        if not _is_simple(dimension, distance):
            most = max(d for d in range(SMALLEST_DISTANCE, distance) if _is_simple(dimension, d))
            raise ParameterError(
                f"distance for dimension {dimension} must be {SMALLEST_DISTANCE} to {most}, got {distance}: "
                "its code would join two routers by two links"
            )
        self.params = {"dimension": dimension, "distance": distance}
        self._dimension = dimension

    @property
    def routers(self) -> int:
        """N, 2^n."""
        return 1 << self._dimension

    @cached_property
    def adjacency(self) -> Adjacency:
        """The neighbour lists of all routers."""
        routers = np.arange(self.routers)
        both_ways = np.concatenate([np.stack([routers, routers ^ mask], axis=1) for mask in self.masks])
        return adjacency_from_links(self.routers, both_ways[both_ways[:, 0] < both_ways[:, 1]])

    @cached_property
    def hops(self) -> npt.NDArray[np.int16]:
        """int16 array, N: the distance in hops between two routers, indexed by the XOR of their indices."""
        hops = np.full(self.routers, -1, np.int16)
        hops[0] = 0
        newest, steps = np.zeros(1, np.int64), 0
        while len(newest):
            steps += 1
            around = np.unique(newest[:, None] ^ np.array(self.masks))
            newest = around[hops[around] < 0]
            hops[newest] = steps
        return hops

    def distances(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> npt.NDArray[np.int16]:
        """Returns the distance of each pair of routers.

        Args:
            sources: routers, integers of any shape.
            destinations: routers, integers of a shape that broadcasts with that of the sources.

        Returns:
            int16 array of the broadcast shape, in hops.
        """
        return np.asarray(self.hops[np.asarray(sources) ^ np.asarray(destinations)])

    def next_hops(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> Routers:
        """Returns the minimal next hop of each pair of routers: the lowest one on a shortest path.

        Args:
            sources: routers, integers of any shape.
            destinations: routers, integers of a shape that broadcasts with that of the sources.

        Returns:
            int32 array of the broadcast shape.
        """
        source, destination = np.broadcast_arrays(np.asarray(sources), np.asarray(destinations))
        sums_of_pairs = source ^ destination
        lowest = np.full(source.shape, self.routers, np.int64)
        for mask in self.masks:
            nearer = self.hops[sums_of_pairs ^ mask] < self.hops[sums_of_pairs]
            lowest = np.where(nearer, np.minimum(lowest, source ^ mask), lowest)
        return np.where(sums_of_pairs == 0, source, lowest).astype(np.int32)

    def pairs_by_distance(self) -> dict[int, int]:
        """Returns the number of ordered pairs of different routers at each distance.

        Returns:
            Distance in hops -> number of pairs, for every distance that occurs.
        """
        counts = np.bincount(self.hops)
        return {distance: self.routers * int(count) for distance, count in enumerate(counts) if distance}

    def minimal_port_mask(self, router: int) -> npt.NDArray[np.bool_]:
        """Returns, for each destination, the links of a router on which shortest paths start.

        Args:
            router: the router that forwards packets.

        Returns:
            bool array, links x N: entry [i, d] is true if a shortest path to d starts with link i.
        """
        everyone = np.arange(self.routers)
        return np.asarray(
            self.hops[self.neighbours(router)[:, None] ^ everyone] < self.hops[router ^ everyone]
        )

    def clusters(self) -> Clusters:
        """Returns the subcubes: sets of routers that share the upper half of their bits.

        Returns:
            2^floor(n / 2) clusters of 2^ceil(n / 2) routers.
        """
        return subcubes(self._dimension)

    def layout(self) -> Layout:
        """Returns a drawing of the subcubes, each a ring of routers; the rings are placed around one centre.

        Returns:
            A layout with one kind of routers.
        """
        positions = nested_circles([1 << self._dimension // 2, 1 << (self._dimension + 1) // 2])
        return Layout(positions, np.zeros(self.routers, np.int64), ("routers",))


def _is_simple(dimension: int, distance: int) -> bool:
    """Returns whether the Long Hop network of this dimension and distance has no parallel links."""
    masks = link_masks(dimension, distance)
    return len(set(masks)) == len(masks)


def _members() -> Iterator[Member]:
    """Yields the networks of all dimensions and distances, with one host per router."""
    for dimension in range(_SMALLEST_DIMENSION, LARGEST_DIMENSION + 1):
        for distance in range(SMALLEST_DISTANCE, LARGEST_DISTANCE + 1):
            if _is_simple(dimension, distance):
                params = {"dimension": dimension, "distance": distance}
                yield Member(params, len(link_masks(dimension, distance)), 2**dimension, 1)


FAMILY = Family(
    LongHop,
    (
        Parameter(
            name="dimension",
            type=int,
            help="dimension of the hypercube (n)",
            required=True,
            least=_SMALLEST_DIMENSION,
            most=LARGEST_DIMENSION,
        ),
        Parameter(
            name="distance",
            type=int,
            help="minimum distance of the code (d)",
            default=SMALLEST_DISTANCE,
            least=SMALLEST_DISTANCE,
            most=LARGEST_DISTANCE,
        ),
    ),
    "hypercube with the links of an error-correcting code: 2^n routers, bisection d 2^n / 2 links",
    "long-hop --dimension 5",
    "classic",
    members=_members,
)
