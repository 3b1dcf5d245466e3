"""The measurement window of a run, which can be set while traffic is already flowing."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from topology.errors import PolarLabError

_NEVER = 1 << 62
# Maximum number of packets that wait for the window to be set (about 35 MB), besides the latest batch.
MAX_PENDING_PACKETS = 500_000

Batch = TypeVar("Batch")


class LateWindowError(PolarLabError):
    """The measurement window became known too late: packets in it had been dropped without being counted."""


class Window:
    """The time in which packets are measured, in nanoseconds since the schedule's start.

    Attributes:
        begin_ns, end_ns: the window's first nanosecond, and the first one after it. Until the window is set,
            both are later than any packet.
    """

    def __init__(self, window_ns: tuple[int, int] | None) -> None:
        """Creates a window, which may be set later.

        Args:
            window_ns: start and end; None if they are not known yet.
        """
        self.begin_ns, self.end_ns = window_ns or (_NEVER, _NEVER)

    def set(self, begin_ns: int, end_ns: int) -> None:
        """Sets the window.

        Args:
            begin_ns: first nanosecond of the window, since the schedule's start.
            end_ns: first nanosecond after the window.
        """
        # One statement, because another thread may read both meanwhile.
        self.begin_ns, self.end_ns = begin_ns, end_ns

    @property
    def known(self) -> bool:
        """Whether the window is set."""
        return self.begin_ns != _NEVER

    def contains(self, times_ns: npt.NDArray[np.int64], before_ns: int = 0) -> npt.NDArray[np.bool_]:
        """Returns whether times lie in the window, or up to `before_ns` before it.

        Args:
            times_ns: nanoseconds since the schedule's start, any shape.
            before_ns: time before the window that also counts.

        Returns:
            bool array of the same shape.
        """
        return (times_ns >= self.begin_ns - before_ns) & (times_ns < self.end_ns)


class PendingBatches(Generic[Batch]):
    """Batches of packets that wait for the measurement window to become known.

    On a busy machine, a process may learn of the window only after the window has started. Packets sent or
    received in between would be counted at one end only, and therefore count as lost.
    """

    def __init__(self, window: Window) -> None:
        """Creates an empty buffer that waits for `window`."""
        self._window = window
        self._batches: deque[tuple[Batch, int, int]] = deque()  # (batch, packets, latest time)
        self._packets = 0
        self._dropped_until_ns = -_NEVER

    def add(self, batch: Batch, times_ns: npt.NDArray[np.int64]) -> None:
        """Adds a batch.

        Args:
            batch: the batch.
            times_ns: times that decide whether its packets are in the window, in nanoseconds since the
                schedule's start; shape (packets,).
        """
        if not len(times_ns):
            return
        self._batches.append((batch, len(times_ns), int(times_ns.max())))
        self._packets += len(times_ns)
        while self._packets - self._batches[0][1] >= MAX_PENDING_PACKETS:
            _, packets, latest_ns = self._batches.popleft()
            self._packets -= packets
            self._dropped_until_ns = max(self._dropped_until_ns, latest_ns)

    def released(self) -> list[Batch]:
        """Removes and returns the batches that can be counted; none until the window is known.

        Raises:
            LateWindowError: packets in the window have been dropped.
        """
        if not self._window.known:
            return []
        if self._dropped_until_ns >= self._window.begin_ns:
            raise LateWindowError(
                "this machine is too busy: a process learned of the measurement window more than "
                f"{MAX_PENDING_PACKETS} packets after the window had started"
            )
        batches = [batch for batch, _, _ in self._batches]
        self._batches.clear()
        self._packets = 0
        return batches
