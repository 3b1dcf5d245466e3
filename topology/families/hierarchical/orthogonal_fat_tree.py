"""Two-level orthogonal fat trees: two sets of leaves over the lines of a projective plane.

The plane of order q has q^2 + q + 1 points and as many lines. Each point represents one leaf in the left and
one in the right half, each line a spine; a leaf is linked to the q + 1 lines through its point. Any two
points have exactly one line in common, so there is one path of two hops between leaves of different points,
and there are q + 1 between the two leaves of a point.

Points and lines are those of PG(2, q) in the order of PolarFly's vectors: a point is on a line if the dot
product of their vectors is 0.

Source: Valerio, Moser, Melliar-Smith, "Recursively Scalable Fat-Trees as Interconnection Networks" (IPCCC
1994); Kathareios, Minkenberg, Prisacari, Rodriguez, Hoefler, "Cost-Effective Diameter-Two Topologies:
Analysis and Evaluation" (SC15): with k = q + 1, R = 3 (k^2 - k + 1) routers of radix 2 k.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from topology.families.family import Family, Member, order_parameter
from topology.families.hierarchical.levels import LevelledTopology
from topology.families.low_diameter.polarfly import PolarFly
from topology.finite_fields.prime_powers import check_order, prime_power
from topology.layout import Layout, in_rows
from topology.shortest_paths import adjacency_from_links

# 3 (q^2 + q + 1) routers must not exceed MAX_ROUTERS.
SMALLEST_Q, LARGEST_Q = 2, 73


class OrthogonalFatTree(LevelledTopology):
    """The two-level orthogonal fat tree of order q: 3 (q^2 + q + 1) routers, diameter 2 between leaves.

    Router order: with m = q^2 + q + 1, the left leaf of point i has index i, the right one m + i, and line i
    has index 2 m + i. A full tree has q + 1 hosts at each leaf.

    Attributes:
        q: the order of the plane.
        level_of: int64 array, N: 0 for leaves, 1 for spines.
    """

    name = "orthogonal-fat-tree"
    level_names = ("leaves", "spines")

    def __init__(self, q: int) -> None:
        """Builds the tree.

        Args:
            q: a prime power from 2 to 73.

        Raises:
            ParameterError: q is outside its domain; the message names the nearest valid values.
        """
        check_order(q, SMALLEST_Q, LARGEST_Q)
        self.q = q
        self.params = {"q": q}
        plane = PolarFly(q)
        size = plane.routers
        self.level_of = np.repeat([0, 0, 1], size)
        everyone = np.arange(size)
        points, lines = np.nonzero(plane.dot(everyone[:, None], everyone) == 0)
        links = [np.stack([half * size + points, 2 * size + lines], axis=1) for half in range(2)]
        super().__init__(adjacency_from_links(3 * size, np.concatenate(links)))

    def layout(self) -> Layout:
        """Returns three rows: left leaves, spines, right leaves.

        Returns:
            A layout whose kinds are spines and leaves.
        """
        size = self.routers // 3
        rows = [range(size), range(2 * size, 3 * size), range(size, 2 * size)]
        positions = in_rows(rows, self.routers, float(size), size / 3)
        return Layout(positions, 1 - self.level_of, ("spines", "leaves"), rows=True)


def _members() -> Iterator[Member]:
    """Yields the full trees of all orders, with q + 1 hosts at each leaf."""
    for q in filter(prime_power, range(SMALLEST_Q, LARGEST_Q + 1)):
        plane = q * q + q + 1
        yield Member({"q": q}, 2 * (q + 1), 3 * plane, q + 1, 2 * plane)


FAMILY = Family(
    OrthogonalFatTree,
    (order_parameter(SMALLEST_Q, LARGEST_Q),),
    "two-level tree over a projective plane: 3 (q^2 + q + 1) routers, 2 hops between leaves",
    "orthogonal-fat-tree --q 3",
    "hierarchical",
    members=_members,
)
