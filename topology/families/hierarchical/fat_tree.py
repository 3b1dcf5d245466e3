"""Fat trees: k-ary n-trees, with distances by a formula.

A k-ary n-tree has n levels of k^(n - 1) routers, each a word of n - 1 digits below k. A link joins routers of
levels l and l + 1 whose words differ at most in digit l. Level 0 is the edge, whose routers have the hosts.

A path can change digit l only between levels l and l + 1. The shortest path between two routers therefore
visits the lowest and the highest level that are required by the differing digits and by the levels of both
routers.

Source: Petrini, Vanneschi, "k-ary n-trees: High Performance Networks for Massively Parallel Architectures"
(IPPS 1997) (levels counted from the edge here); the distances follow from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from topology.addressing import MAX_HOSTS
from topology.base import Adjacency, Routers, Topology
from topology.clusters import Clusters
from topology.families.checks import check_integer, check_routers_of
from topology.families.family import Family, Member
from topology.families.hierarchical.levels import rows_by_level
from topology.layout import Layout
from topology.parameters import Parameter
from topology.shortest_paths import adjacency_from_links


class FatTree(Topology):
    """The k-ary n-tree: n k^(n - 1) routers, and k^n hosts if each edge router has k.

    Router order: the router of level l with the digits w, digit n - 2 first, has index l k^(n - 1) + w.
    On a minimal route between edge routers, a packet may take any upward link, but only one downward link.

    Attributes:
        arity: k, the number of links of a router to the next level, and to the previous level.
        levels: n, the number of levels.
        level_of: int64 array, N: the level of each router, 0 at the edge.
    """

    name = "fat-tree"

    def __init__(self, arity: int, levels: int) -> None:
        """Builds the tree.

        Args:
            arity: k, at least 2.
            levels: n, at least 2.

        Raises:
            ParameterError: a parameter is outside its domain, or the tree has more than 16384 routers.
        """
        check_integer("arity", arity, 2)
        check_integer("levels", levels, 2, 14)
        check_routers_of("a fat-tree", "arity", arity, lambda k: levels * k ** (levels - 1))
        self.arity, self.levels = arity, levels
        self.params = {"arity": arity, "levels": levels}
        self.level_of = np.repeat(np.arange(levels), self.width)

    @property
    def width(self) -> int:
        """The number of routers per level, k^(n - 1)."""
        return int(self.arity ** (self.levels - 1))

    @property
    def routers(self) -> int:
        """N, the number of routers on all levels."""
        return self.levels * self.width

    @cached_property
    def digits(self) -> npt.NDArray[np.int64]:
        """int64 array, N x (n - 1): the digits of each router; digit l changes between levels l and l + 1."""
        word = np.arange(self.routers) % self.width
        return word[:, None] // self.arity ** np.arange(self.levels - 1) % self.arity

    def host_counts(self, hosts_per_router: int) -> npt.NDArray[np.int64]:
        """Returns the number of hosts attached to each router.

        Args:
            hosts_per_router: p, the number of hosts at each edge router; at least 1; k in a full tree.

        Returns:
            int64 array, N: p at the edge, else 0.
        """
        return np.where(self.level_of == 0, hosts_per_router, 0)

    @cached_property
    def adjacency(self) -> Adjacency:
        """The neighbour lists of all routers."""
        lower = np.flatnonzero(self.level_of < self.levels - 1)
        level = self.level_of[lower]
        digit, place = self.digits[lower, level], self.arity**level
        above = lower + self.width - digit * place
        upper = above[:, None] + np.arange(self.arity) * place[:, None]
        links = np.stack([np.broadcast_to(lower[:, None], upper.shape), upper], axis=-1)
        return adjacency_from_links(self.routers, links.reshape(-1, 2))

    def distances(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> npt.NDArray[np.int16]:
        """Returns the distance of each pair of routers.

        Args:
            sources: routers, integers of any shape.
            destinations: routers, integers of a shape that broadcasts with that of the sources.

        Returns:
            int16 array of the broadcast shape, in hops.
        """
        up_first, down_first = self._lengths(sources, destinations)
        return np.minimum(up_first, down_first).astype(np.int16)

    def next_hops(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> Routers:
        """Returns the minimal next hop of each pair of routers: the lowest one on a shortest path.

        Args:
            sources: routers, integers of any shape.
            destinations: routers, integers of a shape that broadcasts with that of the sources.

        Returns:
            int32 array of the broadcast shape.
        """
        source, destination = np.broadcast_arrays(np.asarray(sources), np.asarray(destinations))
        nearer = self.distances(source, destination) - 1
        hops = source.astype(np.int64)
        # Candidates in descending order of index: the last one on a shortest path is the lowest. Among the
        # neighbours without the destination's digit, only the lowest (digit 0) needs a check.
        for upward, own_digit in ((True, True), (True, False), (False, True), (False, False)):
            onward = self._neighbour(source, destination, upward, own_digit)
            hops = np.where(self.distances(onward, destination) == nearer, onward, hops)
        return hops.astype(np.int32)

    def _neighbour(
        self,
        source: npt.NDArray[np.integer],
        destination: npt.NDArray[np.integer],
        upward: bool,
        own_digit: bool,
    ) -> npt.NDArray[np.int64]:
        """Returns one neighbour of each source router, on the level above or below.

        The digit that this link changes becomes the destination's digit if `own_digit` is true, else 0. For a
        router without a level above (or below), the router itself is returned.
        """
        level = self.level_of[source]
        exists = level < self.levels - 1 if upward else level > 0
        changed = np.clip(level if upward else level - 1, 0, self.levels - 2)
        here = self.digits[source, changed]
        there = self.digits[destination, changed] if own_digit else 0
        onward = source + (self.width if upward else -self.width) + (there - here) * self.arity**changed
        return np.where(exists, onward, source)

    def _range(
        self, source: npt.NDArray[np.integer], destination: npt.NDArray[np.integer]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Returns (lowest level, highest level) that a shortest path must visit, for each pair of routers."""
        first, last = self.level_of[source], self.level_of[destination]
        low, high = np.minimum(first, last), np.maximum(first, last)
        for place in range(self.levels - 1):
            differs = self.digits[source, place] != self.digits[destination, place]
            low = np.where(differs, np.minimum(low, place), low)
            high = np.where(differs, np.maximum(high, place + 1), high)
        return low, high

    def _lengths(
        self, sources: npt.ArrayLike, destinations: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Returns, in hops, the lengths of two paths between each pair of routers.

        The first path climbs to its highest level before it descends to its lowest; the second path visits
        its lowest level first. The shorter of both is a shortest path.
        """
        source, destination = np.broadcast_arrays(np.asarray(sources), np.asarray(destinations))
        first, last = self.level_of[source], self.level_of[destination]
        low, high = self._range(source, destination)
        span = high - low
        return (high - first) + span + (last - low), (first - low) + span + (high - last)

    def pairs_by_distance(self) -> dict[int, int]:
        """Returns the number of ordered pairs of different routers at each distance.

        Returns:
            Distance in hops -> number of pairs, for every distance that occurs.
        """
        counts = np.zeros(4 * self.levels, np.int64)
        # Shifting all digits is an automorphism, so one router represents its level.
        for level in range(self.levels):
            reached = self.distances(level * self.width, np.arange(self.routers))
            counts += self.width * np.bincount(reached, minlength=len(counts))
        return {distance: int(count) for distance, count in enumerate(counts) if distance and count}

    def minimal_port_mask(self, router: int) -> npt.NDArray[np.bool_]:
        """Returns, for each destination, the links of a router on which shortest paths start.

        Args:
            router: the router that forwards packets.

        Returns:
            bool array, links x N: entry [i, d] is true if a shortest path to d starts with link i.
        """
        everyone = np.arange(self.routers)
        around = self.neighbours(router)[:, None]
        return np.asarray(self.distances(around, everyone) < self.distances(router, everyone))

    def clusters(self) -> Clusters:
        """Returns the subtrees below the top level.

        Returns:
            k clusters of (n - 1) k^(n - 2) routers; the routers of the top level are in none.
        """
        size = self.width // self.arity
        members = np.arange((self.levels - 1) * self.width).reshape(self.levels - 1, self.arity, size)
        return Clusters(
            tuple(tuple(members[:, tree].ravel().tolist()) for tree in range(self.arity)),
            f"subtrees of {(self.levels - 1) * size} routers",
        )

    def layout(self) -> Layout:
        """Returns the levels as rows, the edge at the bottom.

        Returns:
            A layout whose kinds are the levels, the top one first.
        """
        middle = (f"routers of level {level}" for level in range(1, self.levels - 1))
        return rows_by_level(self.level_of, ("edge routers", *middle, "top routers"))


def _members() -> Iterator[Member]:
    """Yields the full trees of two and three levels, with k hosts at each edge router."""
    for levels in (2, 3):
        for arity in range(2, MAX_HOSTS + 1):
            width = arity ** (levels - 1)
            radix = arity if levels == 2 else 2 * arity
            yield Member({"arity": arity, "levels": levels}, radix, levels * width, arity, width)


FAMILY = Family(
    FatTree,
    (
        Parameter(
            name="arity",
            type=int,
            help="links of a router to the next level (k)",
            required=True,
            least=2,
            most=8192,
        ),
        Parameter(name="levels", type=int, help="levels of routers (n)", required=True, least=2, most=14),
    ),
    "k-ary n-tree: n k^(n-1) routers, hosts at the edge, at most 2 (n - 1) hops between them",
    "fat-tree --arity 4 --levels 3",
    "hierarchical",
    members=_members,
)
