"""Lines on standard error, whose reader may end before the command does (`polarlab ... 2>&1 | head`)."""

from __future__ import annotations

import os
import sys

from polarlab.process import shown


def print_line(text: str) -> None:
    """Prints a line at once, control characters escaped; without a reader, it and all later ones are lost.

    So is standard output where it has the same reader: the work goes on to its end, and its status counts.

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
