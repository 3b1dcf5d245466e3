"""Progress events of a simulation."""

from __future__ import annotations

import time

from experiments.events.base import OnEvent
from experiments.events.progress import SimulationProgress


class Pace:
    """Callback that reports a simulation's progress and its speed since the previous report."""

    def __init__(self, on_event: OnEvent, total: int | None = None) -> None:
        """Starts the clock that measures the time between two reports.

        Args:
            on_event: called with each event.
            total: cycles until the end of the window; None if it is not known.
        """
        self._total = total
        self._on_event = on_event
        self._cycles, self._time_s = 0, time.monotonic()

    def __call__(self, cycles: int, packets: int) -> None:
        """Reports the simulated cycles and the packets that have arrived."""
        now_s = time.monotonic()
        speed = (cycles - self._cycles) / max(now_s - self._time_s, 1e-9)
        self._cycles, self._time_s = cycles, now_s
        self._on_event(SimulationProgress(cycles, self._total, packets, speed))
