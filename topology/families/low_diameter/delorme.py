"""Delorme graphs: polarity quotients of the symplectic generalised quadrangles W(q), diameter 3.

Routers are the points of the projective space over GF(q), q = 2^(2 e + 1). The lines of W(q) are those on
which the form x0 y1 + x1 y0 + x2 y3 + x3 y2 vanishes. A line with Pluecker coordinates p_ij corresponds to
the point (p02, p13, p03, p12). The automorphism sigma, x to x^(2^(e + 1)), applied twice is squaring;
therefore the map from a point x to the line with (p02, p13, p03, p12) = sigma(x) is a polarity (Tits). It
assigns every point a line such that x is on the line of y if and only if y is on the line of x. The routers x
and y are then adjacent: the neighbours of a router are the points of its line. The q^2 + 1 points on their
own line are absolute: their loops are dropped. The lines of the absolute points contain every point once.

Exactly one walk of three steps joins two different routers that are not adjacent, if a loop of an absolute
point counts as a step. The diameter is therefore 3.

Source: Delorme, "Grands graphes de degre et diametre donnes" (European Journal of Combinatorics 6, 1985);
Tits, "Ovoides et groupes de Suzuki" (Arch. Math. 13, 1962); Slim Fly (SC14), section II-C, compares
with other graphs of Delorme, of degree (v + 1)^2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from topology.clusters import Clusters
from topology.errors import ParameterError
from topology.families.family import Family, Member, carried_hosts
from topology.finite_fields.field import Elements, FiniteField, finite_field
from topology.layout import Layout, circle
from topology.parameters import Parameter
from topology.shortest_paths import SearchedTopology, adjacency_from_links

ORDERS = (2, 8)  # the next, 32, has 33825 routers


def check_odd_power_of_two(q: int) -> None:
    """Checks the parameter q of a Delorme graph.

    Args:
        q: the value that was given for q.

    Raises:
        ParameterError: q is not 2 or 8.
    """
    if q not in ORDERS:
        raise ParameterError(f"q must be an odd power of 2, 2 or 8 (32 has too many routers), got {q}")


class Delorme(SearchedTopology):
    """The polarity quotient of W(q): (q + 1) (q^2 + 1) routers of radix q + 1, diameter 3.

    Router order: by coordinates, as numbers of four base-q digits; each point is scaled so that its first
    non-zero coordinate is 1.

    Attributes:
        q: the order of the field.
        absolute: int64 array of q^2 + 1 routers, ascending: the points on their own line, of degree q.
    """

    name = "delorme"

    def __init__(self, q: int) -> None:
        """Builds the graph.

        Args:
            q: 2 or 8.

        Raises:
            ParameterError: q is outside its domain.
        """
        check_odd_power_of_two(q)
        self.q = q
        self.params = {"q": q}
        field = finite_field(q)
        points = _points(q)
        lies_on = _lies_on(field, points)
        self.absolute = np.flatnonzero(lies_on.diagonal())
        super().__init__(adjacency_from_links(len(points), np.argwhere(np.triu(lies_on, 1))))

    def clusters(self) -> Clusters:
        """Returns one cluster for each absolute point: the point and its neighbours, that is, its line.

        Returns:
            q^2 + 1 clusters of q + 1 routers that contain every router once, the absolute point first.
        """
        members = tuple((point, *self.neighbours(point).tolist()) for point in self.absolute.tolist())
        return Clusters(members, f"lines of {self.q + 1} routers")

    def layout(self) -> Layout:
        """Returns the clusters on a circle, each with its absolute point in the centre.

        Returns:
            A layout whose kinds are the absolute points and the others.
        """
        members = np.array(self.clusters().members)
        centres = circle(len(members))
        around = circle(self.q, 0.72 * float(np.sin(np.pi / len(members))))
        positions = np.empty((self.routers, 2))
        positions[members[:, 0]] = centres
        positions[members[:, 1:]] = centres[:, None, :] + around
        kind = np.ones(self.routers, np.int64)
        kind[self.absolute] = 0
        return Layout(positions, kind, ("absolute points", "the others"))


def _points(q: int) -> Elements:
    """Returns a uint8 array, N x 4: the points of the projective space, in router order."""
    digits = np.stack(np.unravel_index(np.arange(q**4), (q,) * 4), axis=1)
    leading = digits[np.arange(q**4), (digits != 0).argmax(axis=1)]
    return np.asarray(digits[leading == 1], np.uint8)


def _lies_on(field: FiniteField, points: Elements) -> npt.NDArray[np.bool_]:
    """Returns a bool array, N x N: entry [x, y] is true if y is on the line that the polarity assigns to x.

    The line with Pluecker coordinates p contains the points y with p01 y2 + p02 y1 + p12 y0 = 0, and the same
    for every other choice of three indices (signs do not matter over GF(2^m)).
    """
    plus, times = field.sum, field.product
    p02, p13, p03, p12 = (_sigma(field)[points[:, i]][:, None] for i in range(4))
    # On lines of W(q), p01 = p23, and p01 p23 = p02 p13 + p03 p12. So p01 is the square root of the right
    # side, which exists because every element of GF(2^m) is a square.
    square = plus[times[p02, p13], times[p03, p12]]
    root = np.empty(field.order, np.uint8)
    root[field.product.diagonal()] = np.arange(field.order)
    p01 = p23 = root[square]
    y0, y1, y2, y3 = points.T[:, None, :]
    equations = (
        ((p01, y2), (p02, y1), (p12, y0)),
        ((p01, y3), (p03, y1), (p13, y0)),
        ((p02, y3), (p03, y2), (p23, y0)),
        ((p12, y3), (p13, y2), (p23, y1)),
    )
    on_line = np.ones((len(points), len(points)), bool)
    for (a, x), (b, y), (c, z) in equations:
        on_line &= plus[plus[times[a, x], times[b, y]], times[c, z]] == 0
    return on_line


def _sigma(field: FiniteField) -> Elements:
    """Returns a uint8 array, q: the images x^(2^(e + 1)) of all x under the automorphism sigma."""
    image = np.arange(field.order).astype(np.uint8)
    for _ in range((field.degree + 1) // 2):
        image = field.product[image, image]
    return image


def _members() -> Iterator[Member]:
    """Yields the two Delorme graphs."""
    for q in ORDERS:
        yield Member({"q": q}, q + 1, (q + 1) * (q * q + 1), carried_hosts(q + 1, 3))


FAMILY = Family(
    Delorme,
    (
        Parameter(
            name="q",
            type=int,
            help="order of the finite field",
            required=True,
            rule=check_odd_power_of_two,
            domain_text="2 or 8",
        ),
    ),
    "polarity quotient of a generalised quadrangle: (q + 1) (q^2 + 1) routers, diameter 3",
    "delorme --q 2",
    "low-diameter",
    members=_members,
)
