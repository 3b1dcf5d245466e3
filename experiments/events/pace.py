"""Pace of events for people who read them: those of what goes on come now and then, all others at once."""

from __future__ import annotations

import time
from collections.abc import Callable

from experiments.events.base import Event, Notify, Ongoing

ONGOING_EVERY_S = 5.0


class Pace:
    """Pace of events: an `Ongoing` one is due 5 s after the last one that was due, every other at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begins the time.

        Args:
            clock: returns the time in s.
        """
        self._clock = clock
        self._last_s = clock()

    def due(self, event: Event) -> bool:
        """Returns whether an event is to be told now."""
        now_s = self._clock()
        if isinstance(event, Ongoing) and now_s < self._last_s + ONGOING_EVERY_S:
            return False
        self._last_s = now_s
        return True


class EveryEvent:
    """Taker of events that gets every one, as a progress bar needs them; others get those that are due."""

    def __init__(self, notify: Notify) -> None:
        """Prepares the taker; `notify` takes the events."""
        self._notify = notify

    def __call__(self, event: Event) -> None:
        """Takes an event."""
        self._notify(event)


def paced(notify: Notify) -> Notify:
    """Returns a taker of events that passes those on which are due; of an EveryEvent, itself.

    Args:
        notify: takes the events.
    """
    if isinstance(notify, EveryEvent):
        return notify
    pace = Pace()
    return lambda event: notify(event) if pace.due(event) else None
