"""PolarLab's exceptions: their root, their kinds, and the exit status of each kind.

They live in `topology` because every other package may import it; a package's own errors derive from the kind
that fits. The command line and the controller's process both end with these statuses.
"""

from __future__ import annotations

import enum
import errno


class PolarLabError(Exception):
    """Root of every error that PolarLab raises on purpose; its message is one line for the user.

    Examples:
        >>> try:
        ...     explain(topology("polarfly", q=3), "s3", "s3")
        ... except PolarLabError as error:
        ...     print(error)
        s3 is both ends; choose two switches
    """


class NegativeResult(PolarLabError):
    """The work was done, but its result is negative: a proof failed or packets were lost (status 1).

    Examples:
        >>> options = {"virtual_channels": 1, "channel_policy": "any", "buffer_flits": 4}
        >>> simulate("polarfly", q=3, load=1, **options, out="results/stuck")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        topology.errors.NegativeResult: deadlock in cycle 10000: 26 packets wait for one another, ...
    """


class UsageError(PolarLabError):
    """A request names something that is unknown or makes no sense; the message has a remedy (status 2).

    Examples:
        >>> simulate("polarfly", q=3, loadd=0.5)
        Traceback (most recent call last):
            ...
        topology.errors.UsageError: simulate has no argument 'loadd'; did you mean 'load'?
    """


class ParameterError(UsageError, ValueError):
    """A parameter is outside its domain; the message names the domain and the nearest values (status 2).

    Examples:
        >>> topology("polarfly", q=6)
        Traceback (most recent call last):
            ...
        topology.errors.ParameterError: q must be a prime power, 2 to 128, got 6; nearest: 5 and 7
    """


class MachineError(PolarLabError):
    """The machine lacks something; the message names it and says how to get it (status 3).

    Examples:
        While another fabric is up:

        >>> try:
        ...     Fabric("polarfly", q=2).open()
        ... except MachineError as error:
        ...     print(error)
        this program already runs a fabric, and only one can run at a time; close it first
    """


class Status(enum.IntEnum):
    """Exit status of a command."""

    DONE = 0
    NEGATIVE = 1
    USAGE = 2
    MACHINE = 3
    INTERNAL = 4
    INTERRUPTED = 130


class Terminated(SystemExit):
    """Request to exit after a signal; a prompt may catch Ctrl-C, but not this request."""


DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_TOO_MANY_FILES = frozenset({errno.EMFILE, errno.ENFILE})
NO_WRITE_ACCESS = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_NOT_WRITABLE = NO_WRITE_ACCESS | {errno.EFBIG, errno.EIO}


def known_status(error: BaseException) -> tuple[Status, str] | None:
    """Returns the exit status and a one-line message if the user can fix the cause of the error.

    Args:
        error: any exception that reached the outermost boundary of a process.

    Returns:
        The status and one line of text; None for an internal error.
    """
    if isinstance(error, KeyboardInterrupt | Terminated):
        return Status.INTERRUPTED, "interrupted"
    from topology.plugins import plugin_failure  # which imports this module

    misuse = error if isinstance(error, UsageError) else plugin_failure(error)
    if misuse is not None:
        return Status.USAGE, str(misuse)
    if isinstance(error, MachineError):
        return Status.MACHINE, str(error)
    if isinstance(error, NegativeResult):
        return Status.NEGATIVE, str(error)
    if isinstance(error, MemoryError):
        return Status.MACHINE, "not enough memory; try a smaller fabric"
    return _file_status(error) if isinstance(error, OSError) else None


def _file_status(error: OSError) -> tuple[Status, str] | None:
    if error.errno in DISK_FULL:
        return Status.MACHINE, f"no room left to write {error.filename or 'the output'}"
    if error.errno in _TOO_MANY_FILES:
        return Status.MACHINE, "too many open files; raise the limit (`ulimit -n 4096`)"
    if error.errno == errno.ENAMETOOLONG:
        return Status.USAGE, f"file name too long: {str(error.filename)[:60]}..."
    if error.errno == errno.ELOOP:
        return Status.USAGE, f"{error.filename or 'a file'} is a symbolic link that cannot be followed"
    if error.errno in (errno.EISDIR, errno.ENOTDIR):
        return Status.USAGE, f"{error.filename or 'a file'} cannot be read or written ({error.strerror})"
    if error.errno in _NOT_WRITABLE:
        return Status.MACHINE, f"{error.filename or 'a file'} cannot be written ({error.strerror})"
    return None


def internal_text(error: BaseException) -> str:
    """Returns the message of an internal error as one line.

    Args:
        error: an error for which `known_status` returns None.

    Returns:
        The error's text, prefixed with the name of its type if PolarLab did not raise it on purpose.
    """
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, PolarLabError) else f"{type(error).__name__}: {text}"
