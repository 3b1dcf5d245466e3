"""Progress on standard error: what is going on, and for how long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from experiments.results.run_directory import give_to_caller

_TELL_EVERY_S = 5.0
_LONG_S = 3.0


@contextmanager
def told_if_long() -> Iterator[None]:
    """Tells once, after a moment, that something without steps of its own goes on; also a decorator."""
    timer = threading.Timer(_LONG_S, Progress(), ["still at it; with many switches this takes a while"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Progress:
    """Prints each step as one line with the seconds since the start; on a terminal, a live line too."""

    def __init__(self, quiet: bool = False) -> None:
        self._started = time.monotonic()
        self._quiet = quiet
        self._live = False
        self._told = 0.0

    def __call__(self, step: str) -> None:
        """Tells of a new step."""
        if not self._quiet:
            self._end_live()
            seconds = time.monotonic() - self._started
            print(f"[{seconds:6.1f} s] {step}", file=sys.stderr, flush=True)

    def written(self, out: Path, *, interrupted: bool) -> None:
        """Tells where the results are, and how those of an interrupted run get figures."""
        self(f"written to {out}" + (f"; `polarlab plot {out}` draws it" if interrupted else ""))

    def live(self, text: str) -> None:
        """Replaces the live line, where standard error is a terminal."""
        if not self._quiet and sys.stderr.isatty():
            print(f"\r\033[K           {text}", end="", file=sys.stderr, flush=True)
            self._live = True

    def steadily(self, text: str) -> None:
        """Replaces the live line; where there is none, tells it as a step now and then."""
        self.live(text)
        now = time.monotonic()
        if not sys.stderr.isatty() and now >= self._told + _TELL_EVERY_S:
            self._told = now
            self(text)

    def drawn(self, paths: Iterable[Path]) -> None:
        """Tells of figures, which are the caller's by then."""
        paths = list(paths)
        give_to_caller(paths)
        for path in paths:
            if path.suffix == ".png":
                self(f"drawn: {path}, {path.with_suffix('.svg').name}")

    def _end_live(self) -> None:
        if self._live:
            print("\r\033[K", end="", file=sys.stderr)
            self._live = False
