"""The measured window of a run, which can be set while traffic flows already."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_NEVER = 1 << 62


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

    def contains(self, times_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Returns whether times lie in the window.

        Args:
            times_ns: nanoseconds since the schedule's start, any shape.

        Returns:
            bool array of the same shape.
        """
        return (times_ns >= self.begin_ns) & (times_ns < self.end_ns)
