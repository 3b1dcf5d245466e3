"""The measured window of a run, which can be set while traffic flows already."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from topology.errors import PolarLabError

_NEVER = 1 << 62
# Most packets that are held for a window to come, beside those of one batch: some 35 MB.
MOST_HELD_PACKETS = 500_000

Batch = TypeVar("Batch")


class LateWindowError(PolarLabError):
    """Measured window that became known so late that packets in it were dropped uncounted."""


class Window:
    """The time in which packets are measured, in nanoseconds since the schedule's start.

    Attributes:
        begin_ns, end_ns: its first nanosecond, and the first after it; later than any packet until set.
    """

    def __init__(self, window_ns: tuple[int, int] | None) -> None:
        """Sets the window, or leaves it open until `set`.

        Args:
            window_ns: begin and end; None if they are not known yet.
        """
        self.begin_ns, self.end_ns = window_ns or (_NEVER, _NEVER)

    def set(self, begin_ns: int, end_ns: int) -> None:
        """Sets the window.

        Args:
            begin_ns: its first nanosecond since the schedule's start.
            end_ns: the first nanosecond after it.
        """
        # In one statement, as another thread may read both meanwhile.
        self.begin_ns, self.end_ns = begin_ns, end_ns

    @property
    def known(self) -> bool:
        """Whether it is set."""
        return self.begin_ns != _NEVER

    def contains(self, times_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Returns whether times lie in the window.

        Args:
            times_ns: nanoseconds since the schedule's start, any shape.

        Returns:
            bool array of the same shape.
        """
        return (times_ns >= self.begin_ns) & (times_ns < self.end_ns)


class HeldBatches(Generic[Batch]):
    """Batches of packets that wait for the measured window to become known.

    A process on a busy machine may learn of the window after its begin. Packets that it sent or received by
    then would be missing in one process's counts and not in the other's, and so count as lost.
    """

    def __init__(self, window: Window) -> None:
        """Holds nothing yet; `window` is the one that is waited for."""
        self._window = window
        self._batches: deque[tuple[Batch, int, int]] = deque()  # with their packets and their latest time
        self._packets = 0
        self._dropped_until_ns = -_NEVER

    def add(self, batch: Batch, times_ns: npt.NDArray[np.int64]) -> None:
        """Takes a batch.

        Args:
            batch: the batch.
            times_ns: nanoseconds since the schedule's start that tell whether its packets are in the window;
                shape (packets,).
        """
        if not len(times_ns):
            return
        self._batches.append((batch, len(times_ns), int(times_ns.max())))
        self._packets += len(times_ns)
        while self._packets - self._batches[0][1] >= MOST_HELD_PACKETS:
            _, packets, latest_ns = self._batches.popleft()
            self._packets -= packets
            self._dropped_until_ns = max(self._dropped_until_ns, latest_ns)

    def released(self) -> list[Batch]:
        """Returns the batches that can be counted, and holds them no longer; none until the window is known.

        Raises:
            LateWindowError: packets in the window were dropped before.
        """
        if not self._window.known:
            return []
        if self._dropped_until_ns >= self._window.begin_ns:
            raise LateWindowError(
                f"the measured window became known over {MOST_HELD_PACKETS} packets after its begin; "
                "this machine is too busy"
            )
        batches = [batch for batch, _, _ in self._batches]
        self._batches.clear()
        self._packets = 0
        return batches
