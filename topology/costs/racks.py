"""Racks: sets of routers that stand together with their endpoints, on a floor of rows and columns.

Racks are numbered along the rows of the floor, which is about as deep as wide. Of most families, a rack is a
cluster (`Topology.clusters`); routers of no cluster, as the quadrics of PolarFly and the highest level of a
fat tree, have racks of their own in the middle of the floor, about as large as the others.

Source: Slim Fly (SC14), section VI (pairs of groups as racks); PolarFly (SC22), section V (clusters, and the
quadrics as one); Kim, Dally and Abts, "Flattened Butterfly" (ISCA 2007) (a dimension in the rack, one along
rows and one along columns).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from topology.base import Topology
from topology.families.classic.hyperx import HyperX
from topology.families.low_diameter.slimfly import SlimFly

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Racks:
    """Racks of a network on the floor.

    Attributes:
        rack_of: int64 array, N: the rack of each router; each has at least one.
        columns: number of racks of a row of the floor; the last row may have fewer.
    """

    rack_of: Integers
    columns: int

    @cached_property
    def count(self) -> int:
        """R, the number of racks."""
        return int(self.rack_of.max()) + 1

    @property
    def rows(self) -> int:
        """The number of rows of the floor."""
        return -(-self.count // self.columns)

    @cached_property
    def sizes(self) -> Integers:
        """int64 array, R: the number of routers of each rack."""
        return np.bincount(self.rack_of, minlength=self.count).astype(np.int64)

    def steps(self, pairs: Integers) -> Integers:
        """Returns the Manhattan distance of racks.

        Args:
            pairs: int64 array, M x 2, of racks.

        Returns:
            int64 array, M: rows and columns between the two racks of each pair.
        """
        apart = np.stack([pairs // self.columns, pairs % self.columns])
        return np.asarray(np.abs(apart[..., 0] - apart[..., 1]).sum(axis=0))


@dataclass(frozen=True)
class RackLinks:
    """Links inside racks and between them; parallel links count each.

    Attributes:
        inside: int64 array, R: number of links between routers of each rack.
        bundles: int64 array, M x 2: every two racks that links join, the lower one first, ascending.
        links: int64 array, M: number of links between the racks of each bundle.
    """

    inside: Integers
    bundles: Integers
    links: Integers

    @property
    def between(self) -> int:
        """The number of all links between racks."""
        return int(self.links.sum())


def racks_of(topology: Topology) -> Racks:
    """Returns the racks of a network.

    Args:
        topology: the graph.

    Returns:
        Of Slim Fly, rack i has the groups (0, i, .) and (1, i, .). Of HyperX, a rack has the routers that
        differ in the last coordinate alone. Of others, a rack has a cluster, and further ones the routers of
        none. Graphs without clusters have racks of sqrt(2 N) routers in their order, as many as Slim Fly's.
    """
    for kind, layout in _LAYOUTS:
        if isinstance(topology, kind):
            return layout(topology)
    members = topology.clusters().members
    return _of_clusters(topology, members) if members else _of_order(topology)


def links_of_racks(topology: Topology, racks: Racks) -> RackLinks:
    """Returns the numbers of links inside racks and between them.

    Args:
        topology: the graph.
        racks: its racks.
    """
    sources = np.repeat(racks.rack_of, topology.degrees)
    targets = racks.rack_of[topology.adjacency.neighbours]
    inside = np.bincount(sources[sources == targets], minlength=racks.count) // 2
    lower = sources < targets  # a link between racks is in the lists of both ends
    keys, links = np.unique(sources[lower] * racks.count + targets[lower], return_counts=True)
    bundles = np.stack([keys // racks.count, keys % racks.count], axis=1)
    return RackLinks(inside.astype(np.int64), bundles, links.astype(np.int64))


def _square(count: int) -> int:
    """Returns the number of columns of a floor that is about as deep as wide."""
    return isqrt(count - 1) + 1


def _of_groups(topology: SlimFly) -> Racks:
    """Returns the racks of Slim Fly, which have a group of either half each."""
    return Racks(np.arange(topology.routers) // topology.q % topology.q, _square(topology.q))


def _of_last_coordinate(topology: HyperX) -> Racks:
    """Returns the racks of a HyperX; of three dimensions, the other two are rows and columns of the floor."""
    *others, size = topology.shape
    count = topology.routers // size
    return Racks(np.arange(topology.routers) // size, others[1] if len(others) == 2 else _square(count))


def _of_clusters(topology: Topology, members: Sequence[Sequence[int]]) -> Racks:
    """Returns clusters as racks, and in the middle of the floor those of the routers of no cluster."""
    rest = sorted(set(range(topology.routers)).difference(*members))
    parts = np.array_split(rest, max(1, len(rest) // max(map(len, members)))) if rest else []
    middle = len(members) // 2
    racks = [*members[:middle], *(part.tolist() for part in parts), *members[middle:]]
    rack_of = np.empty(topology.routers, np.int64)
    for number, routers in enumerate(racks):
        rack_of[list(routers)] = number
    return Racks(rack_of, _square(len(racks)))


def _of_order(topology: Topology) -> Racks:
    """Returns racks of consecutive routers."""
    rack_of = np.arange(topology.routers) // max(1, round(sqrt(2 * topology.routers)))
    return Racks(rack_of, _square(int(rack_of[-1]) + 1))


# Families whose racks are not their clusters: one line each.
_LAYOUTS: tuple[tuple[type[Topology], Callable[[Any], Racks]], ...] = (
    (SlimFly, _of_groups),
    (HyperX, _of_last_coordinate),
)
