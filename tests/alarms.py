"""Alarm for blocks that might never end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class TooLong(BaseException):
    """A block took too long. What is tested does not catch it, unlike an Exception."""


@contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    """Raises TooLong in a block that takes longer; outside of the main thread, it has no limit."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_arguments: object) -> None:
        raise TooLong(f"took over {seconds:g} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
