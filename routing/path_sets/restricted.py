"""Path sets, and topologies restricted to one, for plans over paths other than all shortest ones.

The plan compiler, the search for alternates, the proof, Valiant routing and UGAL ask a topology for
distances, minimal next hops and minimal ports. If these are restricted to a path set, plans use that set and
are proven for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from topology.base import Adjacency, Topology
from topology.clusters import Clusters
from topology.layout import Layout
from topology.parameters import Parameter
from topology.shortest_paths import TabledTopology

Lengths = npt.NDArray[np.int16]
PortMask = npt.NDArray[np.bool_]
# Router -> links x N: whether a path of the set to each destination leaves by each link.
PortMaskMaker = Callable[[int], PortMask]


@dataclass(frozen=True)
class PathSet:
    """The definition of a path set.

    Attributes:
        restrict: (topology, values of `parameters` by key) -> the topology restricted to the paths of the
            set.
        summary: its paths, in one line.
        source: the publication that defines it.
        shortest: whether its paths are shortest paths.
        families: names of the families that have it; empty for any graph.
        parameters: its parameters.
    """

    restrict: Callable[..., Topology]
    summary: str
    source: str
    shortest: bool = False
    families: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()


class RestrictedTopology(TabledTopology):
    """A topology whose distances and next hops are those of a path set; all else is unchanged.

    A path set is a relation of next hops that does not depend on how a packet has arrived: from every router
    but the destination, each allowed next hop is one hop nearer to it. Where a path of the set from s to d
    visits m, its hops up to m are at least the distance from s to m. So m is on no path from s to d if the
    distances from s to m and from m to d add up to more than the distance from s to d. Where a path
    to another router may visit m after fewer hops, `least_hops` replaces the first distance.

    Attributes:
        name: the family, as on the command line.
        params: the parameters that define this member of the family.
        labels: the routers' names in the source of the graph; empty if it has none.
        whole: the unrestricted topology.
        least_hops: int16 array, N x N: the least hops after which a path may visit a router, for every
            [source, router].
    """

    def __init__(
        self, whole: Topology, lengths: Lengths, port_mask: PortMaskMaker, least_hops: Lengths | None = None
    ) -> None:
        """Restricts a topology.

        Args:
            whole: the topology.
            lengths: int16 array, N x N: hops of the path for every [source, destination].
            port_mask: computes `minimal_port_mask` of a router.
            least_hops: see the attribute; by default `lengths`.
        """
        self.whole = whole
        self.name, self.params, self.labels = whole.name, whole.params, whole.labels
        self.given_ports = whole.given_ports
        self.least_hops = lengths if least_hops is None else least_hops
        self._lengths = lengths
        self._port_mask = port_mask

    @property
    def geometry(self) -> str:
        """The empty string: alternates and detours that a family has for shortest paths do not apply here."""
        return ""

    @property
    def adjacency(self) -> Adjacency:
        """The neighbour lists of all routers."""
        return self.whole.adjacency

    @cached_property
    def distance_table(self) -> npt.NDArray[np.int16]:
        """int16 array, N x N: hops of the path for every [source, destination]."""
        return self._lengths

    @cached_property
    def next_hop_table(self) -> npt.NDArray[np.int16]:
        """int16 array, N x N: the next hop over the first allowed link for every [source, destination]."""
        hops = np.empty((self.routers, self.routers), np.int16)
        for router in range(self.routers):
            hops[router] = self.neighbours(router)[self.minimal_port_mask(router).argmax(axis=0)]
            hops[router, router] = router
        return hops

    def pairs_among(self, routers: npt.NDArray[np.int64]) -> dict[int, int]:
        """Counts the ordered pairs of the given routers by the hops of their paths.

        Args:
            routers: indices of the routers, each once.

        Returns:
            Hops -> number of pairs, for every number that occurs.
        """
        counts = np.bincount(self._lengths[np.ix_(routers, routers)].ravel())
        return {hops: int(count) for hops, count in enumerate(counts) if hops and count}

    def minimal_port_mask(self, router: int) -> PortMask:
        """Returns the links of a router on which paths of the set to each destination start.

        Args:
            router: the router that forwards packets.

        Returns:
            bool array, links x N: entry [i, d] is true if a path of the set to d starts with link i of the
            router.
        """
        return self._port_mask(router)

    def host_counts(self, hosts_per_router: int) -> npt.NDArray[np.int64]:
        """Returns the number of hosts attached to each router, the same as in the unrestricted topology.

        Args:
            hosts_per_router: p, the number of hosts at each router that has any; at least 1.

        Returns:
            int64 array, N: number of hosts of each router.
        """
        return self.whole.host_counts(hosts_per_router)

    def address_number(self, router: int) -> int:
        """Returns the number that represents a router in addresses, the same as in the unrestricted topology.

        Args:
            router: the index of the router.

        Returns:
            0 to 65535.
        """
        return self.whole.address_number(router)

    def clusters(self) -> Clusters:
        """Returns the clusters of the unrestricted topology."""
        return self.whole.clusters()

    def layout(self) -> Layout:
        """Returns the layout of the unrestricted topology."""
        return self.whole.layout()
