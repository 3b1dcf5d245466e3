"""Supernodes of Bermond, Delorme and Farhi: order 2 d', property R*, for every degree d' >= 2.

The vertices are i+ and i-, 0 <= i < d', and f swaps the signs. Of the four possible edges between i+, i- and
j+, j-, property R* needs one of {i+ j+, i- j-} and one of {i+ j-, i- j+}. A tournament on the d' indices
assigns them: if i wins against j, either i+ or i- is joined to both j+ and j-. The sign alternates between
the pairs that i wins. After that, every vertex lacks at most two edges to degree d', which are then added.

The choices of the tournament and of the last edges are this project's: other choices give graphs of the same
order, degree and property, but products with other path lengths.

Source: Bermond, Delorme and Farhi, "Large graphs with given degree and diameter III" (Annals of
Discrete Mathematics 13, 1982); PolarStar, section 6, for their use as supernodes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

SMALLEST_DEGREE = 2


def bermond_delorme_farhi(degree: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Returns the supernode of a given degree; vertex i+ has index i, and vertex i- has index d' + i.

    Args:
        degree: d', 2 to 64.

    Returns:
        (adjacency matrix, f): bool array, 2 d' x 2 d', and int64 array, 2 d'.
    """
    order = 2 * degree
    image = (np.arange(order) + degree) % order
    matrix = np.zeros((order, order), bool)
    for i in range(degree):
        for turn, j in enumerate(_beaten_by(i, degree)):
            winner = i + degree * (turn % 2)
            matrix[winner, [j, j + degree]] = matrix[[j, j + degree], winner] = True
    _fill_in(matrix, image, degree)
    return matrix, image


def _beaten_by(i: int, degree: int) -> list[int]:
    """Returns the indices that index i beats in the tournament: the half that follows i in cyclic order."""
    ahead = [(i + step) % degree for step in range(1, (degree + 1) // 2)]
    # For even degree: of two opposite indices, the lower one wins.
    return [*ahead, i + degree // 2] if degree % 2 == 0 and i < degree // 2 else ahead


def _fill_in(matrix: npt.NDArray[np.bool_], image: npt.NDArray[np.int64], degree: int) -> None:
    """Adds edges to `matrix`, in place, until every vertex has the given degree.

    Each step adds an edge at the vertex whose possible partners exceed its missing edges by the least.
    Edges from a vertex x to its image f(x) are not used: the supernodes of quadrics already have them through
    the quadric's self-loop.
    """
    everyone = np.arange(len(matrix))
    free = ~matrix
    free[everyone, everyone] = free[everyone, image] = False
    missing = degree - matrix.sum(axis=1)
    while missing.any():
        open_ends = np.flatnonzero(missing)
        choice = free[np.ix_(open_ends, open_ends)].sum(axis=1) - missing[open_ends]
        a = open_ends[choice.argmin()]
        partners = free[a, open_ends]
        b = open_ends[partners][choice[partners].argmin()]
        for x, y in ((a, b), (b, a)):
            matrix[x, y], free[x, y] = True, False
            missing[x] -= 1
