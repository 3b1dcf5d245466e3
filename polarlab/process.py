"""The process of a command: its exit status, signals and error stream, and the folders of its programs."""

from __future__ import annotations

import errno
import os
import sys

from emulation.subprocesses import END_SIGNALS, add_administration_folders
from topology.errors import Status, Terminated, internal_text, known_status
from topology.files.escaping import escape_ambiguous, escape_controls
from topology.files.libraries import run_as_command

__all__ = [
    "END_SIGNALS",
    "Status",
    "Terminated",
    "add_administration_folders",
    "escape_ambiguous",
    "escape_controls",
    "internal_text",
    "known_status",
    "print_line",
    "run_as_command",
]


def print_line(text: str) -> None:
    """Prints a line on standard error at once, with control characters escaped.

    If the reader has ended (`polarlab ... 2>&1 | head`), the terminal is gone, or the disk with the log is
    full, this line and all later ones are lost. Standard output is lost, too, if it goes to the same reader.
    The command still does all of its work and returns its usual exit status.

    Args:
        text: the line, without its end.
    """
    try:
        print(escape_controls(text), file=sys.stderr, flush=True)
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if error.errno == errno.EPIPE and os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno()):
            os.dup2(nowhere, sys.stdout.fileno())
        os.dup2(nowhere, sys.stderr.fileno())
        os.close(nowhere)
