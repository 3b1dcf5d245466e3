"""Bundlefly: the star product of a McKay-Miller-Siran graph with a Paley graph, diameter 3.

The routers of a supernode are linked one to one to those of an adjacent supernode; one multi-fibre cable can
carry these links. The diameter is 3 because the structure graph has diameter 2 and Paley graphs have property
R1 (`topology.families.low_diameter.supernodes`).

Source: Lei, Dong, Liao and Duato, "Bundlefly: A Low-Diameter Topology for Multicore Fiber" (ICS 2020);
PolarStar, section 4 and Table 3.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from topology.base import MAX_ROUTERS
from topology.clusters import Clusters, consecutive_clusters
from topology.errors import ParameterError
from topology.families.family import Family, Member, carried_hosts, order_parameter
from topology.families.low_diameter.slimfly import SMALLEST_Q, SlimFly, mms_radix
from topology.families.low_diameter.star_product import links_across, links_inside
from topology.families.low_diameter.supernodes import check_degree, make_supernode, supernode_exists
from topology.finite_fields.prime_powers import check_order, prime_power
from topology.layout import Layout, circle
from topology.parameters import Parameter, one_of
from topology.shortest_paths import SearchedTopology, adjacency_from_links

# 2 q^2 (2 d' + 1) routers must not exceed MAX_ROUTERS; the smallest Paley graph has 5 vertices.
LARGEST_Q, SMALLEST_DEGREE, LARGEST_DEGREE = 37, 2, 50


class Bundlefly(SearchedTopology):
    """The star product of the McKay-Miller-Siran graph of order q with the Paley graph of degree d'.

    It has 2 q^2 (2 d' + 1) routers of radix (3 q - delta) / 2 + d', where q = 4 w + delta.

    Router order: (u, x), vertex x of supernode u, has index u (2 d' + 1) + x; supernodes are ordered like
    Slim Fly's routers.

    Attributes:
        structure: the McKay-Miller-Siran graph.
    """

    name = "bundlefly"

    def __init__(self, q: int, degree: int) -> None:
        """Builds the graph.

        Args:
            q: the order of the structure graph's field, a prime power from 3 to 37.
            degree: d', the degree of the supernodes; 2 d' + 1 is a prime power and 1 modulo 4.

        Raises:
            ParameterError: a parameter is outside its domain, or the graph would have more than 16384
                routers; the message names the nearest values.
        """
        check_order(q, SMALLEST_Q, LARGEST_Q)
        check_degree("paley", degree)
        self.order = 2 * degree + 1
        routers = 2 * q * q * self.order
        if routers > MAX_ROUTERS:
            fitting = [
                d
                for d in range(SMALLEST_DEGREE, LARGEST_DEGREE + 1)
                if supernode_exists("paley", d) and 2 * q * q * (2 * d + 1) <= MAX_ROUTERS
            ]
            raise ParameterError(
                f"a bundlefly must have at most {MAX_ROUTERS} routers, got {routers}; "
                f"with q = {q}, degree must be {one_of(map(str, fitting))}"
            )
        self.q = q
        self.params = {"q": q, "degree": degree}
        self.structure = SlimFly(q)
        supernode = make_supernode("paley", degree)
        matrices = np.broadcast_to(
            supernode.adjacency_matrix, (self.structure.routers, self.order, self.order)
        )
        links = links_across(self.structure, supernode.image), links_inside(matrices)
        super().__init__(adjacency_from_links(routers, np.concatenate(links)))

    def clusters(self) -> Clusters:
        """Returns the supernodes.

        Returns:
            2 q^2 clusters of 2 d' + 1 routers.
        """
        return consecutive_clusters(self.structure.routers, self.order, f"supernodes of {self.order} routers")

    def layout(self) -> Layout:
        """Returns the layout of Slim Fly for the structure graph, with a circle of routers for each vertex.

        Returns:
            A layout whose kinds are the two halves of the structure graph.
        """
        drawn = self.structure.layout()
        around_centre = circle(self.order, min(0.12, 0.26 * float(np.sin(np.pi / self.q))))
        positions = (drawn.positions[:, None, :] + around_centre).reshape(-1, 2)
        return Layout(positions, np.repeat(drawn.kind, self.order), drawn.kinds)


def _members() -> Iterator[Member]:
    """Yields the Bundleflies of all orders and degrees."""
    for q in filter(prime_power, range(SMALLEST_Q, LARGEST_Q + 1)):
        for degree in range(SMALLEST_DEGREE, LARGEST_DEGREE + 1):
            if supernode_exists("paley", degree):
                radix, routers = mms_radix(q) + degree, 2 * q * q * (2 * degree + 1)
                yield Member({"q": q, "degree": degree}, radix, routers, carried_hosts(radix, 3))


FAMILY = Family(
    Bundlefly,
    (
        order_parameter(SMALLEST_Q, LARGEST_Q),
        Parameter(
            name="degree",
            type=int,
            help="links of each router inside its supernode (d'), a Paley graph of 2 d' + 1 routers",
            required=True,
            least=SMALLEST_DEGREE,
            most=LARGEST_DEGREE,
            rule=lambda degree: check_degree("paley", degree),
            domain_text="(r - 1) / 2 for a prime power r = 1 modulo 4",
        ),
    ),
    "star product of McKay-Miller-Siran and Paley graphs: 2 q^2 (2 degree + 1) routers, diameter 3",
    "bundlefly --q 3 --degree 2",
    "low-diameter",
    members=_members,
)
