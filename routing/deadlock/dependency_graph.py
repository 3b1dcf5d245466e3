"""Channel dependency graphs: pairs of a channel that packets hold and the channel that they wait for.

If a packet that has arrived on one channel may leave on another, the first depends on the second. The graph
is derived from the plan's own rules: packets from all sources to all destinations are followed at once,
through the states that they share. Links between switches and hosts are left out: nothing waits for a host's
injection, and hosts always accept packets, so neither can be on a cycle.

Source: Dally and Seitz (IEEE Trans. Computers C-36, 1987), section II, definition of the channel dependency
graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from routing.deadlock.channels import Channels, Numbers
from routing.deadlock.moves import Mask, MoveFinder, Moves, Packed, pack
from routing.verification.forwarding_states import State, StateSpace
from topology.addressing import Host

# (number of a state, virtual channel of the last hop, from 1) -> link -> destinations
Arrivals = dict[tuple[int, int], dict[int, Packed]]


@dataclass(frozen=True)
class DependencyGraph:
    """The channel dependency graph of a plan, without a failure or under one failure.

    Attributes:
        channels: the channels.
        tails: int64 array: for each dependency, the channel on which packets have arrived; ascending.
        heads: int64 array: for each dependency, the channel on which they may leave.
        finder: the moves from which the graph was derived.
        arrivals: the packets that enter each state, by link and destination.
    """

    channels: Channels
    tails: Numbers
    heads: Numbers
    finder: MoveFinder
    arrivals: Mapping[tuple[int, int], Mapping[int, Packed]]


def first_hosts(space: StateSpace) -> list[Host]:
    """Returns the first host of every router that has any; the other hosts of a router share its rules.

    Args:
        space: the states of a plan.
    """
    return [host for host in space.hosts if host.index == 0]


def dependency_graph(finder: MoveFinder, channels: Channels) -> DependencyGraph:
    """Returns the channel dependency graph of a plan.

    Args:
        finder: the moves of packets; its hosts send and receive.
        channels: the channels that packets use.
    """
    return _Traversal(finder, channels).graph()


def sent_packets(finder: MoveFinder) -> Iterator[tuple[Host, Moves, Mask]]:
    """Yields the packets that hosts send: the host, the first moves and the destinations.

    Args:
        finder: the moves of packets.

    Yields:
        For each host whose router works: the host; the moves; bool array, D: which destinations are hosts of
        other working routers.
    """
    down = finder.failure.failed_routers
    routers = np.array([host.router for host in finder.hosts], np.int64)
    working = ~np.isin(routers, [*down])
    for host in finder.hosts:
        if host.router not in down:
            moves = finder.moves(finder.space.initial_state(host), keep=False)
            yield host, moves, working & (routers != host.router)


class _Traversal:
    """A traversal of all states that packets enter, round by round; each round is one hop."""

    def __init__(self, finder: MoveFinder, channels: Channels) -> None:
        self._finder = finder
        self._channels = channels
        self._arrivals: Arrivals = {}
        self._found: list[Numbers] = []

    def graph(self) -> DependencyGraph:
        """Follows all packets to their destinations, and returns the graph of the dependencies found."""
        pending = self._first_arrivals()
        while pending:
            pending = self._round(pending)
        known = np.unique(np.concatenate([*self._found, np.empty(0, np.int64)]))
        tails, heads = np.divmod(known, max(1, len(self._channels)))
        return DependencyGraph(self._channels, tails, heads, self._finder, self._arrivals)

    def _first_arrivals(self) -> Arrivals:
        """Returns the arrivals of all packets at the end of their first link."""
        pending: Arrivals = {}
        for _, moves, destinations in sent_packets(self._finder):
            _send(moves, pack(destinations[None, :])[0], 1, pending)
        return pending

    def _round(self, pending: Arrivals) -> Arrivals:
        """Moves, over one link, packets that are new in their states; returns their arrivals at its end."""
        onward: Arrivals = {}
        for (number, level), rows in pending.items():
            fresh = dict(_unseen(self._arrivals.setdefault((number, level), {}), rows))
            if not fresh:
                continue
            moves = self._finder.moves(self._state(number))
            destinations = np.stack([*fresh.values()])
            self._add(np.array([*fresh]), destinations, moves, level)
            everyone = np.bitwise_or.reduce(destinations, axis=0)
            _send(moves, everyone, min(level + 1, self._channels.virtual), onward)
        return onward

    def _add(self, links: Numbers, destinations: Packed, moves: Moves, level: int) -> None:
        """Adds dependencies from the links on which packets have arrived to those on which they may leave."""
        before, after = np.nonzero((destinations[:, None, :] & moves.packed[None, :, :]).any(axis=2))
        virtual, count = self._channels.virtual, len(self._channels)
        tails = links[before] * virtual + level - 1
        heads = moves.links[after] * virtual + min(level + 1, virtual) - 1
        self._found.append(tails * count + heads)

    def _state(self, number: int) -> State:
        return self._finder.space.states[number]


def _unseen(seen: dict[int, Packed], rows: Mapping[int, Packed]) -> Iterator[tuple[int, Packed]]:
    """Yields (link, destinations not seen before on that link), and marks these as seen."""
    for link, row in rows.items():
        before = seen.get(link)
        if before is None:
            seen[link] = row
            yield link, row
        elif (new := row & ~before).any():
            seen[link] = before | row
            yield link, new


def _send(moves: Moves, destinations: Packed, level: int, onward: Arrivals) -> None:
    """Records the arrivals of packets to the given destinations at their next states."""
    sent = moves.packed & destinations
    for index in np.flatnonzero(sent.any(axis=1)).tolist():
        rows = onward.setdefault((int(moves.targets[index]), level), {})
        link = int(moves.links[index])
        rows[link] = rows[link] | sent[index] if link in rows else sent[index]
