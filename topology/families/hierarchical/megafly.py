"""Megafly, or Dragonfly+: groups of leaf and spine routers, joined by global links between spines.

A group has a / 2 leaves and a / 2 spines; every leaf has a link to every spine of its group. Each spine has
rho global links; with one link between every two groups there are rho a / 2 + 1 groups. Only leaves have
hosts.

Source: Flajslik, Borch, Parker, "Megafly: A Topology for Exascale Systems" (ISC 2018); Shpiner et
al., "Dragonfly+: Low Cost Topology for Scaling Datacenters" (HiPINEB 2017). Global links are a
palmtree.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

import numpy as np
import numpy.typing as npt

from topology.base import MAX_ROUTERS
from topology.clusters import Clusters, consecutive_clusters
from topology.errors import ParameterError
from topology.families.checks import check_integer, check_routers_of
from topology.families.dragonflies.global_links import Trunking, gateways, global_links, palmtree
from topology.families.family import Family, Member
from topology.families.hierarchical.levels import LevelledTopology
from topology.layout import Layout, circle
from topology.parameters import Parameter
from topology.shortest_paths import adjacency_from_links


class Megafly(LevelledTopology):
    """A Megafly of rho a / 2 + 1 groups of size a: diameter 3 between leaves, at most 5 overall.

    Router order: router i of group g has index g a + i; the leaves of a group come first.

    Attributes:
        a: the number of routers of a group, half of them leaves.
        rho: the number of global links of a spine.
        trunking: the number of groups, and the number of links between every two of them, 1.
        group_of: int64 array, N: the group of each router.
        level_of: int64 array, N: 0 for leaves, 1 for spines.
        gateways: int64 array, groups x groups x 1: the spines gateways[g, k, 0] and gateways[k, g, 0] are
            joined; -1 where g = k.
    """

    name = "megafly"
    level_names = ("leaves", "spines")

    def __init__(self, rho: int, a: int) -> None:
        """Builds the graph.

        Args:
            rho: the number of global links of a spine, at least 1.
            a: the number of routers of a group, even and at least 2.

        Raises:
            ParameterError: a parameter is outside its domain, or the graph has more than 16384 routers.
        """
        check_integer("rho", rho, 1)
        check_integer("a", a, 2)
        if a % 2:
            raise ParameterError(
                f"a must be even, half leaves and half spines, got {a}; nearest: {a - 1} and {a + 1}"
            )
        check_routers_of("a megafly", "a", a, lambda size: (size // 2 * rho + 1) * size, step=2)
        half = a // 2
        self.a, self.rho = a, rho
        self.trunking = Trunking(half * rho + 1, half * rho)
        groups = self.trunking.groups
        self.params = {"rho": rho, "a": a}
        members = np.arange(groups * a).reshape(groups, a)
        self.group_of = np.repeat(np.arange(groups), a)
        self.level_of = np.arange(groups * a) % a // half
        self.gateways = gateways(
            palmtree(self.trunking), self.trunking, np.repeat(members[:, half:], rho, axis=1)
        )
        leaves = np.repeat(members[:, :half], half, axis=1)
        spines = np.tile(members[:, half:], half)
        local = np.stack([leaves.ravel(), spines.ravel()], axis=1)
        super().__init__(adjacency_from_links(members.size, np.concatenate([local, self.global_links])))

    @property
    def global_links(self) -> npt.NDArray[np.int64]:
        """int64 array, links x 2: the ends of each global link, the lower group first."""
        return global_links(self.gateways)

    def clusters(self) -> Clusters:
        """Returns the groups.

        Returns:
            rho a / 2 + 1 clusters of size a.
        """
        return consecutive_clusters(self.trunking.groups, self.a, f"groups of {self.a} routers")

    def layout(self) -> Layout:
        """Returns the groups on a circle; spines point inward, leaves outward.

        Returns:
            A layout whose kinds are leaves and spines.
        """
        groups, half = self.trunking.groups, self.a // 2
        # Positions in a group at the top; neighbours on the circle are 2 sin(pi / groups) apart.
        size = 0.5 * min(np.sin(np.pi / groups), 0.5)
        across = np.linspace(-1, 1, half) if half > 1 else np.zeros(1)
        group = np.concatenate([np.stack([across, np.full(half, height)], axis=1) for height in (0.7, -0.7)])
        centres = circle(groups)
        outward, sideways = centres, centres @ np.array([[0.0, -1.0], [1.0, 0.0]])
        places = group[:, 0, None] * sideways[:, None] + group[:, 1, None] * outward[:, None]
        positions = (centres[:, None] + size * places).reshape(-1, 2)
        return Layout(positions, 1 - self.level_of, ("spines", "leaves"))


def _members() -> Iterator[Member]:
    """Yields the graphs with rho = a / 2 and a / 2 hosts at each leaf; all routers then have `a` ports."""
    for half in range(1, isqrt(MAX_ROUTERS)):
        groups = half * half + 1
        yield Member({"rho": half, "a": 2 * half}, 2 * half, 2 * half * groups, half, half * groups)


FAMILY = Family(
    Megafly,
    (
        Parameter(name="rho", type=int, help="global links of a spine", required=True, least=1, most=16384),
        Parameter(
            name="a",
            type=int,
            help="routers of a group, half leaves and half spines",
            required=True,
            least=2,
            most=16384,
        ),
    ),
    "groups of leaves and spines (Dragonfly+): a (a rho / 2 + 1) routers, at most 3 hops between leaves",
    "megafly --rho 2 --a 8",
    "hierarchical",
    members=_members,
)
