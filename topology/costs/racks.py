"""Racks: sets of routers that stand together with their endpoints, on a floor of rows and columns.

Racks are numbered row by row on a floor that is roughly square. In most families a rack is a cluster
(`Topology.clusters`). Routers outside all clusters, such as the quadrics of PolarFly and the top level of a
fat tree, have racks of their own, of similar size, in the middle of the floor.

Source: Slim Fly (SC14), section VI-A (pairs of groups as racks); PolarFly (SC22), section V (clusters as
racks, the quadrics as one); Kim, Dally and Abts, "Flattened Butterfly" (ISCA 2007) (one dimension inside the
rack, one along rows and one along columns).
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
from topology.families.low_diameter.polarfly import PolarFly
from topology.families.low_diameter.slimfly import SlimFly

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Racks:
    """The racks of a network and their places on the floor.

    Attributes:
        rack_of: int64 array, N: the rack of each router; no rack is empty.
        columns: number of racks in a row of the floor; the last row may have fewer.
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
        """Returns the Manhattan distances between racks.

        Args:
            pairs: int64 array, M x 2, of racks.

        Returns:
            int64 array, M: for each pair, the number of rows plus the number of columns between the racks.
        """
        apart = np.stack([pairs // self.columns, pairs % self.columns])
        return np.asarray(np.abs(apart[..., 0] - apart[..., 1]).sum(axis=0))


@dataclass(frozen=True)
class RackLinks:
    """Numbers of links inside racks and between them; parallel links are counted individually.

    Attributes:
        inside: int64 array, R: number of links between routers of each rack.
        bundles: int64 array, M x 2: the pairs of racks with links between them, ascending; the lower rack
            first.
        links: int64 array, M: number of links between the racks of each bundle.
    """

    inside: Integers
    bundles: Integers
    links: Integers

    @property
    def between(self) -> int:
        """The total number of links between racks."""
        return int(self.links.sum())


def racks_of(topology: Topology) -> Racks:
    """Returns the racks of a network.

    Args:
        topology: the graph.

    Returns:
        For Slim Fly, rack i contains the groups (0, i, .) and (1, i, .). For HyperX, a rack contains the
        routers that differ only in the last coordinate. For PolarFly, the quadrics are a rack, for even q
        with the nucleus. For other families, each cluster is a rack, and further racks contain the remaining
        routers. Graphs without clusters have racks of about sqrt(2 N)
        consecutive routers, the size of Slim Fly's racks.
    """
    for kind, layout in _LAYOUTS:
        if isinstance(topology, kind):
            return layout(topology)
    members = topology.clusters().members
    if isinstance(topology, PolarFly):
        members = topology.layout_clusters().members[1:]
    return _cluster_racks(topology, members) if members else _consecutive_racks(topology)


def links_of_racks(topology: Topology, racks: Racks) -> RackLinks:
    """Returns the numbers of links inside racks and between them.

    Args:
        topology: the graph.
        racks: its racks.
    """
    sources = np.repeat(racks.rack_of, topology.degrees)
    targets = racks.rack_of[topology.adjacency.neighbours]
    inside = np.bincount(sources[sources == targets], minlength=racks.count) // 2
    lower = sources < targets  # both ends of a link list it; count it once
    keys, links = np.unique(sources[lower] * racks.count + targets[lower], return_counts=True)
    bundles = np.stack([keys // racks.count, keys % racks.count], axis=1)
    return RackLinks(inside.astype(np.int64), bundles, links.astype(np.int64))


def _columns(count: int) -> int:
    """Returns the number of columns of a roughly square floor for `count` racks."""
    return isqrt(count - 1) + 1


def _slimfly_racks(topology: SlimFly) -> Racks:
    """Returns the racks of a Slim Fly: rack i contains the groups (0, i, .) and (1, i, .)."""
    return Racks(np.arange(topology.routers) // topology.q % topology.q, _columns(topology.q))


def _hyperx_racks(topology: HyperX) -> Racks:
    """Returns the racks of a HyperX: each contains the routers that differ in the last coordinate only.

    With three dimensions, the first coordinate is the rack's row on the floor, and the second its column.
    """
    *others, size = topology.shape
    count = topology.routers // size
    return Racks(np.arange(topology.routers) // size, others[1] if len(others) == 2 else _columns(count))


def _cluster_racks(topology: Topology, members: Sequence[Sequence[int]]) -> Racks:
    """Returns one rack for each cluster, and racks for the other routers in the middle of the floor.

    Args:
        topology: the graph.
        members: the routers of each cluster.
    """
    rest = sorted(set(range(topology.routers)).difference(*members))
    parts = np.array_split(rest, max(1, len(rest) // max(map(len, members)))) if rest else []
    middle = len(members) // 2
    racks = [*members[:middle], *(part.tolist() for part in parts), *members[middle:]]
    rack_of = np.empty(topology.routers, np.int64)
    for number, routers in enumerate(racks):
        rack_of[list(routers)] = number
    return Racks(rack_of, _columns(len(racks)))


def _consecutive_racks(topology: Topology) -> Racks:
    """Returns racks of about sqrt(2 N) consecutive routers each."""
    rack_of = np.arange(topology.routers) // max(1, round(sqrt(2 * topology.routers)))
    return Racks(rack_of, _columns(int(rack_of[-1]) + 1))


# Families for which a rack is not a cluster, with the functions that compute their racks.
_LAYOUTS: tuple[tuple[type[Topology], Callable[[Any], Racks]], ...] = (
    (SlimFly, _slimfly_racks),
    (HyperX, _hyperx_racks),
)
