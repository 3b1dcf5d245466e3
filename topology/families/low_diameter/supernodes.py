"""Supernodes of star products: small graphs with a permutation f of their vertices.

Property R* (PolarStar, section 5): f is an involution, and the edges, their images under f and the pairs
(x, f(x)) together form the complete graph. Its counterpart R1 for Paley graphs: f squared is an automorphism,
and the edges and their images together form the complete graph. A star product of ER_q with a supernode that
has either property has diameter 3. Supernodes of Bermond, Delorme and Farhi (`bdf_supernodes`) also have R*.

Cayley supernodes are the graphs of McKay, Miller and Siran on the elements of a field that are also the
groups of Slim Fly, with f the multiplication by a primitive element. PolarStar's table 2 names their source;
their orders and degrees there are lost in the text at hand, so these are Slim Fly's. For orders 1 modulo 4
they are the Paley graphs. For others, f squared is not an automorphism; but the edges form the complete graph
together with their images and also with their preimages, and diameter and routes need no more than that.

Source: "PolarStar: Expanding the Scalability Horizon of Diameter-3 Networks", sections 5 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from topology.errors import ParameterError
from topology.families.low_diameter.bdf_supernodes import SMALLEST_DEGREE, bermond_delorme_farhi
from topology.families.low_diameter.slimfly import generators
from topology.files.escaping import quoted
from topology.finite_fields.field import finite_field
from topology.finite_fields.prime_powers import LARGEST_ORDER, prime_power

SUPERNODE_KINDS = ("iq", "paley", "complete", "bdf", "cayley")
LARGEST_DEGREE = 64
# The domain of the degree d', for messages.
_DEGREES = {
    "iq": f"0 or 3 modulo 4, at most {LARGEST_DEGREE}",
    "paley": f"(r - 1) / 2 for a prime power r = 1 modulo 4, r at most {LARGEST_ORDER}",
    "complete": f"0 to {LARGEST_DEGREE}",
    "bdf": f"{SMALLEST_DEGREE} to {LARGEST_DEGREE}",
    "cayley": f"even and at most {LARGEST_DEGREE}, with a prime power 2 d' or 2 d' - 1",
}

# Inductive-Quad of degree 3 (PolarStar, figure 6a); f(i) = i + 4 mod 8.
_IQ_3 = ((0, 7), (4, 7), (0, 1), (4, 1), (0, 2), (4, 2), (1, 6), (5, 6), (5, 3), (5, 7), (2, 3), (6, 3))
# IQ_(d + 4) is IQ_d plus the vertices of an IQ_3: those that are joined to the set A of `_half`, and those
# that are joined to f(A).
_TO_A, _TO_IMAGES = (0, 1, 4, 5), (2, 3, 6, 7)


@dataclass(frozen=True, eq=False)
class Supernode:
    """A graph of m vertices that replaces every vertex of the structure graph in a star product.

    Attributes:
        kind: `iq`, `paley`, `complete`, `bdf` or `cayley`.
        degree: d', the number of links of each vertex inside the supernode.
        adjacency_matrix: bool array, m x m: the adjacency matrix.
        image: int array, m: the permutation f.
    """

    kind: str
    degree: int
    adjacency_matrix: npt.NDArray[np.bool_]
    image: npt.NDArray[np.int64]

    @property
    def order(self) -> int:
        """m, the number of vertices."""
        return len(self.image)

    @property
    def preimage(self) -> npt.NDArray[np.int64]:
        """Int array, m: the inverse of f."""
        return np.argsort(self.image)


def make_supernode(kind: str, degree: int) -> Supernode:
    """Returns the supernode of a kind and degree.

    Args:
        kind: `iq`, `paley`, `complete`, `bdf` or `cayley`.
        degree: d', the number of links of each vertex inside the supernode.

    Returns:
        The supernode, after a check of its property R* or R1.

    Raises:
        ParameterError: the kind or the degree is outside its domain; the message names the nearest valid
            values.
    """
    check_kind(kind)
    check_degree(kind, degree)
    make = {
        "iq": _inductive_quad,
        "paley": _paley,
        "complete": _complete,
        "bdf": bermond_delorme_farhi,
        "cayley": _cayley,
    }
    adjacency_matrix, image = make[kind](degree)
    supernode = Supernode(kind, degree, adjacency_matrix, image)
    _check_property(supernode)
    return supernode


def supernode_exists(kind: str, degree: int) -> bool:
    """Returns whether there is a supernode of the given kind and degree.

    Args:
        kind: `iq`, `paley`, `complete`, `bdf` or `cayley`.
        degree: d', any integer.

    Returns:
        For `iq`, true if d' = 0 or 3 modulo 4 (PolarStar, section 6.2); for `paley`, if 2 d' + 1 is a prime
        power and 1 modulo 4; for `bdf`, if d' >= 2; for `cayley`, if d' is even and 2 d' or 2 d' - 1 a prime
        power; for `complete`, always. False for degrees outside 0 .. 64.
    """
    if not 0 <= degree <= LARGEST_DEGREE:
        return False
    if kind == "iq":
        return degree % 4 in (0, 3)
    if kind == "bdf":
        return degree >= SMALLEST_DEGREE
    if kind == "cayley":
        return _cayley_order(degree) > 0
    order = 2 * degree + 1
    return kind == "complete" or (
        order % 4 == 1 and order <= LARGEST_ORDER and prime_power(order) is not None
    )


def check_kind(kind: str) -> None:
    """Checks the kind of a supernode.

    Args:
        kind: the value that was given for the kind.

    Raises:
        ParameterError: the kind is not one of SUPERNODE_KINDS.
    """
    if kind not in SUPERNODE_KINDS:
        raise ParameterError(f"supernode must be one of {', '.join(SUPERNODE_KINDS)}, got {quoted(kind)}")


def check_degree(kind: str, degree: int) -> None:
    """Checks the degree of a supernode.

    Args:
        kind: `iq`, `paley`, `complete`, `bdf` or `cayley`.
        degree: the value that was given for d'.

    Raises:
        ParameterError: there is no supernode of this kind and degree; the message names the nearest degrees.
    """
    if supernode_exists(kind, degree):
        return
    degrees = [d for d in range(LARGEST_DEGREE + 1) if supernode_exists(kind, d)]
    nearest = [d for d in degrees if d < degree][-1:] + [d for d in degrees if d > degree][:1]
    raise ParameterError(
        f"degree of supernode {kind} must be {_DEGREES[kind]}, got {degree}; "
        f"nearest: {' and '.join(map(str, nearest))}"
    )


def supernode_order(kind: str, degree: int) -> int:
    """Returns m, the number of vertices of a supernode.

    Args:
        kind: `iq`, `paley`, `complete`, `bdf` or `cayley`.
        degree: d', for which the supernode exists.

    Returns:
        2 d' + 2 for `iq`, the largest order of a supernode with property R* (see this module's docstring);
        2 d' + 1 for `paley`; 2 d' for `bdf`; d' + 1 for `complete`; 2 d' or 2 d' - 1 for `cayley`.
    """
    if kind == "cayley":
        return _cayley_order(degree)
    return {"iq": 2 * degree + 2, "paley": 2 * degree + 1, "complete": degree + 1, "bdf": 2 * degree}[kind]


_GraphAndImage = tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]


def _inductive_quad(degree: int) -> _GraphAndImage:
    """Returns the Inductive-Quad graph IQ_d (adjacency matrix) and its permutation f.

    IQ_0 and IQ_3 are given; eight vertices of an IQ_3 extend IQ_d to IQ_(d + 4) (PolarStar, section 6.2.1).
    """
    if degree < 3:
        return np.zeros((2, 2), bool), np.array([1, 0])
    if degree == 3:
        return _edges(8, _IQ_3), (np.arange(8) + 4) % 8
    inner, inner_image = _inductive_quad(degree - 4)
    old = len(inner)
    matrix = np.zeros((old + 8, old + 8), bool)
    matrix[:old, :old] = inner
    matrix[old:, old:] = _edges(8, _IQ_3)
    half = _half(inner_image)
    for new, olds in ((_TO_A, half), (_TO_IMAGES, inner_image[half])):
        rows = old + np.array(new)
        matrix[rows[:, None], olds] = matrix[olds[:, None], rows] = True
    return matrix, np.concatenate([inner_image, old + (np.arange(8) + 4) % 8])


def _half(image: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Returns the set A of the Inductive-Quad construction: the lower vertex of each pair (x, f(x))."""
    everyone = np.arange(len(image))
    return everyone[everyone < image]


