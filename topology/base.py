"""Topologies: routers, links, port numbers, distances and minimal next hops.

A topology is a connected undirected graph of routers, with or without parallel links. Routers are the
integers 0 .. N - 1. All that controller, emulation and traffic share about a switch is its port numbering:

    fabric ports   1 .. degree, in ascending order of the neighbour behind them
    host ports     degree + 1 .. degree + p, host k (from 0) of the router behind port degree + 1 + k
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from topology.analysis.balance import LinkClass
from topology.analysis.moore import moore_bound
from topology.clusters import Clusters
from topology.layout import Layout, unstructured_layout
from topology.parameters import Value

if TYPE_CHECKING:
    import networkx as nx  # importing it takes a third of a second

# Router numbers fit into 16 bits; tables of all pairs take 512 MiB each at so many.
MAX_ROUTERS = 1 << 14

Routers = npt.NDArray[np.int32]  # indices of routers
Params = Mapping[str, Value]


@dataclass(frozen=True)
class Adjacency:
    """Neighbour lists in compressed rows.

    Attributes:
        starts: int64 array, N + 1; the neighbours of router r are entries starts[r] to starts[r + 1].
        neighbours: int32 array, 2 x links; ascending within a row, a parallel link repeats its entry.
    """

    starts: npt.NDArray[np.int64]
    neighbours: Routers


@dataclass(frozen=True, order=True)
class Link:
    """One undirected link between two routers.

    Attributes:
        a: the router with the lower index.
        b: the router with the higher index.
        port_a: the port of router a, from 1.
        port_b: the port of router b, from 1.
        copy: the number of one of several parallel links, from 1; 0 for the only link of two routers.
    """

    a: int
    b: int
    port_a: int
    port_b: int
    copy: int = 0

    @property
    def ends(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The (router, port) of both ends."""
        return (self.a, self.port_a), (self.b, self.port_b)


@dataclass(frozen=True)
class DestinationBlock:
    """Destinations toward which a router has the same minimal next hop, and whose addresses share a mask.

    Attributes:
        routers: the destinations.
        low_bits: the number of low bits in which their address numbers differ (`Topology.address_number`).
    """

    routers: range
    low_bits: int


