"""Exit statuses of the outside contract, and the one place that maps errors to them."""

from __future__ import annotations

import enum
import errno

from topology.errors import MachineError, NegativeResult, PolarLabError, UsageError


class Status(enum.IntEnum):
    """How the command ended."""

    DONE = 0
    NEGATIVE = 1
    USAGE = 2
    MACHINE = 3
    INTERNAL = 4
    INTERRUPTED = 130


class Terminated(SystemExit):
    """We were asked to end by SIGTERM or SIGHUP; like Ctrl-C, but no prompt shall swallow it."""


_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_NOT_WRITABLE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def known_status(error: BaseException) -> tuple[Status, str] | None:
    """Returns the status and the line for an error that a user can do something about, else None."""
    if isinstance(error, KeyboardInterrupt | Terminated):
        return Status.INTERRUPTED, "interrupted"
    if isinstance(error, UsageError):
        return Status.USAGE, str(error)
    if isinstance(error, MachineError):
        return Status.MACHINE, str(error)
    if isinstance(error, NegativeResult):
        return Status.NEGATIVE, str(error)
    if isinstance(error, OSError) and error.errno in _DISK_FULL:
        return Status.MACHINE, f"no room left to write {error.filename or 'all that was to be written'}"
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return Status.USAGE, f"the name of a file is too long: {str(error.filename)[:60]}..."
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return Status.USAGE, f"{error.filename or 'a file'} is a link that leads nowhere"
    if isinstance(error, MemoryError):
        return Status.MACHINE, "the machine has too little memory for this; try a smaller fabric"
    if isinstance(error, OSError) and error.errno in _NOT_WRITABLE:
        return Status.MACHINE, f"{error.filename or 'a file'} cannot be written ({error.strerror})"
    return None


def internal_text(error: BaseException) -> str:
    """Returns an internal error in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, PolarLabError) else f"{type(error).__name__}: {text}"
