"""Topologies: routers, links, port numbers, distances and minimal next hops.

A topology is a connected undirected graph of routers, with or without parallel links. Routers are the
integers 0 .. N - 1. Controller, emulation and traffic must agree on the port numbers of every switch. These
numbers are stored in a table (`topology.ports`), by default

    link ports     1 .. degree, in ascending order of the neighbours behind them
    host ports     degree + 1 .. degree + p, host k (from 0) of the router behind port degree + 1 + k

`Topology.with_ports` replaces them. The place of a link is its index, from 0, in the neighbour list of its
router; it is not a port number. Directed links are numbered router by router, in the order of their places.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from topology.analysis.balance import LinkClass
from topology.analysis.moore import moore_bound
from topology.clusters import Clusters
from topology.errors import ParameterError
from topology.layout import Layout, unstructured_layout
from topology.parameters import Value
from topology.ports import PortTable, checked_ports, default_ports

if TYPE_CHECKING:
    import networkx as nx  # importing it takes a third of a second

# Router numbers fit into 16 bits, and a table of all pairs takes 512 MiB at this size.
MAX_ROUTERS = 1 << 14

Routers = npt.NDArray[np.int32]  # indices of routers
Params = Mapping[str, Value]


@dataclass(frozen=True)
class Adjacency:
    """Neighbour lists in compressed rows.

    Attributes:
        starts: int64 array, N + 1; the neighbours of router r are entries starts[r] to starts[r + 1] - 1.
        neighbours: int32 array, one entry per directed link: the router to which it leads; ascending within a
            row; parallel links repeat the entry. The index of an entry is the number of the directed link.

    Examples:
        The path of routers 0, 1 and 2:

        >>> import numpy as np
        >>> path = adjacency_from_links(3, np.array([[0, 1], [1, 2]]))
        >>> path.starts.tolist(), path.neighbours.tolist()
        ([0, 1, 3, 4], [1, 0, 2, 1])
    """

    starts: npt.NDArray[np.int64]
    neighbours: Routers


@dataclass(frozen=True, order=True)
class Link:
    """One undirected link between two routers.

    Attributes:
        a: the router with the lower index.
        b: the router with the higher index.
        port_a: the port of router a.
        port_b: the port of router b.
        copy: the number of this link among parallel links, from 1; 0 for the only link between two routers.
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
    """Destinations that one address mask matches and that share a minimal next hop from a router.

    Attributes:
        routers: the destinations.
        low_bits: the number of low bits in which their address numbers differ (`Topology.address_number`).

    Examples:
        The eight routers of another supernode of a PolarStar:

        >>> graph = make_topology("polarstar", {"q": 3, "supernode": "iq", "degree": 3})
        >>> max(graph.destination_blocks(0), key=lambda block: block.low_bits)
        DestinationBlock(routers=range(8, 16), low_bits=3)
    """

    routers: range
    low_bits: int


