"""Events at the prompt: printed at once, without disturbing the line that is being typed."""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
from collections.abc import Iterator

from polarlab.api.command_line.events import Event
from polarlab.cli.progress import ConsoleProgress


class Announcer:
    """Prints events from any thread, one line each."""

    def __init__(self, progress: ConsoleProgress) -> None:
        """Prepares the announcer; `progress` prints the lines."""
        self._progress = progress
        self._lock = threading.Lock()
        self._typing = False

    def __call__(self, event: Event) -> None:
        """Prints an event, and redraws the line that is being typed below it."""
        with self._lock:
            if self._typing:
                print("\r\033[K", end="", flush=True)
            self._progress(event)
            self._progress.rest()  # a bar would disturb the prompt
            if self._typing:
                _redraw_line()

    @contextlib.contextmanager
    def typing(self) -> Iterator[None]:
        """Marks the block as the time in which a user types a line, which events must redraw."""
        with self._lock:
            self._typing = True
        try:
            yield
        finally:
            with self._lock:
                self._typing = False


def _redraw_line() -> None:
    """Redraws readline's prompt and the text typed so far.

    It calls functions of GNU readline that Python's module does not expose; with another library it prints
    the text only.
    """
    import readline

    with contextlib.suppress(OSError, AttributeError):  # raised if the library is not GNU readline
        library = ctypes.CDLL(readline.__file__)
        library.rl_on_new_line()
        library.rl_forced_update_display()
        return
    print(readline.get_line_buffer(), end="", flush=True)
    sys.stdout.flush()
