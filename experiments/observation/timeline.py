"""Timeline: all that has happened to a fabric since its observation began, in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from experiments.observation.model import Entry

MOST_ENTRIES = 2_000


class Timeline:
    """Events of one observation, from any thread; those beyond the last 2,000 are forgotten."""

    def __init__(self, tell: Callable[[Entry], object] = lambda _entry: None) -> None:
        """Begins the time.

        Args:
            tell: takes every event at once, in the thread that adds it and in order; may add none itself.
        """
        self._began_s = time.monotonic()
        self._entries: list[Entry] = []
        self._count = 0
        self._lock = threading.Lock()
        self._tell = tell

    def __len__(self) -> int:
        return self._count

    @property
    def now_s(self) -> float:
        """Seconds since the observation began."""
        return time.monotonic() - self._began_s

    def seconds(self, monotonic_s: float) -> float:
        """Returns seconds since the observation began, of a time on time.monotonic's clock."""
        return monotonic_s - self._began_s

    def add(
        self, kind: str, text: str, *, incident: int | None = None, monotonic_s: float | None = None
    ) -> None:
        """Adds an event.

        Args:
            kind: its kind, as in Entry.
            text: the event, in words.
            incident: number of the incident that it belongs to.
            monotonic_s: its time on time.monotonic's clock; now if None.
        """
        with self._lock:
            time_s = self.now_s if monotonic_s is None else self.seconds(monotonic_s)
            entry = Entry(self._count, round(time_s, 4), kind, text, incident)
            self._entries.append(entry)
            self._count += 1
            del self._entries[:-MOST_ENTRIES]
            self._tell(entry)  # here, so that no later one is told before it

    def tell_again(self, begin: Callable[[], object]) -> None:
        """Has all events that are kept told again, those that come meanwhile behind them.

        Args:
            begin: called first.
        """
        with self._lock:
            begin()
            for entry in self._entries:
                self._tell(entry)

    def entries(self) -> tuple[Entry, ...]:
        """Returns the events that are kept."""
        with self._lock:
            return tuple(self._entries)
