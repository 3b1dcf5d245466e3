"""Alternates that keep to one order of channels, so that repairs bring no circle to a plan without one.

Channels are directed links (`routing.deadlock`). A packet that router r reroutes to its neighbour n has come
by some channel of the sound plan, takes the channel from r to n, and goes on from n by the minimal path with
a mark, so that it is not rerouted again. In one order of all channels,

- the channel from r to n is behind every channel by which packets to the destination come to r;
- the first channel of the path from n is behind the channel from r to n;
- all channels of that path ascend; those of paths that packets of the sound plan take do.

Then the channels of every packet ascend, whatever has failed: one link, several, or switches, and packets
from before the failure included. An alternate must be loop-free as well, as without an order
(`routing.reroute.loop_free_alternates`); there are no tags.

Many orders suit the sound plan. The one that is taken grows from it: alternate by alternate is added where
that closes no circle, of several for a destination that with the fewest new dependencies. That is done in
three sequences, and the order that protects most is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from routing.deadlock.channels import Channels
from routing.deadlock.dependency_graph import DependencyGraph
from routing.deadlock.growing_order import Dependencies, GrowingOrder
from routing.deadlock.moves import unpack
from routing.deadlock.order import ascending_ranks
from routing.plan.groups import RouterView
from routing.reroute.base import FastReroute
from routing.reroute.loop_free_alternates import AlternateSearch
from routing.reroute.minimal_paths import Mask, Numbers, avoid
from topology.base import Topology


@dataclass(frozen=True)
class _Request:
    """A router's wish for an alternate toward a destination.

    Attributes:
        destination: the destination.
        arrivals: the number of channels by which packets to it come to the router.
        options: for each neighbour that is a loop-free alternate, nearest to the destination first, the
            dependencies of packets that are rerouted to it.
    """

    destination: int
    arrivals: int
    options: tuple[Dependencies, ...]


# The sequences in which alternates are added: none is best for all graphs.
_SEQUENCES: tuple[Callable[[_Request], int], ...] = (
    lambda request: request.destination,
    lambda request: request.arrivals,
    lambda request: -request.arrivals,
)


class OrderedSearch(AlternateSearch):
    """Search of the alternates that keep to an order of channels, one router after another.

    Attributes:
        ranks: int64 array: the rank of each channel; those of every packet ascend, whatever has failed.
    """

    remote = False

    def __init__(self, topology: Topology, graph: DependencyGraph) -> None:
        """Finds the order.

        Args:
            topology: the topology of a plan in which untagged packets take its minimal paths.
            graph: the plan's channel dependency graph without failures, of one virtual channel.

        Raises:
            ValueError: the graph has a circle.
        """
        super().__init__(topology)
        sound = ascending_ranks(graph)
        if sound is None:
            raise ValueError("the dependency graph of ordered alternates must have no circle")
        self._channels = Channels(topology)
        self._first = _first_channels(topology)
        self._by_router = _arrivals(graph)
        codes = graph.tails * len(graph.channels) + graph.heads
        known = np.isin(self._first * len(graph.channels) + self._beyond, codes)
        self._sound = self._along_paths(known)
        requests = [one for router in range(topology.routers) for one in self._requests(router)]
        grown = (_grown(GrowingOrder(graph, sound), sorted(requests, key=key)) for key in _SEQUENCES)
        self.ranks = max(grown, key=lambda ranks: _protected(requests, ranks))
        self._highest = self._highest_arrivals()
        self._ascends = self._along_paths(self.ranks[self._first] < self.ranks[self._beyond])

    def fast_reroute(self, view: RouterView) -> FastReroute:
        """Returns the protected groups of one router.

        Args:
            view: the router's ports and matches.

        Returns:
            The groups; destinations whose packets never come to the router are not listed as unprotected.
        """
        found, router = super().fast_reroute(view), view.router
        own = self.has_hosts[router]
        lost = tuple(one for one in found.unprotected if own or (router, one[0]) in self._by_router)
        return replace(found, unprotected=lost)

    def serves(self, router: int, neighbours: Numbers) -> Mask:
        """Returns where packets that are rerouted to a neighbour keep to the order.

        Args:
            router: the router that reroutes.
            neighbours: its neighbours, each once.

        Returns:
            bool array, neighbours x routers: for each destination.
        """
        out = self.ranks[self._channels.links_to(router, neighbours)][:, None]
        arrives = neighbours[:, None] == self.everyone
        onward = arrives | (out < self.ranks[self._first[neighbours]])
        return np.asarray((out > self._highest[router]) & onward & self._ascends[neighbours])

    @cached_property
    def _beyond(self) -> Numbers:
        """The second channel of the path of marked packets: router by destination."""
        return np.asarray(self._first[self.next_hops, self.everyone])

    def _along_paths(self, holds: Mask) -> Mask:
        """Returns whether all dependencies of paths are as wanted: source by destination.

        Args:
            holds: whether the first dependency of the path is, where that has two links or more.
        """
        along = np.asarray((self.next_hops == self.everyone) | (self.distances == 0))
        for _ in range(self.diameter):
            along |= holds & along[self.next_hops, self.everyone]
        return along

    def _highest_arrivals(self) -> npt.NDArray[np.int64]:
        """Returns the highest rank of channels by which packets come: router by destination; -1 for none."""
        highest = np.full((self.topology.routers, self.topology.routers), -1, np.int64)
        for (router, destination), channels in self._by_router.items():
            highest[router, destination] = self.ranks[channels].max()
        return highest

    def _requests(self, router: int) -> Iterator[_Request]:
        """Yields what a router wants alternates for: destinations behind a single link."""
        around = self.topology.neighbours(router)
        neighbours = np.unique(around).astype(np.intp)
        loop_free = avoid(self.paths_from(neighbours), router)
        links = self._channels.links_to(router, neighbours).tolist()
        minimal = self.topology.minimal_port_mask(router)
        for destination in np.flatnonzero(minimal.sum(axis=0) == 1).tolist():
            arrivals = self._by_router.get((router, destination), [])
            if not self.has_hosts[destination] or not (self.has_hosts[router] or arrivals):
                continue
            lost = around[minimal[:, destination]]
            rows = np.flatnonzero(loop_free[:, destination] & (neighbours != lost))
            rows = rows[np.argsort(self.distances[neighbours[rows], destination], kind="stable")]
            options = []
            for row in rows.tolist():
                dependencies = {(channel, links[row]) for channel in arrivals}
                options.append(frozenset(dependencies.union(self._onward(links[row], destination))))
            yield _Request(destination, len(arrivals), tuple(options))

    def _onward(self, channel: int, destination: int) -> Iterator[tuple[int, int]]:
        """Yields the dependencies of marked packets that have come by a channel, up to a sound path."""
        router = int(self._channels.heads[channel])
        while router != destination:
            wanted = int(self._first[router, destination])
            yield channel, wanted
            if self._sound[router, destination]:
                return
            channel, router = wanted, int(self.next_hops[router, destination])


def _first_channels(topology: Topology) -> npt.NDArray[np.int64]:
    """Returns the channel by which marked packets leave: router by destination; any to the router itself."""
    places = [topology.minimal_port_mask(router).argmax(axis=0) for router in range(topology.routers)]
    return np.asarray(topology.adjacency.starts[:-1].astype(np.int64)[:, None] + np.array(places))


def _arrivals(graph: DependencyGraph) -> dict[tuple[int, int], list[int]]:
    """Returns the channels by which packets come, by router and destination router."""
    destinations = np.array([host.router for host in graph.finder.hosts], np.int64)
    arrivals: dict[tuple[int, int], list[int]] = {}
    for (number, _), rows in graph.arrivals.items():
        router = graph.finder.space.states[number].router
        for link, row in rows.items():
            for destination in destinations[unpack(row[None, :], len(destinations))[0]].tolist():
                if destination != router:
                    arrivals.setdefault((router, destination), []).append(link)
    return arrivals


def _grown(order: GrowingOrder, requests: list[_Request]) -> npt.NDArray[np.int64]:
    """Returns an order after alternates were added, one for each request where that closes no circle."""
    for request in requests:
        for option in sorted(request.options, key=order.missing):
            if order.add(option):
                break
    return order.ranks()


def _protected(requests: list[_Request], ranks: npt.NDArray[np.int64]) -> int:
    """Returns the number of requests for which some alternate keeps to an order."""
    places = ranks.tolist()

    def ascends(option: Dependencies) -> bool:
        return all(places[tail] < places[head] for tail, head in option)

    return sum(any(map(ascends, request.options)) for request in requests)
