"""SpectralFly: the Ramanujan graphs X(p, q) of Lubotzky, Phillips and Sarnak.

Vertices are the elements of PGL(2, q), the invertible 2 x 2 matrices over the integers modulo q up to scalar
factors; or, if p is a square modulo q, of PSL(2, q), whose determinants are squares. Of the solutions of
a^2 + b^2 + c^2 + d^2 = p, p + 1 are chosen (`_solutions`), never both a solution and its negative. Each
chosen solution gives a matrix

    a + b x + d y    -b y + c + d x
    -b y - c + d x    a - b x - d y        with x^2 + y^2 + 1 = 0 modulo q,

and every vertex is linked to its products with these p + 1 matrices.

Source: Lubotzky, Phillips and Sarnak, "Ramanujan graphs" (Combinatorica 8, 1988); Davidoff, Sarnak and
Valette, "Elementary Number Theory, Group Theory, and Ramanujan Graphs", section 4.2, for p or q = 3 modulo 4;
SpectralFly: Aksoy et al., "SpectralFly: Ramanujan Graphs as Flexible and Efficient Interconnection Networks"
(IPDPS 2022).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import isqrt

import numpy as np
import numpy.typing as npt

from topology.base import MAX_ROUTERS
from topology.clusters import Clusters
from topology.errors import ParameterError
from topology.families.family import Family, Member, carried_hosts
from topology.layout import Layout, on_circles
from topology.parameters import Parameter
from topology.shortest_paths import SearchedTopology, adjacency_from_links

Elements = npt.NDArray[np.int64]

# q (q^2 - 1) / 2 routers must not exceed MAX_ROUTERS, and q must be above 2 sqrt(p).
LARGEST_P, LARGEST_Q = 233, 31


def spectralfly_routers(p: int, q: int) -> int | None:
    """Returns the number of routers of a SpectralFly, if it exists.

    Args:
        p: any integer.
        q: any integer.

    Returns:
        The order of PSL(2, q) or PGL(2, q); None unless p and q are different odd primes with
        q > 2 sqrt(p).
    """
    if p == q or not _is_odd_prime(p) or not _is_odd_prime(q) or q * q <= 4 * p:
        return None
    return q * (q * q - 1) // (2 if _is_square(p, q) else 1)


class SpectralFly(SearchedTopology):
    """X(p, q): q (q^2 - 1) / 2 routers of radix p + 1, or twice as many if p is not a square modulo q.

    Router order: by the entries of the matrices, row by row; each matrix is scaled so that its first non-zero
    entry is 1.

    Attributes:
        p: the radix minus 1.
        q: the order of the field.
        is_bipartite: whether every link joins a matrix with a square determinant to one with a non-square
            one.
    """

    name = "spectralfly"

    def __init__(self, p: int, q: int) -> None:
        """Builds the graph.

        Args:
            p: an odd prime, the radix minus 1.
            q: another odd prime, above 2 sqrt(p); the graph has at most 16384 routers.

        Raises:
            ParameterError: a parameter is outside its domain; the message names the nearest values.
        """
        _check(p, q)
        self.p, self.q = p, q
        self.params = {"p": p, "q": q}
        self.is_bipartite = not _is_square(p, q)
        self._matrices = _group(q, whole=self.is_bipartite)
        codes = _codes(self._matrices, q)
        ends = [
            np.searchsorted(codes, _codes(_normalised(_times(self._matrices, generator, q), q), q))
            for generator in _generators(p, q)
        ]
        both = np.stack([np.broadcast_to(np.arange(len(codes)), (p + 1, len(codes))), ends], axis=-1)
        links = both.reshape(-1, 2)
        super().__init__(adjacency_from_links(len(codes), links[links[:, 0] < links[:, 1]]))

    def _cluster_numbers(self) -> Elements:
        """Returns the cluster of each router, 0 to q: the ratio of the lower entries of its matrix.

        The ratio is a point of the projective line; q is the point at infinity. Two routers of a cluster are
        linked to the same clusters, by the same generators.
        """
        lower, last = self._matrices[:, 2], self._matrices[:, 3]
        return np.where(lower == 0, self.q, last * _inverses(self.q)[lower] % self.q)

    def clusters(self) -> Clusters:
        """Returns the sets of routers whose matrices have the same ratio of lower entries.

        Multiplication by a generator maps every cluster onto another one or onto itself.

        Returns:
            q + 1 clusters of q (q - 1) / 2 routers, or of q (q - 1) if p is not a square modulo q.
        """
        numbers = self._cluster_numbers()
        members = tuple(tuple(np.flatnonzero(numbers == point).tolist()) for point in range(self.q + 1))
        return Clusters(members, f"cosets of {len(members[0])} routers")

    def layout(self) -> Layout:
        """Returns the clusters on a circle, each with its routers on its own circle.

        Returns:
            A layout whose kinds are the sides of a bipartite graph.
        """
        members = self.clusters().members
        positions = np.empty((self.routers, 2))
        positions[np.concatenate(members)] = on_circles(len(members), len(members[0]))
        a, b, c, d = self._matrices.T
        is_square = np.isin((a * d - b * c) % self.q, [x * x % self.q for x in range(1, self.q)])
        kinds = ("determinant a square", "determinant not a square")
        return Layout(positions, (~is_square).astype(np.int64), kinds[: 1 + self.is_bipartite])


def _is_odd_prime(number: int) -> bool:
    return number > 2 and all(number % divisor for divisor in range(2, isqrt(number) + 1))


def _is_square(p: int, q: int) -> bool:
    """Returns whether p is a square modulo the prime q (Euler's criterion)."""
    return pow(p, (q - 1) // 2, q) == 1


@cache
def _members() -> dict[int, list[int]]:
    """Returns p -> all values of q, ascending, for which X(p, q) exists with at most 16384 routers."""
    orders: dict[int, list[int]] = {}
    for p, q in product(range(3, LARGEST_P + 1), range(3, LARGEST_Q + 1)):
        if (spectralfly_routers(p, q) or MAX_ROUTERS + 1) <= MAX_ROUTERS:
            orders.setdefault(p, []).append(q)
    return orders


def _check(p: int, q: int) -> None:
    """Raises ParameterError unless X(p, q) exists and has at most 16384 routers."""
    members = _members()
    if p not in members:
        raise ParameterError(
            f"p must be an odd prime, 3 to {LARGEST_P}, with a member of at most {MAX_ROUTERS} routers, "
            f"got {p}; nearest: {_nearest(p, [*members])}"
        )
    if q not in members[p]:
        raise ParameterError(
            f"q must be a prime above 2 sqrt({p}) other than {p}, with at most {MAX_ROUTERS} routers, "
            f"got {q}; nearest: {_nearest(q, members[p])}"
        )


def _nearest(value: int, valid: list[int]) -> str:
    near = [v for v in valid if v < value][-1:] + [v for v in valid if v > value][:1]
    return " and ".join(map(str, near))


def _check_odd_prime(value: int) -> None:
    """Raises ParameterError unless some SpectralFly with this value of p can be built."""
    _check(value, _members().get(value, [0])[0])


def _group(q: int, whole: bool) -> Elements:
    """Returns the matrices (a, b, c, d) of PGL(2, q) or PSL(2, q), in router order."""
    element = np.arange(q)
    b, c, d = (grid.ravel() for grid in np.meshgrid(element, element, element, indexing="ij"))
    a = np.ones_like(b)
    beyond = np.stack([np.zeros_like(b[: q * q]), np.ones_like(b[: q * q]), c[: q * q], d[: q * q]], axis=1)
    matrices = np.concatenate([beyond, np.stack([a, b, c, d], axis=1)])
    determinant = (matrices[:, 0] * matrices[:, 3] - matrices[:, 1] * matrices[:, 2]) % q
    wanted = [x if whole else x * x % q for x in range(1, q)]
    return matrices[np.isin(determinant, wanted)].astype(np.int64)


def _inverses(q: int) -> Elements:
    """Returns the inverse of each element modulo the prime q; 0 for 0."""
    return np.array([pow(x, q - 2, q) for x in range(q)], np.int64)


def _normalised(matrices: Elements, q: int) -> Elements:
    """Returns each matrix divided by its first non-zero entry, modulo the prime q."""
    first = np.where(matrices[:, 0] != 0, matrices[:, 0], matrices[:, 1])
    return matrices * _inverses(q)[first][:, None] % q


def _codes(matrices: Elements, q: int) -> Elements:
    """Returns one integer per matrix; the integers sort the matrices by their entries, row by row."""
    return np.asarray(matrices @ np.array([q**3, q**2, q, 1]), np.int64)


def _times(matrices: Elements, factor: tuple[int, ...], q: int) -> Elements:
    """Returns each of the matrices times `factor`, a matrix on its right."""
    a, b, c, d = matrices.T
    e, f, g, h = factor
    return np.stack([a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h], axis=1) % q


def _generators(p: int, q: int) -> list[tuple[int, ...]]:
    """Returns the generators: a matrix (four entries, row by row) for each of the p + 1 `_solutions`."""
    x, y = next((x, y) for x, y in product(range(q), repeat=2) if (x * x + y * y + 1) % q == 0)
    return [
        tuple(
            entry % q
            for entry in (a + b * x + d * y, -b * y + c + d * x, -b * y - c + d * x, a - b * x - d * y)
        )
        for a, b, c, d in _solutions(p)
    ]


def _solutions(p: int) -> list[tuple[int, int, int, int]]:
    """Returns p + 1 solutions of a^2 + b^2 + c^2 + d^2 = p, never both a solution and its negative.

    For p = 1 modulo 4, a is odd and positive. For p = 3 modulo 4, a is even and positive, or 0 with b
    positive; b, c and d are odd.
    """
    most = isqrt(p)
    parity = p // 2 % 2  # of b, c and d
    solutions = []
    for b, c, d in product(range(-most, most + 1), repeat=3):
        rest = p - b * b - c * c - d * d
        if rest < 0 or isqrt(rest) ** 2 != rest or {b % 2, c % 2, d % 2} != {parity}:
            continue
        if rest or b > 0:
            solutions.append((isqrt(rest), b, c, d))
    return solutions


def _all_members() -> Iterator[Member]:
    """Yields the SpectralFlies of all p and q."""
    for p, orders in _members().items():
        for q in orders:
            yield Member({"p": p, "q": q}, p + 1, spectralfly_routers(p, q) or 0, carried_hosts(p + 1, 3))


FAMILY = Family(
    SpectralFly,
    (
        Parameter(
            name="p",
            type=int,
            help="the radix minus 1",
            required=True,
            least=3,
            most=LARGEST_P,
            rule=_check_odd_prime,
            domain_text=f"an odd prime, 3 to {LARGEST_P}",
        ),
        Parameter(
            name="q",
            type=int,
            help="order of the matrices' field",
            required=True,
            domain_text=f"a prime above 2 sqrt(p), not p, at most {LARGEST_Q}",
        ),
    ),
    "Ramanujan graph X(p, q) of Lubotzky, Phillips and Sarnak: radix p + 1",
    "spectralfly --p 3 --q 5",
    "low-diameter",
    members=_all_members,
)
