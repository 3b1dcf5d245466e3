"""Certificates of deadlock freedom: ranks of channels, checked by following packets once more.

The check knows nothing of the dependency graph. It gives every packet the rank of the channel that it has
come by, keeps the highest rank for each state and destination, and sees whether every move from there leads
to a channel of a higher rank.
"""

from __future__ import annotations

import numpy as np

from routing.deadlock.channels import Channels, Numbers
from routing.deadlock.dependency_graph import sent_packets
from routing.deadlock.moves import Mask, MoveFinder, Moves

_NOBODY = -1  # rank where no packet has come


def ranks_ascend(finder: MoveFinder, channels: Channels, ranks: Numbers) -> bool:
    """Returns whether each packet always moves on to a channel of a higher rank than that it has come by.

    Args:
        finder: the moves of packets; one that no graph was made from, for an independent check.
        channels: the channels that packets use.
        ranks: int64 array: the rank of each channel, at least 0.
    """
    return _Check(finder, channels, ranks).holds()


class _Check:
    """The highest ranks by which packets come to states."""

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
            come_by = self._highest[key]
            moves = self._finder.moves(self._finder.space.states[number])
            here = moves.possible & (come_by != _NOBODY)
            if (here & (self._wanted(moves, level)[:, None] <= come_by)).any():
                return False
            self._arrive(moves, here, level)
        return True

    def _wanted(self, moves: Moves, level: int) -> np.ndarray:
        """Returns the ranks of the channels by which packets leave."""
        return self._ranks[moves.links * self._virtual + min(level + 1, self._virtual) - 1]

    def _arrive(self, moves: Moves, here: Mask, level: int) -> None:
        """Raises the highest ranks in the states that packets are in next."""
        wanted, onward = self._wanted(moves, level), min(level + 1, self._virtual)
        for index in np.flatnonzero(here.any(axis=1)).tolist():
            key = int(moves.targets[index]), onward
            ranks = np.where(here[index], wanted[index], np.int32(_NOBODY))
            before = self._highest.get(key)
            if before is None or (ranks > before).any():
                self._highest[key] = ranks if before is None else np.maximum(before, ranks)
                self._pending[key] = None
