"""The process of a command: its exit status, signals and error stream, and the folders of its programs."""

from __future__ import annotations

import os
import sys

from emulation.subprocesses import END_SIGNALS, add_administration_folders
from topology.errors import Status, Terminated, internal_text, known_status
from topology.files.libraries import run_as_command
from topology.files.shown import shown, shown_exactly

__all__ = [
    "END_SIGNALS",
    "Status",
    "Terminated",
    "add_administration_folders",
    "internal_text",
    "known_status",
    "print_line",
    "run_as_command",
    "shown",
    "shown_exactly",
]


def print_line(text: str) -> None:
    """Prints a line on standard error at once, with control characters escaped.

    If the reader has ended (`polarlab ... 2>&1 | head`), this line and all later ones are lost, as is
    standard output with the same reader: the work still runs to its end, and its status counts.

    Args:
        text: the line, without its end.
    """
    try:
        print(shown(text), file=sys.stderr, flush=True)
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno()):
            os.dup2(nowhere, sys.stdout.fileno())
        os.dup2(nowhere, sys.stderr.fileno())
        os.close(nowhere)
