"""Where the `polarlab` command starts: statuses, signals, and no traceback on a user's screen."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence

from experiments.errors import Status, Terminated, internal_text, known_status


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminate)
    try:
        # Imported here, so that Ctrl-C during an import is handled like any other.
        from experiments.cli import run

        status = int(run(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Whoever read our output has enough (`polarlab ... | head`): nothing more can be said there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Status.DONE
    except (Exception, KeyboardInterrupt, Terminated) as error:  # the command's outermost boundary
        return _explain(error)


def _terminate(*_arguments: object) -> None:
    raise Terminated


def _explain(error: BaseException) -> int:
    known = known_status(error)
    if known:
        status, line = known
        print(f"polarlab: {line}", file=sys.stderr)
        return status
    with tempfile.NamedTemporaryFile("w", prefix="polarlab-error-", suffix=".log", delete=False) as log:
        traceback.print_exception(error, file=log)
    print(f"polarlab: {internal_text(error)} (details in {log.name})", file=sys.stderr)
    return Status.INTERNAL
