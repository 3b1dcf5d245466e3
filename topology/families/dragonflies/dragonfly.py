"""Dragonflies: groups of fully connected routers; the groups are fully connected by global links.

Each group has `a` routers, each router has h global links, and every two groups have t links between them:
a h = t (b - 1) for b groups. With t = 1 and a = 2 h this is the canonical dragonfly. Instead of a complete
graph, the routers of a group may form a Hamming graph, as in Cray's Cascade.

Source: Kim, Dally, Scott, Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology" (ISCA 2008), section
3; trunking and arrangements: Camarero, Vallejo, Beivide (TACO 2014), sections 4 and 5; groups that are
Hamming graphs: Faanes et al., "Cray Cascade: a Scalable HPC System based on a Dragonfly Network" (SC12).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from topology.analysis.balance import LinkClass, balanced_alpha, groups_at
from topology.base import MAX_ROUTERS
from topology.clusters import Clusters, consecutive_clusters
from topology.errors import ParameterError
from topology.families.checks import check_integer, check_routers
from topology.families.classic.product import CartesianProduct, complete_factor, nested_circles
from topology.families.classic.shapes import read_shape, shape_parameter, shape_text
from topology.families.dragonflies.global_links import (
    ARRANGEMENTS,
    Trunking,
    check_arrangement,
    gateways,
    global_links,
    nearest_text,
    trunkings,
)
from topology.families.family import Family, Member
from topology.layout import Layout, circle
from topology.parameters import Parameter, Value
from topology.shortest_paths import SearchedTopology, adjacency_from_links

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class Dragonfly(SearchedTopology):
    """A dragonfly of b groups of size a: diameter 3, or 2 D + 1 with groups of D dimensions.

    Router order: router i of group g has index g a + i; in a group that is a Hamming graph, the digits of i
    are the coordinates, the first one most significant. All shortest paths are minimal routes; some of them
    take two global links. The routing `hierarchical` takes at most one.

    Attributes:
        a: the number of routers of a group.
        h: the number of global links of a router.
        trunking: b, the number of groups, and t, the number of links between every two of them.
        group_of: int64 array, N: the group of each router.
        gateways: int64 array, b x b x t: link number c between groups g and k joins the routers
            gateways[g, k, c] and gateways[k, g, c]; -1 where g = k.
    """

    name = "dragonfly"

    def __init__(
        self,
        h: int,
        a: int | None = None,
        groups: int | None = None,
        trunking: int | None = None,
        arrangement: str = "palmtree",
        seed: int | None = None,
        local: str | None = None,
    ) -> None:
        """Builds the graph.

        Args:
            h: the number of global links of a router, at least 1.
            a: the number of routers of a group, at least 2; with `local`, the product of its sizes.
            groups: b, the number of groups; by default a h / t + 1.
            trunking: t, the number of links between every two groups, 1 to a; by default a h / (b - 1), or 1.
            arrangement: `palmtree`, `consecutive`, `circulant` or `random`.
            seed: seed of the random arrangement, at least 0, by default 1; None for other arrangements.
            local: the shape of groups that are Hamming graphs, such as `4x4`; by default they are complete.

        Raises:
            ParameterError: a parameter is outside its domain, or a h and t (b - 1) differ; the message names
                the nearest members.
        """
        self.local = (_group_size(a),) if local is None else read_shape(local, "local")
        self.a = math.prod(self.local)
        if a is not None and a != self.a:
            raise ParameterError(f"a must be {self.a} to match --local {local}, or omitted, got {a}")
        check_integer("h", h, 1)
        if seed is not None and arrangement != "random":
            raise ParameterError(f"seed needs the arrangement random, got {arrangement}")
        seed = 1 if seed is None else seed
        check_integer("seed", seed, 0)
        self.h = h
        self.trunking = chosen_trunking(self.a * h, self.a, groups, trunking)
        check_routers("a dragonfly", self.a * self.trunking.groups)
        check_arrangement(arrangement, self.trunking, h, trunkings(self.a * h, self.a))
        self.params = self._params(arrangement, seed)
        members = np.arange(self.a * self.trunking.groups).reshape(-1, self.a)
        self.group_of = np.repeat(np.arange(len(members)), self.a)
        ends = ARRANGEMENTS[arrangement](self.trunking, seed)
        self.gateways = gateways(ends, self.trunking, np.repeat(members, h, axis=1))
        links = np.concatenate([self.global_links, _local_links(self.local, members)])
        super().__init__(adjacency_from_links(members.size, links))

    def _params(self, arrangement: str, seed: int) -> dict[str, Value]:
        shape: dict[str, Value] = {"local": shape_text(self.local)} if len(self.local) > 1 else {}
        drawn: dict[str, Value] = {"seed": seed} if arrangement == "random" else {}
        numbers = {"groups": self.trunking.groups, "trunking": self.trunking.links}
        return {"a": self.a, "h": self.h, **numbers, "arrangement": arrangement, **drawn, **shape}

    @property
    def global_links(self) -> npt.NDArray[np.int64]:
        """int64 array, links x 2: the ends of each global link, the lower group first."""
        return global_links(self.gateways)

    @cached_property
    def distance_table(self) -> npt.NDArray[np.int16]:
        """int16 array, N x N: the distance of every ordered pair; at most 3 if groups are complete."""
        if len(self.local) > 1:
            return super().distance_table
        from scipy.sparse import csr_matrix

        starts, neighbours = self.adjacency.starts, self.adjacency.neighbours
        joined: csr_matrix = csr_matrix((np.ones(len(neighbours), np.float32), neighbours, starts))
        table = np.full((self.routers, self.routers), 3, np.int16)
        table[(joined @ joined).nonzero()] = 2
        table[joined.nonzero()] = 1
        np.fill_diagonal(table, 0)
        return table

    def link_classes(self) -> tuple[LinkClass, ...]:
        """Returns the classes of local and global links (`topology.analysis.balance`).

        Returns:
            The classes, for packets that cross at most one global link; among parallel global links, a packet
            takes the one with the fewest local hops. If groups are Hamming graphs, each dimension is a class
            of local links. Hamming groups with trunking have no classes, because the best global link then
            depends on the arrangement.
        """
        a, b, t = self.a, self.trunking.groups, self.trunking.links
        if len(self.local) > 1:
            return () if t > 1 else self._link_classes_of_dimensions()
        return complete_link_classes(a, self.h, b, t)

    def link_ratios(self) -> Mapping[str, float]:
        """Returns how well numbers of local and global links match (TACO 2014, section 5.1).

        Returns:
            `alpha`, the number of global links per local link; `balanced_alpha`, the ratio of the hops over
            them under uniform traffic; `balanced_groups`, the number of groups for which both are equal. None
            of these for groups that are Hamming graphs.
        """
        if len(self.local) > 1:
            return {}
        ratio = balanced_alpha(self.a, self.trunking.links)
        groups = groups_at(ratio, self.a, self.trunking.links)
        return {"alpha": self.h / (self.a - 1), "balanced_alpha": ratio, "balanced_groups": groups}

    def _link_classes_of_dimensions(self) -> tuple[LinkClass, ...]:
        """Returns the classes of a dragonfly of Hamming groups with one link between every two groups.

        In the source group and in the destination group, a packet to another group travels between the router
        of the global link and a uniformly random router: (k - 1) / k hops in each dimension of size k.
        """
        b = self.trunking.groups
        local = (
            LinkClass(f"local dimension {place}", size - 1, (size - 1) / size * (2 * b - 1) / b)
            for place, size in enumerate(self.local, 1)
        )
        return (*local, LinkClass("global", self.h, (b - 1) / b))

    def clusters(self) -> Clusters:
        """Returns the groups.

        Returns:
            b clusters of size a.
        """
        return consecutive_clusters(self.trunking.groups, self.a, f"groups of {self.a} routers")

    def layout(self) -> Layout:
        """Returns the groups on a circle, each with its routers on a circle or on nested circles.

        Returns:
            A layout with one kind of routers.
        """
        b = self.trunking.groups
        # Neighbours on the circle are 2 sin(pi / b) apart.
        inside = nested_circles(self.local) * 0.62 * min(np.sin(np.pi / b), 0.5)
        positions = (circle(b)[:, None, :] + inside).reshape(-1, 2)
        return Layout(positions, np.zeros(self.routers, np.int64), ("routers",))


def complete_link_classes(a: int, h: int, b: int, t: int) -> tuple[LinkClass, ...]:
    """Returns the link classes of a dragonfly with complete groups.

    Args:
        a: the number of routers of a group.
        h: the number of global links of a router.
        b: the number of groups.
        t: the trunking, the number of links between every two groups; a h = t (b - 1).

    Returns:
        The classes of local and global links, for paths with at most one global link.
    """
    inside = (a - 1) / a
    # Of the a^2 pairs of routers of two groups, t need no local hop, and 2 t a - t^2 need at most one.
    across = 2 - (2 * t * a - t * t + t) / a**2
    local = (inside + (b - 1) * across) / b
    return LinkClass("local", a - 1, local), LinkClass("global", h, (b - 1) / b)


def chosen_trunking(
    ports: int, most: int, groups: int | None, trunking: int | None, name: str = "trunking"
) -> Trunking:
    """Returns the numbers of groups and global ports that follow from the given parameters.

    Args:
        ports: P, the number of global ports of a group.
        most: the largest trunking.
        groups: b, the number of groups; None for P / t + 1.
        trunking: t, the number of links between every two groups; None for P / (b - 1), or 1 without b.
        name: the name of the parameter t, for messages.

    Raises:
        ParameterError: P is not t (b - 1), or t exceeds `most`; the message names the nearest values.
    """
    fitting = trunkings(ports, most)
    if groups is None:
        trunking = 1 if trunking is None else trunking
        check_integer(name, trunking, 1)
        for one in fitting:
            if one.links == trunking:
                return one
        known = ", ".join(str(one.links) for one in fitting)
        raise ParameterError(
            f"{name} must be a divisor of {ports}, a group's links to other groups, up to {most} "
            f"({known}), got {trunking}"
        )
    check_integer("groups", groups, 2)
    for one in fitting:
        if one.groups == groups and trunking in (None, one.links):
            return one
    got = f"{groups}" if trunking is None else f"{groups} with trunking {trunking}"
    raise ParameterError(
        f"groups must be {ports} / trunking + 1 (global links of a group: {ports}, trunking: 1 to {most}), "
        f"got {got}; {nearest_text(fitting, groups)}"
    )


def _group_size(a: int | None) -> int:
    if a is None:
        raise ParameterError("dragonfly needs --a or --local, as in: dragonfly --a 4 --h 2")
    check_integer("a", a, 2)
    return a


def _local_links(shape: tuple[int, ...], members: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Returns the links inside all groups, which are Hamming graphs of a shape.

    Args:
        shape: the sizes of the dimensions of a group.
        members: int64 array, groups x routers of a group: the indices of the routers.

    Returns:
        int64 array, links x 2: the routers at both ends.
    """
    group = CartesianProduct([complete_factor(size) for size in shape])
    inside = np.array([(link.a, link.b) for link in group.link_list])
    return members[:, inside].reshape(-1, 2)