class Topology(ABC):
    """A graph of routers with a fixed port numbering and closed-form minimal routing.

    Attributes:
        name: the family, as on the command line (`polarfly`).
        params: the parameters that make this member of the family (`{"q": 7}`).
        labels: the routers' names in the source of the graph; empty if there is none.
    """

    name: str
    params: Params
    labels: tuple[str, ...] = ()

    @property
    def geometry(self) -> str:
        """The name under which routes in closed form are registered (`routing`): here that of the family."""
        return self.name

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences about this member that its numbers do not tell; none here."""
        return ()

    # ---- what every family defines ----

    @property
    @abstractmethod
    def adjacency(self) -> Adjacency:
        """The neighbour lists of all routers."""

    @abstractmethod
    def next_hops(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> Routers:
        """Returns the minimal next hop of each pair of routers.

        Args:
            sources: routers, integers of any shape.
            destinations: routers, integers of a shape that broadcasts with that of the sources.

        Returns:
            int32 array of the broadcast shape; the next hop is the destination where that is adjacent to the
            source, and the router itself where both are the same.
        """

    @abstractmethod
    def distances(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> npt.NDArray[np.int16]:
        """Returns the distance of each pair of routers.

        Args:
            sources: routers, integers of any shape.
            destinations: routers, integers of a shape that broadcasts with that of the sources.

        Returns:
            Integer array of the broadcast shape, in hops.
        """

    @abstractmethod
    def pairs_by_distance(self) -> dict[int, int]:
        """Returns the number of ordered pairs of different routers at each distance.

        Returns:
            Distance in hops -> number of pairs, for every distance that occurs.
        """

    # ---- what a family may define otherwise ----

    def all_next_hops(self) -> npt.NDArray[np.int16]:
        """Returns the minimal next hop of every ordered pair of routers.

        Returns:
            int16 array, N x N, indexed [source, destination]; the next hop of a router to itself is itself.
        """
        everyone = np.arange(self.routers)
        return self.next_hops(everyone[:, None], everyone[None, :]).astype(np.int16)

    @property
    def routers(self) -> int:
        """N, the number of routers."""
        return len(self.adjacency.starts) - 1

    def host_counts(self, concentration: int) -> npt.NDArray[np.int64]:
        """Returns the number of hosts that are attached to each router.

        Every router has `concentration` hosts, unless the family attaches hosts to some routers only (a
        fat tree's upper levels have none).

        Args:
            concentration: p, the number of hosts at each router that has any; at least 1.

        Returns:
            int64 array, N: number of hosts of each router.
        """
        return np.full(self.routers, concentration, np.int64)

    def address_number(self, router: int) -> int:
        """Returns the number that stands for a router in its hosts' addresses.

        A family may choose numbers of which one mask stands for several routers. The numbers of different
        routers differ, and ascend with their indices.

        Args:
            router: the index of the router.

        Returns:
            The router's index here; in general 0 to 65535.
        """
        return router

    def destination_blocks(self, router: int) -> Iterator[DestinationBlock]:
        """Yields all other routers in blocks that share a minimal next hop and a mask of their addresses.

        A family that overrides it overrides `address_number` and `next_hop_rules`, too.

        Args:
            router: the router that forwards packets to the blocks.

        Yields:
            Blocks that hold every other router once; here every router is a block of its own.
        """
        yield from (block for other, block in enumerate(self._single_blocks) if other != router)

    @cached_property
    def _single_blocks(self) -> tuple[DestinationBlock, ...]:
        """Every router as a block of its own."""
        return tuple(DestinationBlock(range(router, router + 1), 0) for router in range(self.routers))

    @property
    def next_hop_rules(self) -> int:
        """The largest number of destination blocks, and so of next-hop rules, of a router."""
        return self.routers - 1

    def clusters(self) -> Clusters:
        """Returns the sets of routers that belong together in the structure of the graph.

        The placement `cluster`, the pattern `adversarial` and drawings use them.

        Returns:
            The clusters; none here.
        """
        return Clusters()

    def layout(self) -> Layout:
        """Returns the positions and kinds of the routers in a drawing.

        Returns:
            A layout by distances or forces here.
        """
        return unstructured_layout(self.routers, [(link.a, link.b) for link in self.link_list])

    def link_classes(self) -> tuple[LinkClass, ...]:
        """Returns the classes of links that uniform traffic loads alike (`topology.analysis.balance`).

        Returns:
            The classes; none here.
        """
        return ()

    def minimal_port_mask(self, router: int) -> npt.NDArray[np.bool_]:
        """Returns the ports of a router by which minimal routes lead to each destination.

        Args:
            router: the router that forwards packets.

        Returns:
            bool array, ports x N: entry [i, d] tells whether a minimal route to d leaves by port i + 1; the
            first such port leads to the minimal next hop. By default each destination has one such port,
            and the router itself none.
        """
        others = np.flatnonzero(np.arange(self.routers) != router)
        mask = np.zeros((int(self.degrees[router]), self.routers), bool)
        mask[self.ports_toward(router, self.next_hops(router, others)) - 1, others] = True
        return mask

    # ---- what follows from these ----

    def __repr__(self) -> str:
        """Returns the family, the parameters and the size, as `<polarfly q=7: 57 routers, 224 links>`."""
        params = "".join(f" {name}={value}" for name, value in self.params.items())
        return f"<{self.name}{params}: {self.routers} routers, {self.links} links>"

    def to_networkx(self, hosts: int = 1) -> nx.Graph:
        """Returns the graph as one of networkx, with ports, hosts and clusters as attributes.

        Args:
            hosts: p, the number of hosts at each router that has any; at least 1.

        Returns:
            A graph whose nodes are the routers 0 .. N - 1, ascending (`topology.networkx_graphs`).
        """
        from topology.networkx_graphs import to_networkx

        return to_networkx(self, hosts)

    @property
    def links(self) -> int:
        """The number of undirected links."""
        return len(self.adjacency.neighbours) // 2

    @cached_property
    def degrees(self) -> npt.NDArray[np.int64]:
        """int64 array, N: the number of fabric ports of each router."""
        return np.diff(self.adjacency.starts)

    @property
    def network_radix(self) -> int:
        """k', the largest number of links of a router to other routers."""
        return int(self.degrees.max())

    @property
    def diameter(self) -> int:
        """The largest distance between two routers, in hops."""
        return max(self.pairs_by_distance())

    @property
    def average_path_length(self) -> float:
        """The mean distance over ordered pairs of different routers, in hops."""
        counts = self.pairs_by_distance()
        return sum(d * n for d, n in counts.items()) / sum(counts.values())

    @property
    def moore_efficiency(self) -> float:
        """N divided by the Moore bound of network radix and diameter.

        Source:
            PolarFly (SC22), section II.
        """
        return self.routers / moore_bound(self.network_radix, self.diameter)

    def endpoints(self, concentration: int) -> int:
        """Returns the number of hosts of the whole fabric.

        Args:
            concentration: p, the number of hosts at each router that has any; at least 1.

        Returns:
            The sum of `host_counts`.
        """
        return int(self.host_counts(concentration).sum())

    def neighbours(self, router: int) -> Routers:
        """Returns the neighbours of a router.

        Args:
            router: the index of the router.

        Returns:
            int32 array, degree of the router, ascending; entry i is the neighbour behind port i + 1.
        """
        starts = self.adjacency.starts
        return self.adjacency.neighbours[starts[router] : starts[router + 1]]

    def ports_toward(self, router: int, neighbours: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Returns the ports of a router that lead to given neighbours.

        Args:
            router: the index of the router.
            neighbours: neighbours of the router, integers of any shape.

        Returns:
            int64 array of the same shape: ports from 1, the first of several parallel links.
        """
        return np.searchsorted(self.neighbours(router), np.asarray(neighbours)) + 1

    def minimal_ports(self, router: int) -> list[tuple[int, ...]]:
        """Returns the ports of a router by which minimal routes lead to each destination.

        Args:
            router: the router that forwards packets.

        Returns:
            N tuples of ports from 1, ascending; entry d holds the ports toward router d.
        """
        mask = self.minimal_port_mask(router)
        # Most destinations have one port, and all that share it share a tuple.
        only = [(port,) for port in range(1, len(mask) + 1)]
        if not only:
            return [()] * self.routers
        ports: list[tuple[int, ...]] = [only[index] for index in mask.argmax(axis=0).tolist()]
        counts = np.count_nonzero(mask, axis=0)
        several = np.flatnonzero(counts != 1)
        of_several = (mask.T[several].nonzero()[1] + 1).tolist()
        ends = np.cumsum(counts[several]).tolist()
        for other, first, end in zip(several.tolist(), [0, *ends[:-1]], ends, strict=True):
            ports[other] = tuple(of_several[first:end])
        return ports

    def host_port(self, router: int, host: int) -> int:
        """Returns the port of a router to which a host is attached.

        Args:
            router: the index of the router.
            host: the number of the host among those of its router, from 0.

        Returns:
            The port number; host ports follow the fabric ports.
        """
        return int(self.degrees[router]) + 1 + host

    @cached_property
    def link_list(self) -> tuple[Link, ...]:
        """Every undirected link once, ascending by its ends.

        Parallel links are numbered from 1; number i joins the i-th ports that its ends have for each other.
        """
        links = []
        for a in range(self.routers):
            for index, b in enumerate(self.neighbours(a).tolist()):
                if a < b:
                    place = index - int(self.ports_toward(a, b)) + 1
                    several = int(np.count_nonzero(self.neighbours(a) == b)) > 1
                    port_b = int(self.ports_toward(b, a)) + place
                    links.append(Link(a, b, index + 1, port_b, place + 1 if several else 0))
        return tuple(links)
