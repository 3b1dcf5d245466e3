"""Tori: products of rings; a dimension of two routers has single links.

Source: Dally, Towles, "Principles and Practices of Interconnection Networks" (2004), section 5.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from topology.families.classic.product import CartesianProduct, ring_factor
from topology.families.classic.shapes import nearly_cubic, read_shape, shape_parameter, shape_text
from topology.families.family import Family, Member


class Torus(CartesianProduct):
    """The torus of a shape: routers are linked if they differ by one, cyclically, in exactly one coordinate.

    Router order: by coordinates, the first one most significant.
    """

    name = "torus"

    def __init__(self, shape: str) -> None:
        """Builds the graph.

        Args:
            shape: the sizes of the dimensions, 2 or more, separated by x, such as `4x4x4`.

        Raises:
            ParameterError: the shape is outside its domain.
        """
        sizes = read_shape(shape)
        self.params = {"shape": shape_text(sizes)}
        super().__init__([ring_factor(size) for size in sizes])


def _members() -> Iterator[Member]:
    """Yields the tori of three dimensions, whose sizes differ by at most one, with one host per router."""
    for shape in nearly_cubic(3):
        radix = sum(min(size - 1, 2) for size in shape)
        yield Member({"shape": shape_text(shape)}, radix, math.prod(shape), 1)


FAMILY = Family(
    Torus,
    (shape_parameter("shape", "size of each dimension"),),
    "torus of a shape: a ring in every dimension",
    "torus --shape 4x4x4",
    "classic",
    members=_members,
)
