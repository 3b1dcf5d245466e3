"""Progress on standard error: a console that takes the events of experiments."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from experiments.events.base import Event, Ongoing

_TELL_EVERY_S = 5.0
_LONG_S = 3.0


@contextmanager
def told_if_long() -> Iterator[None]:
    """Tells once, after a moment, that something without steps of its own goes on; also a decorator."""
    console = ConsoleProgress()
    timer = threading.Timer(_LONG_S, console.line, ["still computing; with many switches this takes a while"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class ConsoleProgress:
    """Prints each event as one line with the seconds since the start; what goes on, as a live line.

    Where standard error is not a terminal, a line of what goes on is printed now and then.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._live = False
        self._last_s = time.monotonic()

    def __call__(self, event: Event) -> None:
        """Takes an event."""
        if not isinstance(event, Ongoing):
            self.line(str(event))
        elif sys.stderr.isatty():
            print(f"\r\033[K           {event}", end="", file=sys.stderr, flush=True)
            self._live = True
        elif time.monotonic() >= self._last_s + _TELL_EVERY_S:
            self.line(str(event))

    def line(self, text: str) -> None:
        """Prints a line with the seconds since the start."""
        if self._live:
            print("\r\033[K", end="", file=sys.stderr)
            self._live = False
        self._last_s = time.monotonic()
        print(f"[{self._last_s - self._started:6.1f} s] {text}", file=sys.stderr, flush=True)
