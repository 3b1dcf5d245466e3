"""Certificates of deadlock freedom: ranks of channels, checked by following packets again.

The check does not use the dependency graph. It assigns every packet the rank of the channel on which it has
arrived, keeps the highest rank for each state and destination, and checks that every move from there leads to
a channel of a higher rank.
"""

from __future__ import annotations

import numpy as np

from routing.deadlock.channels import Channels, Numbers
from routing.deadlock.dependency_graph import sent_packets
from routing.deadlock.moves import Mask, MoveFinder, Moves

_NOBODY = -1  # rank if no packet has arrived


def ranks_ascend(finder: MoveFinder, channels: Channels, ranks: Numbers) -> bool:
    """Returns whether every packet always moves on to a channel of a higher rank than the last one.

    Args:
        finder: finds the moves of packets. The check is independent if this finder did not build the graph.
        channels: the channels that packets use.
        ranks: int64 array: the rank of each channel, at least 0.
    """
    return _Check(finder, channels, ranks).holds()


class _Check:
    """The check of a certificate: the highest rank of the channels on which packets enter each state."""

    def __init__(self, finder: MoveFinder, channels: Channels, ranks: Numbers) -> None:
        self._finder = finder
        self._virtual = channels.virtual
        self._ranks = ranks.astype(np.int32)
        self._highest: dict[tuple[int, int], np.ndarray] = {}
        self._pending: dict[tuple[int, int], None] = {}

    def holds(self) -> bool:
        for _, moves, destinations in sent_packets(self._finder):
            self._arrive(moves, moves.possible & destinations, 0)
        while self._pending:
            number, level = key = next(iter(self._pending))
            del self._pending[key]
            arrival_ranks = self._highest[key]
            moves = self._finder.moves(self._finder.space.states[number])
            here = moves.possible & (arrival_ranks != _NOBODY)
            if (here & (self._leaving_ranks(moves, level)[:, None] <= arrival_ranks)).any():
                return False
            self._arrive(moves, here, level)
        return True

    def _leaving_ranks(self, moves: Moves, level: int) -> np.ndarray:
        """Returns, for each move, the rank of the channel on which packets leave.

        `level` is the virtual channel of their last hop, from 1; 0 before the first hop.
        """
        return self._ranks[moves.links * self._virtual + min(level + 1, self._virtual) - 1]

    def _arrive(self, moves: Moves, here: Mask, level: int) -> None:
        """Records the ranks with which packets arrive in their next states.

        A state whose highest rank grows must be checked again.
        """
        leaving, onward = self._leaving_ranks(moves, level), min(level + 1, self._virtual)
        for index in np.flatnonzero(here.any(axis=1)).tolist():
            key = int(moves.targets[index]), onward
            ranks = np.where(here[index], leaving[index], np.int32(_NOBODY))
            before = self._highest.get(key)
            if before is None or (ranks > before).any():
                self._highest[key] = ranks if before is None else np.maximum(before, ranks)
                self._pending[key] = None
