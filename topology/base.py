"""What every topology offers: routers, links, port numbers, distances and minimal next hops.

A topology is a simple or parallel-link graph of routers. Routers are the integers 0 .. N - 1. The port
numbering is the only thing that controller, emulation and traffic share about a switch:

    fabric ports   1 .. degree, in ascending order of the neighbour behind them
    host ports     degree + 1 .. degree + p, host k (from 0) of the router behind port degree + 1 + k
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from topology.clusters import Clusters
from topology.layout import Layout, free_layout

# Router numbers fit into 16 bits; tables of all pairs take 512 MiB each at so many.
MOST_ROUTERS = 1 << 14

Routers = npt.NDArray[np.int32]
Params = Mapping[str, int | str]


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
    """One link, named by its two ends: router a < router b, and the port it has on either.

    `copy` tells parallel links apart: 1, 2, ...; 0 is for the only link of two routers.
    """

    a: int
    b: int
    port_a: int
    port_b: int
    copy: int = 0

    @property
    def ends(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The (router, port) of either end."""
        return (self.a, self.port_a), (self.b, self.port_b)


@dataclass(frozen=True)
class DestinationBlock:
    """Routers toward which another router's minimal next hop is the same, and which share a mask.

    Attributes:
        routers: which.
        low_bits: how many low bits of their numbers do not matter (`Topology.address_number`).
    """

    routers: range
    low_bits: int


class Topology(ABC):
    """A graph of routers with a fixed port numbering and closed-form minimal routing.

    Attributes:
        name: the family, as on the command line (`polarfly`).
        params: the parameters that make this member of the family (`{"q": 7}`).
        labels: the names that the routers have where the graph is from; none here.
    """

    name: str
    params: Params
    labels: tuple[str, ...] = ()

    # ---- what a family has to say ----

    @property
    @abstractmethod
    def adjacency(self) -> Adjacency:
        """The neighbour lists."""

    @abstractmethod
    def next_hops(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> Routers:
        """Returns the minimal next hop of each (source, destination), shapes broadcast.

        int32 array; an entry is its destination where that is adjacent or the source itself.
        """

    @abstractmethod
    def distances(self, sources: npt.ArrayLike, destinations: npt.ArrayLike) -> npt.NDArray[np.int16]:
        """Returns the distance in hops of each (source, destination), shapes broadcast."""

    @abstractmethod
    def pairs_by_distance(self) -> dict[int, int]:
        """Returns distance -> number of ordered pairs of different routers at that distance."""

    def all_next_hops(self) -> npt.NDArray[np.int16]:
        """Returns the minimal next hop of every ordered pair: int16 array, N x N, [source, destination]."""
        everyone = np.arange(self.routers)
        return self.next_hops(everyone[:, None], everyone[None, :]).astype(np.int16)

    # ---- what follows from it ----

    @property
    def routers(self) -> int:
        """N, the number of routers."""
        return len(self.adjacency.starts) - 1

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
        """k', the largest number of links that a router has to other routers."""
        return int(self.degrees.max())

    @property
    def diameter(self) -> int:
        """The largest distance between two routers."""
        return max(self.pairs_by_distance())

    @property
    def average_path_length(self) -> float:
        """The mean distance over ordered pairs of different routers."""
        counts = self.pairs_by_distance()
        return sum(d * n for d, n in counts.items()) / sum(counts.values())

    @property
    def moore_efficiency(self) -> float:
        """N over the Moore bound for the graph's largest degree and its diameter (PolarFly, section II)."""
        k = self.network_radix
        bound = 1 + k * sum((k - 1) ** i for i in range(self.diameter))
        return float(self.routers / bound)

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

    def endpoints(self, concentration: int) -> int:
        """Returns the number of hosts of the whole fabric, for p = `concentration` hosts a router."""
        return int(self.host_counts(concentration).sum())

    def address_number(self, router: int) -> int:
        """Returns the number that stands for `router` in its hosts' addresses: its index here."""
        return router

    def destination_blocks(self, router: int) -> Iterator[DestinationBlock]:
        """Yields all other routers, in blocks that share a next hop and a mask; here each for itself.

        Args:
            router: from which it goes to them.
        """
        yield from (block for other, block in enumerate(self._single_blocks) if other != router)

    @cached_property
    def _single_blocks(self) -> tuple[DestinationBlock, ...]:
        """Every router as a block of its own."""
        return tuple(DestinationBlock(range(router, router + 1), 0) for router in range(self.routers))

    @property
    def next_hop_rules(self) -> int:
        """How many rules a router needs at most for its next hops to all others: its destination blocks."""
        return self.routers - 1

    def clusters(self) -> Clusters:
        """Returns the sets of routers that belong together in the graph's structure; none here.

        The placement `cluster`, the pattern `adversarial` and drawings use them.
        """
        return Clusters()

    def layout(self) -> Layout:
        """Returns where a drawing puts the routers."""
        return free_layout(self.routers, [(link.a, link.b) for link in self.link_list])

    def neighbours(self, router: int) -> Routers:
        """Returns the neighbours of `router`, ascending; the i-th is behind port i + 1."""
        starts = self.adjacency.starts
        return self.adjacency.neighbours[starts[router] : starts[router + 1]]

    def ports_toward(self, router: int, neighbours: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Returns the port of `router` behind which each neighbour is; of parallel links the first."""
        return np.searchsorted(self.neighbours(router), np.asarray(neighbours)) + 1

    def minimal_port_mask(self, router: int) -> npt.NDArray[np.bool_]:
        """Returns by which ports of `router` minimal routes lead to which routers.

        One port each, toward the minimal next hop, unless the topology says otherwise.

        Returns:
            bool, ports x N: row i for port i + 1; nothing leads to `router` itself.
        """
        others = np.flatnonzero(np.arange(self.routers) != router)
        mask = np.zeros((int(self.degrees[router]), self.routers), bool)
        mask[self.ports_toward(router, self.next_hops(router, others)) - 1, others] = True
        return mask

    def minimal_ports(self, router: int) -> list[tuple[int, ...]]:
        """Returns, for every router, the ports of `router` by which minimal routes lead there."""
        mask = self.minimal_port_mask(router)
        # Few sets of ports serve many routers.
        codes = [code.tobytes() for code in np.packbits(mask, axis=0).T]
        first = {code: other for other, code in enumerate(codes)}
        ports = {code: tuple((np.flatnonzero(mask[:, d]) + 1).tolist()) for code, d in first.items()}
        return [ports[code] for code in codes]

    def host_port(self, router: int, host: int) -> int:
        """Returns the port of host number `host` (from 0) of `router`."""
        return int(self.degrees[router]) + 1 + host

    @cached_property
    def link_list(self) -> tuple[Link, ...]:
        """Every undirected link once, ascending by its ends.

        The i-th of several parallel links joins the i-th of the ports that either side has for the other.
        """
        found = []
        for a in range(self.routers):
            for index, b in enumerate(self.neighbours(a).tolist()):
                if a < b:
                    place = index - int(self.ports_toward(a, b)) + 1
                    several = int(np.count_nonzero(self.neighbours(a) == b)) > 1
                    port_b = int(self.ports_toward(b, a)) + place
                    found.append(Link(a, b, index + 1, port_b, place + 1 if several else 0))
        return tuple(found)
