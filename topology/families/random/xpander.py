"""Xpander: a random lift of a complete graph.

A lift of k replaces every router of the complete graph of d + 1 routers by k copies (a metanode), and every
link by a random perfect matching between two metanodes. Every router has one link to each of the d other
metanodes.

Source: Valadarsky, Shahaf, Dinitz and Schapira, "Xpander: Towards Optimal-Performance Datacenters"
(ACM conference on emerging networking experiments and technologies, 2016).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

import numpy as np

from topology.base import MAX_ROUTERS
from topology.clusters import Clusters, consecutive_clusters
from topology.errors import ParameterError
from topology.families.family import Family, Member, carried_hosts
from topology.families.random.generator import SEED, SplitMix64
from topology.families.random.regular import ConnectedDraw, Links
from topology.layout import Layout, on_circles
from topology.parameters import Parameter

DEGREE = Parameter(
    name="degree",
    type=int,
    help="links of each router, one to each other metanode",
    required=True,
    least=3,
    most=MAX_ROUTERS - 1,
)
LIFT = Parameter(
    name="lift", type=int, help="routers of each metanode", required=True, least=1, most=MAX_ROUTERS // 4
)


class Xpander(ConnectedDraw):
    """A random lift of the complete graph of degree + 1 routers, redrawn until it is connected.

    Router order: router x of metanode u has index u lift + x.
    """

    name = "xpander"

    def __init__(self, degree: int, lift: int, seed: int = 1) -> None:
        """Draws the graph.

        Args:
            degree: d, the number of links of each router, at least 3.
            lift: k, the number of routers of each of the d + 1 metanodes; (d + 1) k is at most 16384.
            seed: the seed of the random matchings, 0 to 2^63 - 1.

        Raises:
            ParameterError: a parameter is outside its domain; the message names the nearest values.
        """
        for declared, value in ((DEGREE, degree), (LIFT, lift), (SEED, seed)):
            declared.check(value)
        self.metanodes, self.lift = degree + 1, lift
        routers = self.metanodes * lift
        if routers > MAX_ROUTERS:
            raise ParameterError(
                f"routers (degree + 1) x lift must be at most {MAX_ROUTERS}, got {routers}; "
                f"nearest: --lift {MAX_ROUTERS // self.metanodes} or --degree {MAX_ROUTERS // lift - 1}"
            )
        self.params = {"degree": degree, "lift": lift, "seed": seed}
        generator = SplitMix64(seed)
        super().__init__(routers, lambda: self._matchings(generator))

    def _matchings(self, generator: SplitMix64) -> Links:
        """Returns an int64 array, links x 2: the links, a random matching between every two metanodes."""
        first, second = np.triu_indices(self.metanodes, 1)
        words = generator.words(len(first) * self.lift).reshape(-1, self.lift)
        partners = np.argsort(words, axis=1, kind="stable")
        ends = first[:, None] * self.lift + np.arange(self.lift), second[:, None] * self.lift + partners
        return np.stack(ends, axis=-1).reshape(-1, 2).astype(np.int64)

    def clusters(self) -> Clusters:
        """Returns the metanodes.

        Returns:
            degree + 1 clusters of `lift` routers.
        """
        return consecutive_clusters(self.metanodes, self.lift, f"metanodes of {self.lift} routers")

    def layout(self) -> Layout:
        """Returns the metanodes on a circle, each with its routers on a circle of its own.

        Returns:
            A layout with one kind of routers.
        """
        positions = on_circles(self.metanodes, self.lift)
        return Layout(positions, np.zeros(self.routers, np.int64), ("routers",))


def _members() -> Iterator[Member]:
    """Yields one Xpander for each network radix d, with metanodes of d routers.

    It has d (d + 1) routers, about as many as the PolarFly of that radix.
    """
    for degree in range(3, isqrt(MAX_ROUTERS) + 1):
        routers = degree * (degree + 1)
        yield Member({"degree": degree, "lift": degree}, degree, routers, carried_hosts(degree, 2))


FAMILY = Family(
    Xpander,
    (DEGREE, LIFT, SEED),
    "random lift of a complete graph: (degree + 1) lift routers",
    "xpander --degree 4 --lift 4 --seed 1",
    "random",
    members=_members,
)
