"""Addition and multiplication tables of GF(q), computed by polynomial arithmetic over GF(p).

An element of GF(p^m) is the integer whose base-p digits are the coefficients of a polynomial, the constant
term first; products are reduced by the Conway polynomial. Elements, and therefore routers, are thus numbered
in the same way in every installation and in the galois library.

Source: F. Lübeck, "Conway polynomials for finite fields",
https://www.math.rwth-aachen.de/~Frank.Luebeck/data/ConwayPol
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from topology.finite_fields.prime_powers import prime_power

Tables = tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8], int]

# Coefficients of the Conway polynomial of GF(q), the constant term first, without the leading 1.
CONWAY_POLYNOMIALS = {
    4: (1, 1),
    8: (1, 1, 0),
    16: (1, 1, 0, 0),
    32: (1, 0, 1, 0, 0),
    64: (1, 1, 0, 1, 1, 0),
    128: (1, 1, 0, 0, 0, 0, 0),
    9: (2, 2),
    27: (1, 2, 0),
    81: (2, 0, 0, 2),
    25: (2, 4),
    125: (3, 3, 0),
    49: (3, 6),
    121: (2, 7),
}


def tables(order: int) -> Tables:
    """Returns the tables of a field.

    Args:
        order: q, a prime power from 2 to 128.

    Returns:
        (sum, product, primitive element): two uint8 arrays, q x q, and the smallest generator of the
        multiplicative group for a prime q, else x, the root of the Conway polynomial.

    Raises:
        ValueError: the order is not a prime power.
    """
    factors = prime_power(order)
    if factors is None:
        raise ValueError(f"order must be a prime power, got {order}")
    characteristic, degree = factors
    weights = characteristic ** np.arange(degree)
    digits = np.arange(order)[:, None] // weights % characteristic
    total = (digits[:, None] + digits) % characteristic @ weights
    product = _products(digits, CONWAY_POLYNOMIALS.get(order, ()), characteristic) @ weights
    primitive = characteristic if degree > 1 else _smallest_generator(product)
    return total.astype(np.uint8), product.astype(np.uint8), primitive


def _products(
    digits: npt.NDArray[np.int64], modulus: tuple[int, ...], characteristic: int
) -> npt.NDArray[np.int64]:
    """Returns the product of every two field elements, as coefficients of polynomials.

    Args:
        digits: int64 array, q x m: the coefficients of each element, the constant term first.
        modulus: the coefficients of the Conway polynomial, without the leading 1.
        characteristic: p; coefficients are modulo p.

    Returns:
        int64 array, q x q x m.
    """
    order, degree = digits.shape
    product = np.zeros((order, order, 2 * degree - 1), np.int64)
    for power in range(degree):
        product[:, :, power : power + degree] += digits[:, None, power, None] * digits
    for power in range(2 * degree - 2, degree - 1, -1):  # x^m is minus the modulus without its leading term
        leading = product[:, :, power, None] % characteristic
        product[:, :, power - degree : power] -= leading * np.array(modulus)
    return product[:, :, :degree] % characteristic


def _smallest_generator(product: npt.NDArray[np.int64]) -> int:
    """Returns the smallest element whose powers run through all non-zero elements of the field."""
    order = len(product)
    for element in range(1, order):
        power, steps = element, 1
        while power != 1:
            power, steps = int(product[power, element]), steps + 1
        if steps == order - 1:
            return element
    raise ValueError("product table must be that of a field")
