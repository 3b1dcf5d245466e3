"""Timeline: the events of a fabric since its observation started, in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from experiments.observation.model import Entry

MAX_ENTRIES = 2_000


class Timeline:
    """The last 2,000 events of one observation; any thread may add events."""

    def __init__(self, on_entry: Callable[[Entry], object] = lambda _entry: None) -> None:
        """Starts the clock.

        Args:
            on_entry: called with every event at once and in order, in the thread that adds it; it must not
                add events itself.
        """
        self._began_s = time.monotonic()
        self._entries: list[Entry] = []
        self._count = 0
        self._lock = threading.Lock()
        self._on_entry = on_entry

    def __len__(self) -> int:
        return self._count

    @property
    def now_s(self) -> float:
        """Seconds since the observation started."""
        return time.monotonic() - self._began_s

    def seconds(self, monotonic_s: float) -> float:
        """Converts a time on time.monotonic's clock to seconds since the observation started."""
        return monotonic_s - self._began_s

    def add(
        self, kind: str, text: str, *, incident: int | None = None, monotonic_s: float | None = None
    ) -> None:
        """Adds an event.

        Args:
            kind: kind of the event, one of the kinds in `Entry`.
            text: the event, in words.
            incident: number of the incident that it belongs to.
            monotonic_s: its time on time.monotonic's clock; now if None.
        """
        with self._lock:
            time_s = self.now_s if monotonic_s is None else self.seconds(monotonic_s)
            entry = Entry(self._count, round(time_s, 4), kind, text, incident)
            self._entries.append(entry)
            self._count += 1
            del self._entries[:-MAX_ENTRIES]
            self._on_entry(entry)  # while locked, so that events are reported in order

    def replay(self, begin: Callable[[], object]) -> None:
        """Reports all kept events again; events that are added during the replay follow them.

        Args:
            begin: called before the first event.
        """
        with self._lock:
            begin()
            for entry in self._entries:
                self._on_entry(entry)

    def entries(self) -> tuple[Entry, ...]:
        """Returns the kept events."""
        with self._lock:
            return tuple(self._entries)
