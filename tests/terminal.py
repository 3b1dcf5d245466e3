"""A program on a terminal of its own, with what it shows."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import time
from collections.abc import Sequence

TIMEOUT_S = 30 * float(os.environ.get("POLARLAB_TEST_PATIENCE", "1"))


class Terminal:
    """A program on a terminal; a context manager, at whose end the program is killed if it runs."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:
            # Tests in the background of a shell ignore these, and a program inherits that.
            for number in (signal.SIGINT, signal.SIGQUIT):
                signal.signal(number, signal.SIG_DFL)
            os.execv(argv[0], list(argv))
        self._shown = ""
        self._status: int | None = None

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._descriptor)

    def type(self, keys: str) -> None:
        """Types keys."""
        os.write(self._descriptor, keys.encode())

    def expect(self, pattern: str) -> str:
        """Returns text that matches a pattern once it was shown, and forgets all up to it."""
        end_s = time.monotonic() + TIMEOUT_S
        while not (found := re.search(pattern, self._shown)):
            assert time.monotonic() < end_s, f"{pattern!r} is not in {self._shown!r}"
            self._read()
        self._shown = self._shown[found.end() :]
        return found[0]

    def status(self) -> int:
        """Returns the program's exit status when it has ended."""
        end_s = time.monotonic() + TIMEOUT_S
        while (ended := os.waitpid(self.pid, os.WNOHANG)) == (0, 0):
            assert time.monotonic() < end_s, self._shown
            self._read()
        self._status = os.waitstatus_to_exitcode(ended[1])
        return self._status

    def _read(self) -> None:
        if select.select([self._descriptor], [], [], 0.1)[0]:
            with contextlib.suppress(OSError):  # the program has ended
                self._shown += os.read(self._descriptor, 4096).decode(errors="replace")
