"""Arithmetic in GF(q) by tables, for every prime power q from 2 to 128.

The tables are computed when a field is first used (`topology.finite_fields.tables`); after that, arithmetic
is plain numpy indexing. Field elements are the integers 0 .. q - 1: for q = p^m, an integer's base-p digits
are the coefficients of the element's polynomial, reduced by the Conway polynomial. The galois library uses
the same representation by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from topology.finite_fields.prime_powers import check_order, prime_power
from topology.finite_fields.tables import tables

Elements = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class FiniteField:
    """GF(q) as lookup tables: index them with elements or arrays of elements.

    Attributes:
        order: q, the number of elements.
        characteristic: the prime p with q = p^m.
        degree: the exponent m.
        primitive_element: a generator of the multiplicative group, the same as in galois.
        sum: uint8 array, q x q, `sum[a, b] = a + b`.
        product: uint8 array, q x q, `product[a, b] = a * b`.
        negative: uint8 array, q, `negative[a] = -a`.
        inverse: uint8 array, q, `inverse[a] = 1 / a`; `inverse[0]` is 0, a placeholder.
    """

    order: int
    characteristic: int
    degree: int
    primitive_element: int
    sum: Elements
    product: Elements
    negative: Elements
    inverse: Elements

    def difference(self, a: Elements, b: Elements) -> Elements:
        """Returns a - b, element by element.

        Args:
            a: field elements, uint8 array of any shape.
            b: field elements, uint8 array of a shape that broadcasts with that of `a`.

        Returns:
            uint8 array of the broadcast shape.
        """
        return self.sum[a, self.negative[b]]


@cache
def finite_field(order: int) -> FiniteField:
    """Returns the finite field of a given order; the same object for the same order.

    Args:
        order: q, a prime power from 2 to 128.

    Returns:
        The field, with read-only tables.

    Raises:
        ParameterError: the order is outside its domain; the message names the nearest valid orders.
    """
    check_order(order)
    total, product, primitive_element = tables(order)
    characteristic, degree = prime_power(order) or (0, 0)
    rows, columns = np.nonzero(total == 0)
    negative = np.zeros(order, np.uint8)
    negative[rows] = columns
    rows, columns = np.nonzero(product == 1)
    inverse = np.zeros(order, np.uint8)
    inverse[rows] = columns
    for table in (total, product, negative, inverse):
        table.setflags(write=False)
    return FiniteField(order, characteristic, degree, primitive_element, total, product, negative, inverse)
