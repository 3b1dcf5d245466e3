"""Alternates that keep to one order of channels, so that repairs of an acyclic plan remain acyclic.

Channels are directed links (`routing.deadlock`). A packet that router r reroutes to its neighbour n has
arrived on some channel of the failure-free plan, takes the channel from r to n, and continues from n on the
minimal path with a mark, so that it is not rerouted again. In one order of all channels,

- the channel from r to n comes after every channel on which packets to the destination arrive at r;
- the first channel of the path from n comes after the channel from r to n;
- all channels of that path ascend, and so do those of the paths that packets take in the failure-free plan.

Then the channels of every packet ascend, whatever has failed: one link, several links, or switches; this
includes packets from before the failure. Apart from the order, an alternate must also be loop-free
(`routing.reroute.loop_free_alternates`). Tags are not used.

Many orders fit the failure-free plan. The chosen one grows from it: alternates are added one by one unless
they close a cycle; of several for a destination, the one with the fewest new dependencies. This is done in
three sequences, and the order that protects the most is used.
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
    """A router's request for an alternate toward a destination.

    Attributes:
        destination: the destination.
        arrivals: the number of channels on which packets to the destination arrive at the router.
        options: for each neighbour that is a loop-free alternate, nearest to the destination first, the
            dependencies of packets that are rerouted to it.
    """

    destination: int
    arrivals: int
    options: tuple[Dependencies, ...]


# Sort keys of requests: the sequences in which alternates are added; none is best for all graphs.
_SEQUENCES: tuple[Callable[[_Request], int], ...] = (
    lambda request: request.destination,
    lambda request: request.arrivals,
    lambda request: -request.arrivals,
)


class OrderedSearch(AlternateSearch):
    """Search, router by router, for the alternates that keep to an order of channels.

    Attributes:
        ranks: int64 array: the rank of each channel; they ascend along every packet's path, under any
            failure.
    """

    remote = False

    def __init__(self, topology: Topology, graph: DependencyGraph) -> None:
        """Computes the order.

        Args:
            topology: the topology of a plan whose untagged packets take its minimal paths.
            graph: the plan's channel dependency graph without failures, with one virtual channel.

        Raises:
            ValueError: the graph has a cycle.
        """
        super().__init__(topology)
        sound = ascending_ranks(graph)
        if sound is None:
            raise ValueError("the dependency graph of ordered alternates must be acyclic")
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
            The groups; destinations whose packets never reach the router are not listed as unprotected.
        """
        found, router = super().fast_reroute(view), view.router
        own = self.has_hosts[router]
        lost = tuple(one for one in found.unprotected if own or (router, one[0]) in self._by_router)
        return replace(found, unprotected=lost)

    def serves(self, router: int, neighbours: Numbers) -> Mask:
        """Returns whether packets rerouted to each neighbour keep to the order.

        Args:
            router: the router that reroutes.
            neighbours: its neighbours, each once.

        Returns:
            bool array, neighbours x routers (destinations).
        """
        out = self.ranks[self._channels.links_to(router, neighbours)][:, None]
        arrives = neighbours[:, None] == self.everyone
        onward = arrives | (out < self.ranks[self._first[neighbours]])
        return np.asarray((out > self._highest[router]) & onward & self._ascends[neighbours])

    @cached_property
    def _beyond(self) -> Numbers:
        """For each [router, destination], the second channel on the path of marked packets."""
        return np.asarray(self._first[self.next_hops, self.everyone])

    def _along_paths(self, holds: Mask) -> Mask:
        """Returns, for each [source, destination], whether all dependencies of the path meet a condition.

        Args:
            holds: for each [source, destination], whether the first dependency of the path meets it; ignored
                for paths of fewer than two links.
        """
        along = np.asarray((self.next_hops == self.everyone) | (self.distances == 0))
        for _ in range(self.diameter):
            along |= holds & along[self.next_hops, self.everyone]
        return along

    def _highest_arrivals(self) -> npt.NDArray[np.int64]:
        """Returns, for each [router, destination], the highest rank of a channel on which packets arrive.

        The entry is -1 if no packets to the destination arrive at the router.
        """
        highest = np.full((self.topology.routers, self.topology.routers), -1, np.int64)
        for (router, destination), channels in self._by_router.items():
            highest[router, destination] = self.ranks[channels].max()
        return highest

    def _requests(self, router: int) -> Iterator[_Request]:
        """Yields a request for each destination whose packets have only one minimal link at the router."""
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
        """Yields the dependencies of marked packets, hop by hop, after they have arrived on a channel.

        It stops where all further dependencies are in the graph of the plan without failures.
        """
        router = int(self._channels.heads[channel])
        while router != destination:
            wanted = int(self._first[router, destination])
            yield channel, wanted
            if self._sound[router, destination]:
                return
            channel, router = wanted, int(self.next_hops[router, destination])


def _first_channels(topology: Topology) -> npt.NDArray[np.int64]:
    """Returns, for each [router, destination], the channel on which marked packets leave the router.

    Entries on the diagonal have no meaning.
    """
    places = [topology.minimal_port_mask(router).argmax(axis=0) for router in range(topology.routers)]
    return np.asarray(topology.adjacency.starts[:-1].astype(np.int64)[:, None] + np.array(places))


def _arrivals(graph: DependencyGraph) -> dict[tuple[int, int], list[int]]:
    """Returns, by (router, destination router), the channels on which packets arrive at the router."""
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
    """For each request, adds to an order the first alternate that closes no cycle; returns the ranks."""
    for request in requests:
        for option in sorted(request.options, key=order.missing):
            if order.add(option):
                break
    return order.ranks()


def _protected(requests: list[_Request], ranks: npt.NDArray[np.int64]) -> int:
    """Returns the number of requests for which at least one alternate ascends in the ranks."""
    places = ranks.tolist()

    def ascends(option: Dependencies) -> bool:
        return all(places[tail] < places[head] for tail, head in option)

    return sum(any(map(ascends, request.options)) for request in requests)
