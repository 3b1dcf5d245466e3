"""Pace of a simulation, as events of what goes on."""

from __future__ import annotations

import time

from experiments.events.base import Notify
from experiments.events.progress import SimulationProgress


class Pace:
    """Teller of a simulation's progress, with the cycles of a second between two tellings."""

    def __init__(self, notify: Notify, total: int | None = None) -> None:
        """Begins to measure.

        Args:
            notify: takes the events.
            total: cycles until the window's end; None where it is not known.
        """
        self._total = total
        self._notify = notify
        self._cycles, self._time_s = 0, time.monotonic()

    def __call__(self, cycles: int, packets: int) -> None:
        """Takes the simulated cycles, and the packets that have arrived."""
        now_s = time.monotonic()
        speed = (cycles - self._cycles) / max(now_s - self._time_s, 1e-9)
        self._cycles, self._time_s = cycles, now_s
        self._notify(SimulationProgress(cycles, self._total, packets, speed))
