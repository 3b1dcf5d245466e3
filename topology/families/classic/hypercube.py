"""Hypercubes: products of single links.

Source: Dally, Towles, "Principles and Practices of Interconnection Networks" (2004), section 5.1: 2-ary
n-cubes.
"""

from __future__ import annotations

from collections.abc import Iterator

from topology.clusters import Clusters, consecutive_clusters
from topology.families.checks import check_integer
from topology.families.classic.product import CartesianProduct, ring_factor
from topology.families.family import Family, Member
from topology.parameters import Parameter

LARGEST_DIMENSION = 14  # 2^14 is MAX_ROUTERS


class Hypercube(CartesianProduct):
    """The hypercube of dimension n: 2^n routers, linked if their indices differ in exactly one bit.

    Router order: the coordinates are the bits of the index, the highest one first.
    """

    name = "hypercube"

    def __init__(self, dimension: int) -> None:
        """Builds the graph.

        Args:
            dimension: n, from 1 to 14.

        Raises:
            ParameterError: the dimension is outside its domain.
        """
        check_integer("dimension", dimension, 1, LARGEST_DIMENSION)
        self.params = {"dimension": dimension}
        super().__init__([ring_factor(2)] * dimension)

    def clusters(self) -> Clusters:
        """Returns the subcubes: sets of routers that share the upper half of their bits.

        Returns:
            2^floor(n / 2) clusters of 2^ceil(n / 2) routers; none for n = 1.
        """
        return subcubes(len(self.shape))


def subcubes(dimension: int) -> Clusters:
    """Returns the sets of numbers that share the upper half of their bits.

    Args:
        dimension: n, the number of bits.

    Returns:
        2^floor(n / 2) clusters of 2^ceil(n / 2) routers; none for n = 1.
    """
    if dimension == 1:
        return Clusters()
    size = 2 ** ((dimension + 1) // 2)
    return consecutive_clusters(2 ** (dimension // 2), size, f"subcubes of {size} routers")


def _members() -> Iterator[Member]:
    """Yields the hypercubes of all dimensions, with one host per router."""
    for dimension in range(1, LARGEST_DIMENSION + 1):
        yield Member({"dimension": dimension}, dimension, 2**dimension, 1)


FAMILY = Family(
    Hypercube,
    (
        Parameter(
            name="dimension", type=int, help="dimension (n)", required=True, least=1, most=LARGEST_DIMENSION
        ),
    ),
    "2^n routers, linked where one bit of their numbers differs: diameter n",
    "hypercube --dimension 4",
    "classic",
    members=_members,
)
