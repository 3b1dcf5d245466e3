"""Dragonflies of three levels: fully connected supergroups, each of which is a dragonfly.

The `a` routers of a group are fully connected. A supergroup consists of b2 groups, with t2 links between
every two: a h2 = t2 (b2 - 1). Supergroups are connected like groups, by h3 links of each router:
a b2 h3 = t3 (b3 - 1) for b3 supergroups. Both levels are extended palmtrees.

Source: Camarero, Vallejo, Beivide (TACO 2014), section 8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isqrt

import numpy as np
import numpy.typing as npt

from topology.base import MAX_ROUTERS
from topology.clusters import Clusters, consecutive_clusters
from topology.families.checks import check_integer, check_routers
from topology.families.dragonflies.dragonfly import Dragonfly, chosen_trunking
from topology.families.dragonflies.global_links import gateways, global_links, palmtree
from topology.families.family import Family, Member
from topology.layout import Layout, circle
from topology.parameters import Parameter
from topology.shortest_paths import SearchedTopology, adjacency_from_links


class Dragonfly3(SearchedTopology):
    """A dragonfly of three levels: b3 supergroups of b2 groups of size a, diameter at most 7.

    Router order: router i of group g of supergroup s has index (s b2 + g) a + i. All shortest paths are
    minimal routes.

    Attributes:
        supergroup: the graph of one supergroup, a dragonfly of two levels.
        h3: the number of links of a router to other supergroups.
        trunking: b3, the number of supergroups, and t3, the number of links between every two of them.
        group_of: int64 array, N: the group of each router, counted over all supergroups.
        supergroup_of: int64 array, N: the supergroup of each router.
        gateways: int64 array, b3 x b3 x t3: link number c between supergroups s and k joins the routers
            gateways[s, k, c] and gateways[k, s, c]; -1 where s = k.
    """

    name = "dragonfly3"

    def __init__(self, a: int, h2: int, h3: int, t2: int = 1, t3: int = 1) -> None:
        """Builds the graph.

        Args:
            a: the number of routers of a group, at least 2.
            h2: the number of links of a router to other groups of its supergroup, at least 1.
            h3: the number of links of a router to other supergroups, at least 1.
            t2: the number of links between every two groups of a supergroup, at most a;
                it divides the product a h2.
            t3: the number of links between every two supergroups, at most a b2; it divides the
                product a b2 h3.

        Raises:
            ParameterError: a parameter is outside its domain; the message names the valid values.
        """
        check_integer("h3", h3, 1)
        check_integer("a", a, 2)
        check_integer("h2", h2, 1)
        chosen_trunking(a * h2, a, None, t2, "t2")
        self.h3 = h3
        self.supergroup = Dragonfly(h=h2, a=a, trunking=t2)
        size = self.supergroup.routers
        self.trunking = chosen_trunking(size * h3, size, None, t3, "t3")
        b3 = self.trunking.groups
        check_routers("a dragonfly3", size * b3)
        self.params = {"a": a, "h2": h2, "h3": h3, "t2": t2, "t3": t3}
        members = np.arange(size * b3).reshape(b3, size)
        self.supergroup_of = np.repeat(np.arange(b3), size)
        self.group_of = np.arange(size * b3) // a
        ends = palmtree(self.trunking)
        self.gateways = gateways(ends, self.trunking, np.repeat(members, h3, axis=1))
        inside = np.array([(link.a, link.b) for link in self.supergroup.link_list])
        links = np.concatenate([members[:, inside].reshape(-1, 2), self.global_links])
        super().__init__(adjacency_from_links(members.size, links))

    @property
    def global_links(self) -> npt.NDArray[np.int64]:
        """int64 array, links x 2: the routers at the ends of each link between two supergroups."""
        return global_links(self.gateways)

    def clusters(self) -> Clusters:
        """Returns the supergroups.

        Returns:
            b3 clusters of size a b2.
        """
        size = self.supergroup.routers
        return consecutive_clusters(self.trunking.groups, size, f"supergroups of {size} routers")

    def link_ratios(self) -> Mapping[str, float]:
        """Returns the ratios of links of two levels (TACO 2014, section 8).

        Returns:
            `alpha`, the number of links between groups per local link, and `beta`, the number of links
            between supergroups per link between groups.
        """
        below = self.supergroup
        return {"alpha": below.h / (below.a - 1), "beta": self.h3 / below.h}

    def layout(self) -> Layout:
        """Returns the supergroups on a circle, each drawn as a dragonfly of two levels.

        Returns:
            A layout with one kind of routers.
        """
        b3 = self.trunking.groups
        inside = self.supergroup.layout().positions * 0.5 * np.sin(np.pi / b3)
        positions = (circle(b3)[:, None, :] + inside).reshape(-1, 2)
        return Layout(positions, np.zeros(self.routers, np.int64), ("routers",))


def _number(name: str, help: str, default: int | None = None, least: int = 1) -> Parameter:
    required = default is None
    return Parameter(
        name=name, type=int, help=help, required=required, default=default, least=least, most=MAX_ROUTERS
    )


def _members() -> Iterator[Member]:
    """Yields graphs without trunking in which no level has more links than the level below it.

    Each router has as many hosts as links to other supergroups (h3).
    """
    for a in range(2, isqrt(isqrt(MAX_ROUTERS)) + 1):  # there are more than a^4 routers
        for h2 in range(1, a + 1):
            for h3 in range(1, h2 + 1):
                size = a * (a * h2 + 1)
                params = {"a": a, "h2": h2, "h3": h3}
                yield Member(params, a - 1 + h2 + h3, size * (size * h3 + 1), h3)


FAMILY = Family(
    Dragonfly3,
    (
        _number("a", "routers of a group", least=2),
        _number("h2", "links of a router to other groups of its supergroup"),
        _number("h3", "links of a router to other supergroups"),
        _number("t2", "links between every two groups of a supergroup", 1),
        _number("t3", "links between every two supergroups", 1),
    ),
    "fully connected supergroups, each a dragonfly: three levels, diameter at most 7",
    "dragonfly3 --a 2 --h2 1 --h3 1",
    "dragonflies",
    members=_members,
)
