"""Jellyfish: a random regular graph.

Source: Singla, Hong, Popa and Godfrey, "Jellyfish: Networking Data Centers Randomly" (NSDI 2012), section 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

import numpy as np

from topology.base import MAX_ROUTERS
from topology.errors import ParameterError
from topology.families.family import Family, Member, carried_hosts
from topology.families.random.generator import SEED, SplitMix64
from topology.families.random.regular import ROUTERS, ConnectedDraw, check_even, random_regular_links
from topology.parameters import Parameter

DEGREE = Parameter(
    name="degree",
    type=int,
    help="links of each router",
    required=True,
    least=3,
    domain_text="3 to the number of routers minus 1",
)


class Jellyfish(ConnectedDraw):
    """A random graph in which every router has the same number of links, redrawn until it is connected.

    Router order: as drawn; all routers are equivalent.
    """

    name = "jellyfish"

    def __init__(self, routers: int, degree: int, seed: int = 1) -> None:
        """Draws the graph.

        Args:
            routers: N, the number of routers, 4 to 16384.
            degree: the number of links of each router, 3 to N - 1; N x degree is even.
            seed: the seed of the random links, 0 to 2^63 - 1.

        Raises:
            ParameterError: a parameter is outside its domain, or N x degree is odd; the message names the
                nearest values.
        """
        for declared, value in ((ROUTERS, routers), (DEGREE, degree), (SEED, seed)):
            declared.check(value)
        if degree >= routers:
            raise ParameterError(
                f"degree of a jellyfish of {routers} routers must be 3 to {routers - 1}, got {degree}"
            )
        check_even(routers, degree, DEGREE.name, range(3, routers))
        self.params = {"routers": routers, "degree": degree, "seed": seed}
        generator, excluded = SplitMix64(seed), np.empty((0, 2), np.int64)
        super().__init__(routers, lambda: random_regular_links(routers, degree, generator, excluded))


def _members() -> Iterator[Member]:
    """Yields one Jellyfish for each network radix, with as many routers as the PolarFly of that radix.

    An odd radix needs an even number of routers, so the Jellyfish then has one router fewer.
    """
    for radix in range(3, isqrt(MAX_ROUTERS) + 1):
        routers = radix * (radix - 1) + 1 - radix % 2
        yield Member({"routers": routers, "degree": radix}, radix, routers, carried_hosts(radix, 2))


FAMILY = Family(
    Jellyfish,
    (ROUTERS, DEGREE, SEED),
    "random regular graph, redrawn until it is connected",
    "jellyfish --routers 20 --degree 4 --seed 1",
    "random",
    members=_members,
)
