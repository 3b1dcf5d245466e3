"""HyperX: Hamming graphs, products of complete graphs.

Source: Ahn et al., "HyperX: Topology, Routing, and Packaging of Efficient Large-Scale Networks" (SC09);
Camarero, Vallejo, Beivide (TACO 2014), where a Hamming graph is a dragonfly with maximal trunking.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from topology.analysis.balance import LinkClass
from topology.families.classic.product import CartesianProduct, complete_factor
from topology.families.classic.shapes import nearly_cubic, read_shape, shape_parameter, shape_text
from topology.families.family import Family, Member, carried_hosts


class HyperX(CartesianProduct):
    """The Hamming graph of a shape: routers that differ in exactly one coordinate are linked.

    Router order: by coordinates, the first one most significant.
    """

    name = "hyperx"

    def __init__(self, shape: str) -> None:
        """Builds the graph.

        Args:
            shape: the sizes of the dimensions, 2 or more, separated by x, such as `4x4`.

        Raises:
            ParameterError: the shape is outside its domain.
        """
        sizes = read_shape(shape)
        self.params = {"shape": shape_text(sizes)}
        super().__init__([complete_factor(size) for size in sizes])

    def link_classes(self) -> tuple[LinkClass, ...]:
        """Returns one class of links for each dimension (`topology.analysis.balance`).

        Returns:
            The classes. A packet to any router changes a coordinate of k values with probability (k - 1) / k,
            and k - 1 links of each router change it.

        Source:
            HyperX (SC09): with p hosts per router, each link of dimension i has load p / k_i.
        """
        return tuple(
            LinkClass(f"dimension {place + 1}", size - 1, (size - 1) / size)
            for place, size in enumerate(self.shape)
        )


def _members() -> Iterator[Member]:
    """Yields the two- and three-dimensional graphs in which the sizes of dimensions differ by at most one."""
    for dimensions in (2, 3):
        for shape in nearly_cubic(dimensions):
            radix = sum(shape) - dimensions
            hosts = carried_hosts(radix, dimensions)
            yield Member({"shape": shape_text(shape)}, radix, math.prod(shape), hosts)


FAMILY = Family(
    HyperX,
    (shape_parameter("shape", "size of each dimension"),),
    "Hamming graph of a shape: diameter = number of dimensions",
    "hyperx --shape 4x4",
    "classic",
    members=_members,
)
