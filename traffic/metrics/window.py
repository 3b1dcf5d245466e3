"""The measured window of a run, which may be set only while traffic flows already."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_NEVER = 1 << 62


class Window:
    """From when to when packets are measured, in nanoseconds since the schedule's start.

    Attributes:
        begin_ns, end_ns: far away until somebody sets them.
    """

    def __init__(self, window_ns: tuple[int, int] | None) -> None:
        self.begin_ns, self.end_ns = window_ns or (_NEVER, _NEVER)

    def set(self, begin_ns: int, end_ns: int) -> None:
        """Sets the window; both of it in one go, as others look at it meanwhile."""
        self.begin_ns, self.end_ns = begin_ns, end_ns

    def inside(self, times_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Returns which times lie in the window."""
        return (times_ns >= self.begin_ns) & (times_ns < self.end_ns)
