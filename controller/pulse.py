"""The controller's pulse: it wakes up many times a second, so that its parent can see whether it runs.

The kernel counts how often a process ran (/proc/PID/schedstat). Neither a process that waits for an
event nor a stopped one runs, and the state of a process does not always distinguish the two: in a frozen
control group, it is still `sleeping`. With a pulse, only a stopped process does not run.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

EVERY_S = 0.05


@contextlib.contextmanager
def beating() -> Iterator[None]:
    """Runs the pulse during the block: a timer whose signal wakes the main thread and does nothing else."""
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, EVERY_S, EVERY_S)
    try:
        yield
    finally:  # the interpreter's end removes the handler, and the signal would kill the process
        signal.setitimer(signal.ITIMER_REAL, 0)
