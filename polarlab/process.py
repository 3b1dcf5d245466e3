"""The process of a command: its exit status, signals, error stream, and folders where it finds programs."""

from __future__ import annotations

import errno
import os
import sys

from emulation.subprocesses import END_SIGNALS, add_administration_folders, usable_cores
from topology.errors import Status, Terminated, internal_text, known_status
from topology.files.escaping import escape_ambiguous, escape_controls
from topology.files.libraries import run_as_command

__all__ = [
    "END_SIGNALS",
    "PROGRESS",
    "Status",
    "Terminated",
    "add_administration_folders",
    "escape_ambiguous",
    "escape_controls",
    "internal_text",
    "known_status",
    "print_line",
    "run_as_command",
    "usable_cores",
]


class ProgressStream:
    """Standard error, for progress: text that cannot be written never disturbs the work.

    If the reader has ended (`polarlab ... 2>&1 | head`), the terminal is gone, or the disk with the log is
    full, this text and all later ones are lost. Standard output that goes to the same reader is lost too. The
    command still does all of its work and returns its usual exit status.
    """

    def write(self, text: str) -> int:
        """Writes a text, or drops it if that fails; returns its length."""
        try:
            sys.stderr.write(text)
        except OSError as error:
            self._give_up(error)
        return len(text)

    def flush(self) -> None:
        """Writes the buffered text, or drops it if that fails."""
        try:
            sys.stderr.flush()
        except OSError as error:
            self._give_up(error)

    def isatty(self) -> bool:
        """Returns whether standard error is a terminal."""
        return sys.stderr.isatty()

    def fileno(self) -> int:
        """Returns the descriptor of standard error."""
        return sys.stderr.fileno()

    @property
    def encoding(self) -> str:
        """The encoding of standard error."""
        return sys.stderr.encoding

    def _give_up(self, error: OSError) -> None:
        """Redirects standard error to nowhere; otherwise the interpreter would fail to flush it at exit."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if error.errno == errno.EPIPE and os.path.sameopenfile(sys.stdout.fileno(), self.fileno()):
            os.dup2(nowhere, sys.stdout.fileno())
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


PROGRESS = ProgressStream()


def print_line(text: str) -> None:
    """Prints a line on standard error at once, with control characters escaped, if it can be written.

    Args:
        text: the line, without its line feed.
    """
    print(escape_controls(text), file=PROGRESS, flush=True)
