"""Entry of the `polarlab` command: exit statuses, signals, and no traceback on a user's screen."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from collections.abc import Sequence

from polarlab.own_packages import SharedFilesError

try:
    from polarlab.error_log import write_log
    from polarlab.process import (
        END_SIGNALS,
        Status,
        Terminated,
        add_administration_folders,
        internal_text,
        known_status,
        print_line,
        run_as_command,
    )
except SharedFilesError as conflict:  # nothing of the project can be used, not even its errors
    print(f"polarlab: {conflict}", file=sys.stderr)
    sys.exit(3)

# Thresholds of Python's garbage collection: as modules are never garbage, the default thresholds would waste
# a tenth of a command's time on searching them.
_COLLECTIONS = (50_000, 20, 100)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status."""
    status = int(Status.DONE)
    gc.set_threshold(*_COLLECTIONS)
    _open_closed_streams()
    add_administration_folders()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a caller that ignores it would take the end of children
    for number in END_SIGNALS:
        # `nohup` starts commands with SIGHUP ignored. (Shells start background commands with SIGINT ignored.)
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    try:
        run_as_command()
        for stream in (sys.stdout, sys.stderr):  # file names may be undecodable
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        # Imported here, so that Ctrl-C during an import is handled like any other.
        from polarlab.cli.parser import run

        status = int(run(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of the output has ended (`polarlab ... | head`): nothing more can be printed. Output is
        # buffered, so the error often occurs only when the command is done.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return status
    except (Exception, KeyboardInterrupt, SystemExit) as error:  # the command's last resort
        return _report(error)


def _end(*_arguments: object) -> None:
    """Raises Terminated at the first signal; ignores later signals, which would interrupt the clean-up."""
    for number in END_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise Terminated


def _open_closed_streams() -> None:
    """Opens /dev/null for each standard stream that the caller has closed (`polarlab ... <&-`)."""
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            setattr(sys, name, os.fdopen(descriptor, mode, closefd=False))


def _report(error: BaseException) -> int:
    """Prints an error in one line and returns its exit status; writes a log if it is an internal error."""
    known = known_status(error)
    if isinstance(error, FileNotFoundError) and not _working_folder_exists():
        known = Status.USAGE, "the working folder was removed; change to another folder"
    if known:
        status, line = known
        if isinstance(error, PermissionError) and os.geteuid():  # the results may belong to root
            line += "; try sudo"
        # Names that users give may contain line breaks.
        print_line(f"polarlab: {' '.join(line.splitlines())}")
        return status
    if isinstance(error, SystemExit):  # as after `--help`
        raise error
    print_line(f"polarlab: {internal_text(error)} (details in {write_log(error)})")
    return Status.INTERNAL


def _working_folder_exists() -> bool:
    try:
        return bool(os.getcwd())
    except FileNotFoundError:
        return False
