"""Shortest cycles of channel dependency graphs, and the packets that hold and request their channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from routing.deadlock.channels import Channel, Numbers
from routing.deadlock.dependency_graph import DependencyGraph, sent_packets
from routing.deadlock.moves import Moves, unpack
from routing.deadlock.order import Successors, channels_in_cycles, successors
from topology.addressing import Host


@dataclass(frozen=True)
class Dependency:
    """One channel of a cycle, with packets that hold it and wait for the next channel.

    Attributes:
        channel: the channel.
        source: a host whose packets may arrive on the channel and leave on the next one.
        destination: the destination host of these packets.
    """

    channel: Channel
    source: Host
    destination: Host


def shortest_cycle(graph: DependencyGraph) -> list[int]:
    """Returns a shortest cycle of dependencies; of several, the first by channel numbers.

    Args:
        graph: the channel dependency graph.

    Returns:
        Channels, each of which depends on the next, and the last on the first; empty if the graph is acyclic.
    """
    search = _Search(graph)
    best: list[int] = []
    for channel in channels_in_cycles(graph).tolist():
        best = search.cycle_through(channel, len(best)) or best
        search.exclude(channel)  # all cycles through it are known
    return best


class _Search:
    """A bidirectional search from a channel, forward and backward until both sides meet."""

    def __init__(self, graph: DependencyGraph) -> None:
        order = np.argsort(graph.heads, kind="stable")
        starts = np.searchsorted(graph.heads[order], np.arange(len(graph.channels) + 1))
        self._directions = successors(graph), Successors(starts, graph.tails[order])
        # By direction and channel: the start of the search that reached it last, and its predecessor there.
        self._stamps = np.full((2, len(graph.channels)), -1, np.int64)
        self._parents = np.full((2, len(graph.channels)), -1, np.int64)
        self._left = np.ones(len(graph.channels), bool)

    def exclude(self, channel: int) -> None:
        """Excludes a channel from all further searches."""
        self._left[channel] = False

    def cycle_through(self, first: int, bound: int) -> list[int]:
        """Returns a shortest cycle through a channel if it is shorter than `bound` (0: no bound), else []."""
        self._stamps[:, first] = first
        rings = [np.array([first]), np.array([first])]
        length = 0
        while min(map(len, rings)) and (not bound or length + 1 < bound):
            length += 1
            side = int(len(rings[1]) < len(rings[0]))
            rings[side] = self._expand(rings[side], side, first)
            met = rings[side][self._stamps[1 - side, rings[side]] == first]
            if len(met):
                return self._cycle(int(met[0]), first, side)
        return []

    def _cycle(self, met: int, first: int, side: int) -> list[int]:
        """Returns the cycle through the first channel of a search and the channel where both sides met."""
        if met == first:
            trail = self._trail(first, side, first)
            return [first, *reversed(trail[1:])] if side == 0 else trail
        return [first, *reversed(self._trail(met, 0, first)), *self._trail(met, 1, first)[1:]]

    def _expand(self, ring: Numbers, side: int, first: int) -> Numbers:
        """Advances one side of a search by one dependency, from the channels in `ring`.

        Returns the channels that this side reaches for the first time, or that close a cycle through `first`.
        """
        after = self._directions[side]
        reached, parents = after.of(ring), np.repeat(ring, after.counts(ring))
        new = self._left[reached] & ((self._stamps[side, reached] != first) | (reached == first))
        reached, places = np.unique(reached[new], return_index=True)
        self._stamps[side, reached] = first
        self._parents[side, reached] = parents[new][places]
        return reached

    def _trail(self, channel: int, side: int, first: int) -> list[int]:
        """Returns the channels on the search's path back from `channel` to `first`, which is left out."""
        trail: list[int] = []
        while channel != first or not trail:
            trail.append(channel)
            channel = int(self._parents[side, channel])
        return trail


def describe_cycle(graph: DependencyGraph, cycle: Sequence[int]) -> list[Dependency]:
    """Returns the channels of a cycle with packets that make each of them wait for the next.

    Args:
        graph: the channel dependency graph.
        cycle: channels, as returned by `shortest_cycle`.
    """
    return [
        Dependency(graph.channels.channel(held), *_packet(graph, held, wanted))
        for held, wanted in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True)
    ]


def _packet(graph: DependencyGraph, held: int, wanted: int) -> tuple[Host, Host]:
    """Returns the source and destination of packets that arrive on one channel and may leave on another."""
    hosts, virtual = graph.finder.hosts, graph.channels.virtual
    link, level = held // virtual, held % virtual + 1
    for number, destinations in _arrivals_by(graph, link, level):
        moves = graph.finder.moves(graph.finder.space.states[number])
        ways = moves.links == wanted // virtual
        both = np.flatnonzero(destinations & moves.possible[ways].any(axis=0))
        if len(both):
            return _source(graph, (number, link, level), int(both[0])), hosts[int(both[0])]
    raise ValueError(f"channel {held} does not depend on channel {wanted}")


def _arrivals_by(graph: DependencyGraph, link: int, level: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yields (number of a state, bool array of destinations) for packets that enter the state over a link."""
    for (number, at), rows in graph.arrivals.items():
        if at == level and link in rows:
            yield number, unpack(rows[link][None, :], len(graph.finder.hosts))[0]


def _source(graph: DependencyGraph, last: tuple[int, int, int], destination: int) -> Host:
    """Searches backward for a host whose packets to a destination enter a given state over a given link.

    Args:
        graph: the channel dependency graph.
        last: the state, the link, and the virtual channel of the hop, from 1.
        destination: the index of the destination.
    """
    finder, virtual = graph.finder, graph.channels.virtual
    pending, met = [last], {last}
    for number, link, level in pending:
        router = int(graph.channels.tails[link])
        if level == 1:
            for host, start, others in sent_packets(finder):
                if host.router == router and others[destination] and _leads(start, link, number, destination):
                    return host
        for (before, at), rows in graph.arrivals.items():
            state = finder.space.states[before]
            if min(at + 1, virtual) != level or state.router != router:
                continue
            if not _leads(finder.moves(state), link, number, destination):
                continue
            for earlier, row in rows.items():
                key = (before, earlier, at)
                if key not in met and unpack(row[None, :], len(finder.hosts))[0, destination]:
                    met.add(key)
                    pending.append(key)
    raise ValueError(f"no packet arrives over link {link}")


def _leads(moves: Moves, link: int, number: int, destination: int) -> bool:
    """Returns whether packets to a destination may enter state `number` over `link` by one of the moves."""
    here = (moves.links == link) & (moves.targets == number)
    return bool(moves.possible[here, destination].any())