def _paley(degree: int) -> _GraphAndImage:
    """Returns the Paley graph: x and y are adjacent if x - y is a square; f multiplies by a non-residue."""
    order = 2 * degree + 1
    field = finite_field(order)
    elements = np.arange(order)
    squares = np.zeros(order, bool)
    squares[field.product[elements, elements]] = True
    squares[0] = False
    difference = field.sum[elements[:, None], field.negative[elements][None, :]]
    return squares[difference], field.product[field.primitive_element, elements].astype(np.int64)


def _cayley(degree: int) -> _GraphAndImage:
    """Returns a Cayley graph of a field: x and y are adjacent if x - y is one of the generators X."""
    field = finite_field(_cayley_order(degree))
    elements = np.arange(field.order)
    linked = np.zeros(field.order, bool)
    linked[generators(field)[0]] = True
    difference = field.sum[elements[:, None], field.negative[elements][None, :]]
    return linked[difference], field.product[field.primitive_element, elements].astype(np.int64)


def _cayley_order(degree: int) -> int:
    """Returns 2 d' or 2 d' - 1, the larger one if both are prime powers; 0 if none is, or if d' is odd.

    The degree of the graph of order 4 w is 2 w, and that of order 4 w - 1 is 2 w.
    """
    orders = (2 * degree, 2 * degree - 1) if degree % 2 == 0 else ()
    return next((order for order in orders if 3 <= order <= LARGEST_ORDER and prime_power(order)), 0)


def _complete(degree: int) -> _GraphAndImage:
    return ~np.eye(degree + 1, dtype=bool), np.arange(degree + 1)


def _edges(order: int, pairs: tuple[tuple[int, int], ...]) -> npt.NDArray[np.bool_]:
    matrix = np.zeros((order, order), bool)
    for a, b in pairs:
        matrix[a, b] = matrix[b, a] = True
    return matrix


def _check_property(supernode: Supernode) -> None:
    """Raises ValueError unless the supernode has property R*, or what routes need of R1."""
    matrix, image = supernode.adjacency_matrix, supernode.image
    images = np.zeros_like(matrix)
    images[image[:, None], image] = matrix
    both = [matrix | images, matrix | matrix[image[:, None], image]]
    everyone = np.arange(supernode.order)
    for filled in both:
        if (image[image] == everyone).all():
            filled[everyone, image] = True
        filled[everyone, everyone] = True
    if not np.all(both) or (matrix.sum(axis=1) != supernode.degree).any():
        raise ValueError("supernode must have property R* or R1, and all its vertices must have its degree")
