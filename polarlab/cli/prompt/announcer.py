"""Events at the prompt: printed at once, between lines, without harm to the line that is being typed."""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
from collections.abc import Iterator

from polarlab.api.command_line.events import Event
from polarlab.cli.progress import ConsoleProgress


class Announcer:
    """Takes events from any thread and prints each as a line."""

    def __init__(self, progress: ConsoleProgress) -> None:
        """Prepares the announcer; `progress` prints the lines."""
        self._progress = progress
        self._lock = threading.Lock()
        self._typing = False

    def __call__(self, event: Event) -> None:
        """Prints an event; a line that is being typed is shown again below."""
        with self._lock:
            if self._typing:
                print("\r\033[K", end="", flush=True)
            self._progress(event)
            self._progress.rest()  # the terminal is the prompt's
            if self._typing:
                _show_line_again()

    @contextlib.contextmanager
    def typing(self) -> Iterator[None]:
        """Marks the time in which a user types a line."""
        with self._lock:
            self._typing = True
        try:
            yield
        finally:
            with self._lock:
                self._typing = False


def _show_line_again() -> None:
    """Shows readline's prompt and the typed text again, by functions that Python's module does not offer."""
    import readline

    with contextlib.suppress(OSError, AttributeError):  # another library than GNU readline
        library = ctypes.CDLL(readline.__file__)
        library.rl_on_new_line()
        library.rl_forced_update_display()
        return
    print(readline.get_line_buffer(), end="", flush=True)
    sys.stdout.flush()
