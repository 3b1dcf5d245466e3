"""Acyclic layers of paths, for networks whose packets keep one virtual lane on their whole path.

All paths start in the first layer. While its dependencies have a cycle, the paths with the rarest dependency
of the cycle move to the next layer, which is then processed in the same way.

Source: Domke, Hoefler, Nagel, "Deadlock-Free Oblivious Routing for Arbitrary Topologies" (IPDPS 2011),
section III (DFSSSP).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from routing.deadlock.channels import Channels, Numbers
from routing.deadlock.dependency_graph import sent_packets
from routing.deadlock.moves import MoveFinder
from topology.errors import UsageError

_END = -1
_LARGEST = 2**62  # upper limit of the numbers that encode paths


def count_layers(finder: MoveFinder, channels: Channels, routing: str) -> int:
    """Returns the number of layers into which the greedy search divides the paths of all pairs.

    Args:
        finder: the moves of packets.
        channels: the directed links; one virtual channel.
        routing: the routing's name, for error messages.

    Raises:
        UsageError: a pair has several paths.
    """
    return len(divide_into_layers(_Paths(finder, routing).links(), len(channels)))


def divide_into_layers(links: Numbers, channels: int) -> list[int]:
    """Returns the number of paths in each layer found by the greedy search; at least one layer.

    Args:
        links: int64 array, paths x hops: the directed links of each path, padded with -1; equal paths stay in
            one layer and are counted individually.
        channels: the number of directed links.
    """
    tails, heads = links[:, :-1], links[:, 1:]
    both = heads != _END
    keys, numbers = np.unique(tails[both] * channels + heads[both], return_inverse=True)
    paths = np.full(tails.shape, _END, np.int64)
    paths[both] = numbers.ravel()
    free = ~both.any(axis=1)  # paths of one link depend on nothing
    paths, counts = _distinct(paths[~free], len(keys))
    sizes = [int(free.sum())]
    while len(paths):
        layer = _Layer(keys // channels, keys % channels, channels, paths, counts)
        left = layer.moved()
        sizes[-1] += int(counts[~left].sum())
        paths, counts = paths[left], counts[left]
        if len(paths):
            sizes.append(0)
    return sizes


def _distinct(paths: Numbers, dependencies: int) -> tuple[Numbers, Numbers]:
    """Returns the distinct paths in ascending order, and how often each occurs.

    Args:
        paths: int64 array, paths x hops: numbers of dependencies, and _END.
        dependencies: the number of all dependencies.
    """
    base, hops = dependencies + 1, paths.shape[1]
    if base**hops > _LARGEST:
        return np.unique(paths, axis=0, return_counts=True)
    # Encode each path as one number, which sorts several times as fast as a row.
    weights = base ** np.arange(hops - 1, -1, -1)
    distinct, counts = np.unique((paths + 1) @ weights, return_counts=True)
    return distinct[:, None] // weights % base - 1, counts


class _Paths:
    """The single path of every pair of hosts."""

    def __init__(self, finder: MoveFinder, routing: str) -> None:
        self._finder = finder
        self._routing = routing
        self._known: dict[int, tuple[Numbers, Numbers]] = {}

    def links(self) -> Numbers:
        """Returns the directed links of all paths: int64 array, paths x hops, padded with _END."""
        space = self._finder.space
        pairs = [
            (space.initial_state(host).number, destination)
            for host, _, destinations in sent_packets(self._finder)
            for destination in np.flatnonzero(destinations).tolist()
        ]
        states, destinations = np.array(pairs, np.int64).reshape(-1, 2).T
        columns = [np.full(len(states), _END)]
        while (states != _END).any():
            states, links = self._after(states, destinations)
            columns.append(links)
        return np.stack(columns[1:] or columns, axis=1)

    def _after(self, states: Numbers, destinations: Numbers) -> tuple[Numbers, Numbers]:
        """Returns the next states of packets and the links on which they leave; _END if they have arrived."""
        distinct, rows = np.unique(states, return_inverse=True)
        known = [self._row(number) for number in distinct.tolist()]
        targets, links = (np.stack([one[part] for one in known]) for part in (0, 1))
        return targets[rows.ravel(), destinations], links[rows.ravel(), destinations]

    def _row(self, number: int) -> tuple[Numbers, Numbers]:
        """Returns, by destination, the next states of packets in a state, and the links to these states."""
        if number not in self._known:
            nowhere = np.full(len(self._finder.hosts), _END)
            if number == _END:
                return nowhere, nowhere
            moves = self._finder.moves(self._finder.space.states[number])
            ways = moves.possible.sum(axis=0)
            if (ways > 1).any():
                raise UsageError(
                    "layers need a routing with one path for every pair, got "
                    f"{self._routing}, whose switches choose among several paths"
                )
            if not len(moves.links):
                return nowhere, nowhere
            first = moves.possible.argmax(axis=0)
            parts = moves.targets[first], moves.links[first]
            self._known[number] = np.where(ways, parts[0], _END), np.where(ways, parts[1], _END)
        return self._known[number]


class _Layer:
    """One layer, from which paths are removed until it is acyclic.

    Its dependencies are searched depth first. One that leads back to a channel on the current trail closes a
    cycle.
    """

    def __init__(
        self, tails: Numbers, heads: Numbers, channels: int, paths: Numbers, counts: Numbers
    ) -> None:
        self._heads: list[int] = heads.tolist()
        self._starts: list[int] = np.searchsorted(tails, np.arange(channels + 1)).tolist()
        self._dependencies: list[list[int]] = [[n for n in row if n != _END] for row in paths.tolist()]
        used, order = paths.ravel(), np.argsort(paths.ravel(), kind="stable")
        self._counts: list[int] = counts.tolist()
        # By dependency: the number of paths that have it.
        self._weights = [0] * len(heads)
        for dependencies, count in zip(self._dependencies, self._counts, strict=True):
            for dependency in dependencies:
                self._weights[dependency] += count
        self._by_dependency = order // paths.shape[1]
        self._first_path = np.searchsorted(used[order], np.arange(len(heads) + 1))
        self._moved: npt.NDArray[np.bool_] = np.zeros(len(paths), bool)
        # By channel: the dependency to follow next; past its last one, the channel is finished.
        self._next = self._starts[:-1].copy()
        self._trail: list[int] = []  # dependencies from the first channel to the current one
        # By channel: the number of dependencies on the trail to it; _END if it is not on the trail.
        self._place = [_END] * channels

    def moved(self) -> npt.NDArray[np.bool_]:
        """Removes paths until the layer is acyclic; returns, for each path, whether it was removed."""
        for channel in range(len(self._next)):
            self._search(channel)
        return self._moved

    def _search(self, first: int) -> None:
        """Searches all channels that are reachable from `first`, and breaks the cycles found."""
        # Local names are faster, and tens of millions of dependencies are followed.
        heads, starts, weights = self._heads, self._starts, self._weights
        upcoming, place, trail = self._next, self._place, self._trail
        place[first] = 0
        channel = first
        while True:
            dependency = upcoming[channel]
            if dependency == starts[channel + 1]:
                place[channel] = _END
                if not trail:
                    return
                trail.pop()
                channel = heads[trail[-1]] if trail else first
                continue
            upcoming[channel] = dependency + 1
            if not weights[dependency]:
                continue
            head = heads[dependency]
            if place[head] != _END:
                self._break(dependency, head)
                channel = heads[trail[-1]] if trail else first
            elif upcoming[head] < starts[head + 1]:
                trail.append(dependency)
                place[head] = len(trail)
                channel = head

    def _break(self, closing: int, head: int) -> None:
        """Removes the paths that have the rarest dependency of a cycle.

        The trail is cut before its first dependency that is left without paths.
        """
        cycle = [*self._trail[self._place[head] :], closing]
        rarest = min(cycle, key=self._weights.__getitem__)
        kept = len(self._trail)
        for path in self._by_dependency[self._first_path[rarest] : self._first_path[rarest + 1]].tolist():
            if self._moved[path]:
                continue
            self._moved[path] = True
            for dependency in self._dependencies[path]:
                self._weights[dependency] -= self._counts[path]
                place = self._place[self._heads[dependency]]
                if not self._weights[dependency] and place > 0 and self._trail[place - 1] == dependency:
                    kept = min(kept, place - 1)
        for dependency in self._trail[kept:]:
            head = self._heads[dependency]
            self._place[head] = _END
            self._next[head] -= 1  # follow the last dependency again; all before it are finished
        del self._trail[kept:]
