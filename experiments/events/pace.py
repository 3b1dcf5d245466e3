"""Pace of events for human readers: `Ongoing` events are throttled, all others pass at once."""

from __future__ import annotations

import time
from collections.abc import Callable

from experiments.events.base import Event, OnEvent, Ongoing

ONGOING_EVERY_S = 5.0


class Pace:
    """Throttle: an `Ongoing` event is due if no event was due in the last 5 s; other events always are."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Starts the clock.

        Args:
            clock: returns the time in s.
        """
        self._clock = clock
        self._last_s = clock()

    def due(self, event: Event) -> bool:
        """Returns whether an event is due now; if so, the 5 s start again."""
        now_s = self._clock()
        if isinstance(event, Ongoing) and now_s < self._last_s + ONGOING_EVERY_S:
            return False
        self._last_s = now_s
        return True


class Unthrottled:
    """Callback that `paced` does not throttle, because a progress bar needs every event."""

    def __init__(self, on_event: OnEvent) -> None:
        """Wraps a callback.

        Args:
            on_event: called with each event.
        """
        self._on_event = on_event

    def __call__(self, event: Event) -> None:
        """Passes an event on."""
        self._on_event(event)


def paced(on_event: OnEvent) -> OnEvent:
    """Returns a callback that passes on only the events that are due; an `Unthrottled` is returned unchanged.

    Args:
        on_event: called with each event that is due.
    """
    if isinstance(on_event, Unthrottled):
        return on_event
    pace = Pace()
    return lambda event: on_event(event) if pace.due(event) else None