def _members() -> Iterator[Member]:
    """Yields dragonflies of all trunkings with 2 h - 1 to 2 h + 1 routers per group and h hosts per router.

    Source:
        Kim et al. (ISCA 2008), section 3.1: a = 2 p = 2 h balances the load of links.
    """
    for h in range(1, math.isqrt(MAX_ROUTERS)):
        for a in range(max(2 * h - 1, 2), 2 * h + 2):
            for one in trunkings(a * h, a):
                trunked = {"trunking": one.links} if one.links > 1 else {}
                yield Member({"a": a, "h": h, **trunked}, a - 1 + h, a * one.groups, h)


FAMILY = Family(
    Dragonfly,
    (
        Parameter(
            name="a",
            type=int,
            help="routers of a group",
            least=2,
            most=MAX_ROUTERS,
            default_text="product of the sizes of --local",
        ),
        Parameter(
            name="h", type=int, help="global links of a router", required=True, least=1, most=MAX_ROUTERS
        ),
        Parameter(
            name="groups",
            type=int,
            help="groups",
            least=2,
            most=MAX_ROUTERS,
            default_text="a h / trunking + 1",
        ),
        Parameter(
            name="trunking",
            type=int,
            help="links between every two groups",
            least=1,
            most=MAX_ROUTERS,
            default_text="a h / (groups - 1), or 1",
        ),
        Parameter(
            name="arrangement",
            type=str,
            help="arrangement of the global links",
            choices=lambda: ARRANGEMENTS,
            default="palmtree",
        ),
        Parameter(name="seed", type=int, help="seed of the random arrangement", least=0, default_text="1"),
        shape_parameter(
            "local",
            "shape of groups that are Hamming graphs, instead of --a",
            required=False,
            default_text="complete groups",
        ),
    ),
    "fully connected groups: a (a h / t + 1) routers, diameter 3",
    "dragonfly --a 4 --h 2",
    "dragonflies",
    members=_members,
)
