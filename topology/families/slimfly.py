"""Slim Fly: McKay-Miller-Siran graphs of diameter 2, for every prime power q = 4w + delta.

Routers (0, x, y) and (1, m, c) over GF(q). (0, x, y) joins (0, x, y') where y - y' is in X, (1, m, c) joins
(1, m, c') where c - c' is in X', and (0, x, y) joins (1, m, c) where y = m x + c. X and X' are powers of
the primitive element, by delta.

Source: "Slim Fly: A Cost Effective Low-Diameter Network Topology" (SC14), section II-B; for even q and for
q = 4w - 1: Hafner, "Geometric realisation of the graphs of McKay-Miller-Siran", section 3.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from topology.clusters import Clusters, consecutive_clusters
from topology.errors import ParameterError
from topology.finite_fields.field import FiniteField, finite_field
from topology.finite_fields.prime_powers import check_order
from topology.layout import Layout, circle
from topology.shortest_paths import SearchedTopology, adjacency_from_links

# 2 q^2 routers are to be no more than MOST_ROUTERS.
LARGEST_Q = 89


class SlimFly(SearchedTopology):
    """The McKay-Miller-Siran graph of order q: 2 q^2 routers of network radix (3 q - delta) / 2, diameter 2.

    Router order: (0, x, y) has index x q + y, (1, m, c) has index q^2 + m q + c.
    """

    name = "slimfly"

    def __init__(self, q: int) -> None:
        """Makes the graph.

        Args:
            q: a prime power from 3 to 89.

        Raises:
            ParameterError: q is no prime power, or 2 or over 89; the nearest valid ones are named.
        """
        if isinstance(q, int) and q <= 2:
            raise ParameterError(f"there is no slimfly of q = {q}; the nearest possible is 3")
        if isinstance(q, int) and q > LARGEST_Q:
            raise ParameterError(f"q = {q} is over {LARGEST_Q}; the nearest possible is {LARGEST_Q}")
        check_order(q)
        self.q = q
        self.params = {"q": q}
        super().__init__(adjacency_from_links(2 * q * q, _links(finite_field(q))))

    def clusters(self) -> Clusters:
        """Returns the 2 q groups of q routers that have the same x, or the same m."""
        return consecutive_clusters(2 * self.q, self.q, f"groups of {self.q} routers")

    def layout(self) -> Layout:
        """Returns the two halves, each as a row of its q groups of q routers."""
        q = self.q
        own = circle(q, 0.36)
        group = np.arange(2 * q)
        centres = np.stack([group % q, -(group // q) * q / 2.5], axis=1).astype(float)
        return Layout(
            (centres[:, None, :] + own).reshape(-1, 2),
            np.repeat([0, 1], q * q),
            ("(0, x, y)", "(1, m, c)"),
        )


def generators(field: FiniteField) -> tuple[list[int], list[int]]:
    """Returns X and X', the differences of routers that are joined in either half."""
    q = field.order
    delta = {1: 1, 3: -1, 0: 0}[q % 4]
    w = (q - delta) // 4
    chosen: tuple[Iterable[int], Iterable[int]]
    if delta == 1:
        chosen = range(0, q - 2, 2), range(1, q - 1, 2)
    elif delta == 0:
        chosen = range(0, q - 1, 2), range(1, q, 2)
    else:
        chosen = (
            [*range(0, 2 * w - 1, 2), *range(2 * w - 1, 4 * w - 2, 2)],
            [*range(1, 2 * w, 2), *range(2 * w, 4 * w - 1, 2)],
        )
    powers = [1]
    while len(powers) < q:
        powers.append(int(field.product[powers[-1], field.primitive_element]))
    first, second = (sorted({powers[exponent] for exponent in exponents}) for exponents in chosen)
    return first, second


def _links(field: FiniteField) -> npt.NDArray[np.int64]:
    q = field.order
    element = np.arange(q)
    found = []
    for half, differences in enumerate(generators(field)):
        for difference in differences:
            other = field.sum[element, difference].astype(np.int64)
            for group in range(q):
                base = half * q * q + group * q
                found.append(np.stack([base + element, base + other], axis=1))
    x, m, c = (grid.ravel() for grid in np.meshgrid(element, element, element, indexing="ij"))
    y = field.sum[field.product[m, x], c].astype(np.int64)
    found.append(np.stack([x * q + y, q * q + m * q + c], axis=1))
    links = np.sort(np.concatenate(found), axis=1)
    return np.unique(links, axis=0)
