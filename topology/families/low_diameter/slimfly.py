"""Slim Fly: McKay-Miller-Siran graphs of diameter 2, for every prime power q = 4w + delta.

Routers are (0, x, y) and (1, m, c) over GF(q). A link joins (0, x, y) and (0, x, y') where y - y' is in X,
(1, m, c) and (1, m, c') where c - c' is in X', and (0, x, y) and (1, m, c) where y = m x + c. X and X' are
sets of powers of the primitive element that depend on delta, which is 1, 0 or -1.

Source: "Slim Fly: A Cost Effective Low-Diameter Network Topology" (SC14), section II-B; for even q and for
q = 4w - 1: Hafner, "Geometric realisation of the graphs of McKay-Miller-Siran", section 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from topology.clusters import Clusters, consecutive_clusters
from topology.families.family import Family, Member, carried_hosts, order_parameter
from topology.finite_fields.field import FiniteField, finite_field
from topology.finite_fields.prime_powers import check_order, prime_power
from topology.layout import Layout, circle
from topology.shortest_paths import SearchedTopology, adjacency_from_links

# 2 q^2 routers must not exceed MAX_ROUTERS; 2 is not of the form 4w + delta.
SMALLEST_Q, LARGEST_Q = 3, 89


class SlimFly(SearchedTopology):
    """The McKay-Miller-Siran graph of order q: 2 q^2 routers of network radix (3 q - delta) / 2, diameter 2.

    Router order: (0, x, y) has index x q + y, (1, m, c) has index q^2 + m q + c.
    """

    name = "slimfly"

    def __init__(self, q: int) -> None:
        """Builds the graph.

        Args:
            q: a prime power from 3 to 89.

        Raises:
            ParameterError: q is outside its domain; the message names the nearest valid values.
        """
        check_order(q, SMALLEST_Q, LARGEST_Q)
        self.q = q
        self.params = {"q": q}
        super().__init__(adjacency_from_links(2 * q * q, _links(finite_field(q))))

    def clusters(self) -> Clusters:
        """Returns the groups: sets of routers with the same x or the same m.

        Returns:
            2 q clusters of q routers.
        """
        return consecutive_clusters(2 * self.q, self.q, f"groups of {self.q} routers")

    def layout(self) -> Layout:
        """Returns the two halves of the graph, each as a row of its q groups.

        Returns:
            A layout with a circle of q routers for each group.
        """
        q = self.q
        around_centre = circle(q, 0.36)
        group = np.arange(2 * q)
        centres = np.stack([group % q, -(group // q) * q / 2.5], axis=1).astype(float)
        return Layout(
            (centres[:, None, :] + around_centre).reshape(-1, 2),
            np.repeat([0, 1], q * q),
            ("(0, x, y)", "(1, m, c)"),
        )


def generators(field: FiniteField) -> tuple[list[int], list[int]]:
    """Returns the generator sets X and X': the differences y - y' and c - c' of linked routers.

    Args:
        field: GF(q), q >= 3.

    Returns:
        (X, X'): non-zero field elements, ascending; each set contains the negatives of its elements.

    Source:
        SC14, section II-B for delta = 1; Hafner, section 3 for delta = 0 and -1.
    """
    q = field.order
    delta = {1: 1, 3: -1, 0: 0}[q % 4]
    w = (q - delta) // 4
    exponents: tuple[Iterable[int], Iterable[int]]
    if delta == 1:
        exponents = range(0, q - 2, 2), range(1, q - 1, 2)
    elif delta == 0:
        exponents = range(0, q - 1, 2), range(1, q, 2)
    else:
        exponents = (
            [*range(0, 2 * w - 1, 2), *range(2 * w - 1, 4 * w - 2, 2)],
            [*range(1, 2 * w, 2), *range(2 * w, 4 * w - 1, 2)],
        )
    powers = [1]
    while len(powers) < q:
        powers.append(int(field.product[powers[-1], field.primitive_element]))
    first, second = (sorted({powers[exponent] for exponent in half}) for half in exponents)
    return first, second


def _links(field: FiniteField) -> npt.NDArray[np.int64]:
    q = field.order
    element = np.arange(q)
    links = []
    for half, differences in enumerate(generators(field)):
        for difference in differences:
            other = field.sum[element, difference].astype(np.int64)
            for group in range(q):
                base = half * q * q + group * q
                links.append(np.stack([base + element, base + other], axis=1))
    x, m, c = (grid.ravel() for grid in np.meshgrid(element, element, element, indexing="ij"))
    y = field.sum[field.product[m, x], c].astype(np.int64)
    links.append(np.stack([x * q + y, q * q + m * q + c], axis=1))
    return np.unique(np.sort(np.concatenate(links), axis=1), axis=0)


def mms_radix(q: int) -> int:
    """Returns the network radix of the McKay-Miller-Siran graph of a given order.

    Args:
        q: 4 w + delta, the order of the field, with delta 1, 0 or -1.

    Returns:
        (3 q - delta) / 2.
    """
    return (3 * q - {1: 1, 3: -1, 0: 0}[q % 4]) // 2


def _members() -> Iterator[Member]:
    """Yields the Slim Flies of all orders."""
    for q in filter(prime_power, range(SMALLEST_Q, LARGEST_Q + 1)):
        yield Member({"q": q}, mms_radix(q), 2 * q * q, carried_hosts(mms_radix(q), 2))


FAMILY = Family(
    SlimFly,
    (order_parameter(SMALLEST_Q, LARGEST_Q),),
    "McKay-Miller-Siran graph: 2 q^2 routers, diameter 2",
    "slimfly --q 5",
    "low-diameter",
    members=_members,
)
