"""Offset of the wall clock, with which the kernel stamps arriving frames, from the monotonic clock."""

from __future__ import annotations

import time
from typing import NamedTuple

from traffic.metrics.measurements import Clock

# A process that waits for a processor between its two reads widens the bounds of a reading.
_READINGS = 5


class ClockOffset(NamedTuple):
    """Lower and upper bound of wall-clock time minus monotonic time, in ns.

    The offset is constant until somebody sets the wall clock: NTP adjusts the rates of both clocks equally.
    """

    low_ns: int
    high_ns: int


def read_offset() -> ClockOffset:
    """Returns the tightest of a few readings of the offset."""
    return min((_read() for _ in range(_READINGS)), key=lambda offset: offset.high_ns - offset.low_ns)


def _read() -> ClockOffset:
    before_ns, wall_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
    return ClockOffset(wall_ns - after_ns, wall_ns - before_ns)


def clock_in(lead_ns: int = 0) -> Clock:
    """Returns the instant `lead_ns` after now, on both clocks."""
    monotonic_ns = time.monotonic_ns() + lead_ns
    return Clock(monotonic_ns, monotonic_ns + sum(read_offset()) // 2)