class Topology(ABC):
    """A graph of routers with fixed port numbers, and minimal routes by formulas, tables or search.

    Attributes:
        name: the family, as on the command line (`polarfly`).
        params: the parameters that define this member of the family (`{"q": 7}`).
        labels: the routers' names in the source of the graph; empty if it has none.
        given_ports: the port numbers set by `with_ports`; None for the default ones.

    Examples:
        >>> graph = topology("polarfly", q=3)
        >>> graph.routers, graph.links, graph.network_radix, graph.diameter
        (13, 24, 4, 2)
        >>> graph.neighbours(2).tolist(), graph.link_ports(2).tolist()
        ([1, 4, 7, 9], [1, 2, 3, 4])
        >>> graph.distances(2, [7, 8]).tolist(), graph.next_hops(2, [7, 8]).tolist()
        ([1, 2], [7, 1])
    """

    name: str
    params: Params
    labels: tuple[str, ...] = ()
    given_ports: PortTable | None = None

    @property
    def geometry(self) -> str:
        """The name under which `routing` registers closed-form routes; by default the family name."""
        return self.name

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes for the user, for example that random graphs were discarded; none by default."""
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
            int32 array of the broadcast shape; the next hop is the destination itself if it is adjacent to
            the source or equal to it.
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

    # ---- what a family may override ----

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

    def host_counts(self, hosts_per_router: int) -> npt.NDArray[np.int64]:
        """Returns the number of hosts attached to each router.

        Every router has `hosts_per_router` hosts, unless the family attaches hosts to some routers only (a
        fat tree's upper levels have none).

        Args:
            hosts_per_router: p, the number of hosts at each router that has any; at least 1.

        Returns:
            int64 array, N: number of hosts of each router.
        """
        return np.full(self.routers, hosts_per_router, np.int64)

    def address_number(self, router: int) -> int:
        """Returns the number that represents a router in its hosts' addresses.

        A family may choose numbers such that one mask matches several routers. The numbers of different
        routers differ, and ascend with their indices.

        Args:
            router: the index of the router.

        Returns:
            The router's index by default; always 0 to 65535.
        """
        return router

    def destination_blocks(self, router: int) -> Iterator[DestinationBlock]:
        """Yields all other routers in blocks that share a minimal next hop and an address mask.

        A family that overrides this method also overrides `address_number` and `next_hop_rules`.

        Args:
            router: the router that forwards packets to the blocks.

        Yields:
            Blocks that contain every other router once; by default every router is its own block.
        """
        yield from (block for other, block in enumerate(self._single_blocks) if other != router)

    @cached_property
    def _single_blocks(self) -> tuple[DestinationBlock, ...]:
        """The default destination blocks: block r contains router r alone."""
        return tuple(DestinationBlock(range(router, router + 1), 0) for router in range(self.routers))

    @property
    def next_hop_rules(self) -> int:
        """The largest number of destination blocks, and hence of next-hop rules, of any router."""
        return self.routers - 1

    def clusters(self) -> Clusters:
        """Returns the sets of routers that the structure of the graph groups together.

        The placement `cluster`, the pattern `adversarial` and drawings use them.

        Returns:
            The clusters; none by default.
        """
        return Clusters()

    def layout(self) -> Layout:
        """Returns the positions and kinds of the routers in a drawing.

        Returns:
            By default a layout by path lengths or forces.
        """
        return unstructured_layout(self.routers, [(link.a, link.b) for link in self.link_list])

    def link_classes(self) -> tuple[LinkClass, ...]:
        """Returns the classes of links that carry the same load under uniform traffic.

        `topology.analysis.balance` computes from them how many hosts the links carry.

        Returns:
            The classes; none by default.
        """
        return ()

    def link_ratios(self) -> Mapping[str, float]:
        """Returns ratios between the numbers of links of two levels, and those of a balanced member.

        Returns:
            Name -> ratio; none by default.
        """
        return {}

    def minimal_port_mask(self, router: int) -> npt.NDArray[np.bool_]:
        """Returns, for each destination, the links of a router on which minimal routes start.

        Args:
            router: the router that forwards packets.

        Returns:
            bool array, links x N: entry [i, d] is true if a minimal route to d starts with link i of the
            router, which leads to `neighbours(router)[i]`; the first such link leads to the minimal next hop.
            By default every other router has one such link; `router` itself, as a destination, has none.
        """
        others = np.flatnonzero(np.arange(self.routers) != router)
        mask = np.zeros((int(self.degrees[router]), self.routers), bool)
        mask[self.places_toward(router, self.next_hops(router, others)), others] = True
        return mask

    # ---- derived from the above ----

    def __repr__(self) -> str:
        """Returns the family, the parameters and the size: `<polarfly q=7: 57 routers, 224 links>`."""
        params = "".join(f" {name}={value}" for name, value in self.params.items())
        return f"<{self.name}{params}: {self.routers} routers, {self.links} links>"

    def to_networkx(self, hosts: int = 1) -> nx.Graph:
        """Returns the graph as a networkx graph, with ports, hosts and clusters as attributes.

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
        """int64 array, N: the number of links from each router to other routers."""
        return np.diff(self.adjacency.starts)

    @property
    def network_radix(self) -> int:
        """k', the largest number of links from one router to other routers."""
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
        """N divided by the Moore bound for the network radix and the diameter.

        Source:
            PolarFly (SC22), section II-B1.
        """
        return self.routers / moore_bound(self.network_radix, self.diameter)

    def endpoints(self, hosts_per_router: int) -> int:
        """Returns the number of hosts in the whole fabric.

        Args:
            hosts_per_router: p, the number of hosts at each router that has any; at least 1.

        Returns:
            The sum of `host_counts`.
        """
        return int(self.host_counts(hosts_per_router).sum())

    def neighbours(self, router: int) -> Routers:
        """Returns the neighbours of a router.

        Args:
            router: the index of the router.

        Returns:
            int32 array, one entry per link of the router, ascending.
        """
        starts = self.adjacency.starts
        return self.adjacency.neighbours[starts[router] : starts[router + 1]]

    def places_toward(self, router: int, neighbours: npt.ArrayLike) -> npt.NDArray[np.intp]:
        """Returns the places (see this module's docstring) of a router's links to given neighbours.

        Args:
            router: the index of the router.
            neighbours: neighbours of the router, integers of any shape.

        Returns:
            Array of the same shape: the index of each link in the router's neighbour list, from 0; for
            parallel links, the index of the first.
        """
        return np.searchsorted(self.neighbours(router), np.asarray(neighbours))

    @cached_property
    def reverse_links(self) -> npt.NDArray[np.int64]:
        """int64 array, one entry per directed link: the number of its reverse.

        Among parallel links, the i-th in one direction is the reverse of the i-th in the other.
        """
        heads = self.adjacency.neighbours.astype(np.int64)
        ends = self._tails * self.routers + heads  # ascending
        copies = np.arange(len(ends)) - np.searchsorted(ends, ends)
        return np.searchsorted(ends, heads * self.routers + self._tails) + copies

    @cached_property
    def _tails(self) -> npt.NDArray[np.int64]:
        """int64 array, one entry per directed link: the router at which it starts."""
        return np.repeat(np.arange(self.routers), self.degrees)

    # ---- port numbers ----

    @cached_property
    def ports(self) -> PortTable:
        """The port numbers of all routers."""
        return self.given_ports or default_ports(self.degrees)

    def with_ports(self, links: Sequence[Sequence[int]], hosts: Sequence[Sequence[int]]) -> Self:
        """Returns a copy of the topology with the given port numbers.

        Args:
            links: for each router, the ports (1 to 4095) of its links, in the order of its neighbours.
            hosts: for each router, the ports (1 to 65279) of its hosts in their order.

        Raises:
            ParameterError: the ports of a router or of a link are missing, a number is outside its domain, or
                two ports of a router have the same number.
        """
        other = copy(self)
        for name in vars(self):  # values cached for the old ports
            if isinstance(getattr(type(self), name, None), cached_property):
                del vars(other)[name]
        other.given_ports = checked_ports(self.degrees, links, hosts)
        return other

    def link_ports(self, router: int) -> npt.NDArray[np.int64]:
        """Returns the ports of a router's links.

        Args:
            router: the index of the router.

        Returns:
            int64 array, one entry per link of the router, in the order of its neighbours.
        """
        starts = self.adjacency.starts
        return self.ports.links[starts[router] : starts[router + 1]]

    def host_port(self, router: int, host: int) -> int:
        """Returns the port of a router to which a host is attached.

        Args:
            router: the index of the router.
            host: the index of the host at its router, from 0.

        Raises:
            ParameterError: the host has no port.
        """
        ports = self.ports.hosts[router]
        if host >= len(ports):
            raise ParameterError(f"s{router + 1} must have a port for h{router + 1}_{host + 1}, but has none")
        return ports[host]

    def router_ports(self, router: int, hosts_per_router: int) -> tuple[list[int], list[int]]:
        """Returns (ports of a router's links, in the order of its neighbours; ports of its hosts).

        Args:
            router: the index of the router.
            hosts_per_router: p, the number of hosts at each router that has any; at least 1.

        Raises:
            ParameterError: a host has no port.
        """
        hosts = range(int(self.host_counts(hosts_per_router)[router]))
        return self.link_ports(router).tolist(), [self.host_port(router, host) for host in hosts]

    @cached_property
    def link_numbers(self) -> Mapping[tuple[int, int], int]:
        """(router, port) -> number of the directed link that leaves the router through that port."""
        ends = zip(self._tails.tolist(), self.ports.links.tolist(), strict=True)
        return {end: number for number, end in enumerate(ends)}

    def ports_toward(self, router: int, neighbours: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Returns the ports of a router that lead to given neighbours.

        Args:
            router: the index of the router.
            neighbours: neighbours of the router, integers of any shape.

        Returns:
            int64 array of the same shape: port numbers; for parallel links, the port of the first.
        """
        return self.link_ports(router)[self.places_toward(router, neighbours)]

    def minimal_ports(self, router: int) -> list[tuple[int, ...]]:
        """Returns, for each destination, the ports of a router on which minimal routes start.

        Args:
            router: the router that forwards packets.

        Returns:
            N tuples of ports in the order of the neighbours behind them, the minimal next hop first; entry d
            contains the ports toward router d.
        """
        ports = self.link_ports(router)
        return [tuple(ports[minimal].tolist()) for minimal in self.minimal_port_mask(router).T]

    @cached_property
    def link_list(self) -> tuple[Link, ...]:
        """Every undirected link once, in ascending order of its ends.

        Parallel links are numbered from 1: number i is the i-th of them in the neighbour list of each end.
        """
        ports, reverse = self.ports.links.tolist(), self.reverse_links.tolist()
        ends = list(zip(self._tails.tolist(), self.adjacency.neighbours.tolist(), strict=True))
        total, met = Counter(ends), Counter[tuple[int, int]]()
        links = []
        for link, (a, b) in enumerate(ends):
            if a < b:
                met[a, b] += 1
                number = met[a, b] if total[a, b] > 1 else 0
                links.append(Link(a, b, ports[link], ports[reverse[link]], number))
        return tuple(links)
