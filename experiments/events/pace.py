"""Pace of events for human readers: `Ongoing` events are throttled, all others pass at once."""

from __future__ import annotations

import time
from collections.abc import Callable

from experiments.events.base import Event, Notify, Ongoing

ONGOING_EVERY_S = 5.0


class Pace:
    """Throttle of events: an `Ongoing` event is due if no event was due for 5 s, others always."""

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


class EveryEvent:
    """Callback that `paced` does not throttle, because a progress bar needs every event."""

    def __init__(self, notify: Notify) -> None:
        """Wraps a callback.

        Args:
            notify: called with each event.
        """
        self._notify = notify

    def __call__(self, event: Event) -> None:
        """Passes an event on."""
        self._notify(event)


def paced(notify: Notify) -> Notify:
    """Returns a callback that passes on only the events that are due; an `EveryEvent` is returned unchanged.

    Args:
        notify: called with each event that is due.
    """
    if isinstance(notify, EveryEvent):
        return notify
    pace = Pace()
    return lambda event: notify(event) if pace.due(event) else None
