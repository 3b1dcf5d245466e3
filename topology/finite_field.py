"""Arithmetic in GF(q) by tables, for every prime power q from 2 to 128.

The tables are taken once from the galois library (see `finite_field_tables`) and kept beside this
module; from then on the arithmetic is plain numpy indexing. Field elements are the integers
0 .. q - 1: for q = p^m, the integer whose base-p digits are the coefficients of the element's
polynomial, reduced by the Conway polynomial, which is galois's default representation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from topology.errors import ParameterError

Elements = npt.NDArray[np.uint8]

LARGEST_ORDER = 128


def prime_power(order: int) -> tuple[int, int] | None:
    """Returns (characteristic, degree) with order = characteristic ** degree, or None.

    1 is no prime power: a field has at least two elements.
    """
    if order < 2:
        return None
    characteristic = next((d for d in range(2, int(order**0.5) + 1) if order % d == 0), order)
    degree, rest = 0, order
    while rest % characteristic == 0:
        rest //= characteristic
        degree += 1
    return (characteristic, degree) if rest == 1 else None


def nearest_orders(order: int) -> tuple[int, ...]:
    """Returns the prime powers from 2 to 128 next below and next above `order`, those that exist."""
    orders = [n for n in range(2, LARGEST_ORDER + 1) if prime_power(n)]
    below = [n for n in orders if n < order][-1:]
    above = [n for n in orders if n > order][:1]
    return tuple(below + above)


def check_order(order: int) -> None:
    """Raises ParameterError, naming the nearest valid orders, unless GF(order) is supported."""
    if not isinstance(order, int) or isinstance(order, bool):
        raise ParameterError(f"q must be a whole number, got {order!r}")
    if order <= LARGEST_ORDER and prime_power(order):
        return
    rule = f"over {LARGEST_ORDER}" if order > LARGEST_ORDER else "no prime power"
    nearest = " and ".join(str(n) for n in nearest_orders(order))
    noun = "orders are" if " and " in nearest else "order is"
    raise ParameterError(f"q = {order} is {rule}; the nearest possible {noun} {nearest}")


@dataclass(frozen=True, eq=False)
class FiniteField:
    """GF(q) as lookup tables: index them with elements or arrays of elements.

    Attributes:
        order: q, the number of elements.
        characteristic: the prime p with q = p^m.
        degree: m.
        primitive_element: the generator of the multiplicative group that galois uses.
        sum: uint8 array, q x q, `sum[a, b] = a + b`.
        product: uint8 array, q x q, `product[a, b] = a * b`.
        negative: uint8 array, q, `negative[a] = -a`.
        inverse: uint8 array, q, `inverse[a] = 1 / a`; `inverse[0]` is 0 and means nothing.
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
        """Returns a - b, element by element."""
        return self.sum[a, self.negative[b]]


@cache
def finite_field(order: int) -> FiniteField:
    """Returns GF(order).

    Args:
        order: a prime power from 2 to 128.

    Raises:
        ParameterError: `order` is no prime power or over 128; the nearest valid ones are named.
    """
    check_order(order)
    from topology import finite_field_tables

    total, product, primitive_element = finite_field_tables.load(order)
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
