"""Orders of channels, for dependencies that are added only while the graph stays acyclic.

Source: Pearce and Kelly, "A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs" (ACM Journal of
Experimental Algorithmics 11, 2007), algorithm PK: an order changes only between the two ends of a new
dependency that violates it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from routing.deadlock.channels import Numbers
from routing.deadlock.dependency_graph import DependencyGraph

Dependencies = frozenset[tuple[int, int]]  # (channel on which packets arrive, channel on which they leave)


class GrowingOrder:
    """Acyclic dependencies, and an order of channels in which each dependency leads to a later channel."""

    def __init__(self, graph: DependencyGraph, ranks: Numbers) -> None:
        """Starts with the dependencies of a graph.

        Args:
            graph: an acyclic channel dependency graph.
            ranks: an order in which its dependencies ascend; channels may share a rank.
        """
        self._places = np.argsort(np.argsort(ranks, kind="stable")).tolist()
        self._after: list[set[int]] = [set() for _ in self._places]
        self._before: list[set[int]] = [set() for _ in self._places]
        for tail, head in zip(graph.tails.tolist(), graph.heads.tolist(), strict=True):
            self._link(tail, head)
        self._decided: dict[Dependencies, bool] = {}

    def ranks(self) -> Numbers:
        """Returns the rank of each channel: int64 array of distinct ranks from 0."""
        return np.array(self._places, np.int64)

    def missing(self, dependencies: Dependencies) -> int:
        """Returns the number of dependencies that have not been added yet.

        Args:
            dependencies: any dependencies.
        """
        return sum(head not in self._after[tail] for tail, head in dependencies)

    def add(self, dependencies: Dependencies) -> bool:
        """Adds a set of dependencies, all of them or none.

        Args:
            dependencies: any dependencies.

        Returns:
            Whether they were added; they are not if they would close a cycle.
        """
        if dependencies not in self._decided:  # dependencies that closed a cycle once always will
            self._decided[dependencies] = self._add(sorted(dependencies))
        return self._decided[dependencies]

    def _add(self, dependencies: Sequence[tuple[int, int]]) -> bool:
        added: list[tuple[int, int]] = []
        for tail, head in dependencies:
            if head in self._after[tail]:
                continue
            if tail == head or (self._places[head] < self._places[tail] and not self._move(tail, head)):
                for one in added:  # the new order may stay: it also fits fewer dependencies
                    self._unlink(*one)
                return False
            self._link(tail, head)
            added.append((tail, head))
        return True

    def _link(self, tail: int, head: int) -> None:
        self._after[tail].add(head)
        self._before[head].add(tail)

    def _unlink(self, tail: int, head: int) -> None:
        self._after[tail].remove(head)
        self._before[head].remove(tail)

    def _move(self, tail: int, head: int) -> bool:
        """Reorders channels such that `head` comes after `tail`; returns False if a cycle prevents this."""
        low, high = self._places[head], self._places[tail]
        behind = self._reached(head, self._after, low, high)
        if tail in behind:  # this closes a cycle; the search has stopped early
            return False
        ahead = self._reached(tail, self._before, low, high)
        moved = [*sorted(ahead, key=self._places.__getitem__), *sorted(behind, key=self._places.__getitem__)]
        for channel, place in zip(moved, sorted(map(self._places.__getitem__, moved)), strict=True):
            self._places[channel] = place
        return True

    def _reached(self, first: int, neighbours: Sequence[set[int]], low: int, high: int) -> set[int]:
        """Returns the channels that are reachable from `first` over channels at places `low` to `high`.

        `neighbours` lists the successors, or the predecessors, of each channel. The search stops early when
        it reaches the channel at `low` or at `high`: it has then found a cycle.
        """
        places = self._places
        reached, pending = {first}, [first]
        while pending:
            for channel in neighbours[pending.pop()] - reached:
                if low <= places[channel] <= high:
                    reached.add(channel)
                    pending.append(channel)
                    if places[channel] in (low, high):
                        return reached
        return reached
