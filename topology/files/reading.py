"""Reader of all files that users, experiments and results name: regular files of bounded size, read whole.

A FIFO or a device is refused without being opened for reading, so that nothing blocks. Root opens the target
of another user's link with that user's rights.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import partial
from pathlib import Path

from topology.errors import ParameterError
from topology.files.walk import Reached, walked

MIB = 1 << 20
# Larger than any input file within PolarLab's own limits (routers, flows, messages).
GRAPH_BYTES = TABLE_BYTES = 64 * MIB
RESULT_BYTES = 128 * MIB  # of a file in a result folder
SETTINGS_BYTES = MIB  # of hand-written files: experiments, schedules, programs, prices
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_COUNTER_BYTES = 1 << 16
_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a link",
}
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


# Checks of the digests of files that this thread reads; each takes path -> SHA-256. See `expecting`.
_checks: ContextVar[tuple[Callable[[Mapping[str, str]], None], ...]] = ContextVar("checks", default=())


class FileError(ParameterError):
    """An input file cannot be read (status 2).

    Attributes:
        missing: whether it does not exist.
    """

    missing = False


def read_bytes(
    path: Path | str,
    limit: int,
    *,
    what: str = "",
    need: str = "",
    opened: Callable[[int], object] | None = None,
) -> bytes:
    """Returns the content of a regular file.

    Args:
        path: the file; symbolic links are followed.
        limit: its largest permitted size in bytes.
        what: a noun for the file, for errors.
        need: a clause that ends the error message, such as `it must be a file of prices`.
        opened: called with the descriptor of the open file whose content is returned.

    Returns:
        All of its bytes.

    Raises:
        FileError: it does not exist, may not be read, is too long or not a regular file.
        ParameterError: the content differs from what a surrounding `expecting` block requires.
    """
    path = Path(path)
    try:
        with walked(path) as reached:
            content = _content(reached, limit, opened)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        raise _error(path, reason, what, need, missing=isinstance(error, FileNotFoundError)) from None
    for check in _checks.get():
        check({str(path): digest_of(content)})
    return content


@contextlib.contextmanager
def expecting(digests: Mapping[str, str], since: str, remedy: str) -> Iterator[None]:
    """Within the block, refuses to read files whose content has changed.

    The bytes that the reader returns are those that were checked, however often a file is replaced.

    Args:
        digests: path -> SHA-256 of the earlier content; other files are not checked.
        since: clause that names the earlier time, for the error.
        remedy: clause that says what to do.
    """
    kept = {str(Path(path)): digest for path, digest in digests.items()}
    token = _checks.set((*_checks.get(), partial(check_unchanged, kept=kept, since=since, remedy=remedy)))
    try:
        yield
    finally:
        _checks.reset(token)


def check_unchanged(found: Mapping[str, str], kept: Mapping[str, str], since: str, remedy: str) -> None:
    """Raises ParameterError if the content of a file has changed.

    Args:
        found: path -> SHA-256 of the present content.
        kept: path -> SHA-256 of the earlier content; other files are not checked.
        since: clause that names the earlier time, for the error.
        remedy: clause that says what to do.
    """
    for path, digest in found.items():
        if kept.get(path, digest) != digest:
            raise ParameterError(f"{path} has changed since {since}; restore it, or {remedy}")


def digest_of(content: bytes | None) -> str:
    """Returns the SHA-256 of a file's content in hexadecimal digits; empty for None."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


def read_text(
    path: Path | str,
    limit: int,
    *,
    what: str = "",
    need: str = "",
    opened: Callable[[int], object] | None = None,
) -> str:
    """Returns the text of a regular UTF-8 file, without a byte order mark; lines end with a newline.

    Args:
        path: the file; symbolic links are followed.
        limit: its largest permitted size in bytes.
        what: a noun for the file, for errors.
        need: a clause that ends the error message, such as `it must be a file of prices`.
        opened: called with the descriptor of the open file whose content is returned.

    Returns:
        The text.

    Raises:
        FileError: it cannot be read, or is not UTF-8 text; the error names the line.
    """
    return text_of(read_bytes(path, limit, what=what, need=need, opened=opened), path, what=what, need=need)


def text_of(content: bytes, path: Path | str, *, what: str = "", need: str = "") -> str:
    """Decodes the content of a UTF-8 file like `read_text`.

    Args:
        content: the bytes of the file.
        path: the file, for errors.
        what: a noun for the file, for errors.
        need: a clause that ends the error message, such as `it must be a file of prices`.

    Raises:
        FileError: it is not UTF-8 text; the error names the line.
    """
    if content.startswith(_UTF16):
        raise _error(path, "it must be UTF-8 text, got UTF-16", what, need)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _error(path, f"it must be UTF-8 text, but line {line} is not", what, need) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise _error(path, f"it must be text, but line {line} has a NUL character", what, need)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_lines(path: Path | str, limit: int, *, what: str = "") -> Iterator[str]:
    """Returns an iterator over the lines of a regular UTF-8 file.

    Args:
        path: the file; symbolic links are followed.
        limit: its largest permitted size in bytes.
        what: a noun for the file, for errors.

    Returns:
        The lines, including their line ends.

    Raises:
        FileError: it cannot be read, or is not UTF-8 text.
    """
    text = read_text(path, limit, what=what)
    return (match[0] for match in _LINE.finditer(text))


def _content(reached: Reached, limit: int, opened: Callable[[int], object] | None) -> bytes:
    """Returns the bytes of the file that `reached` names, for `read_bytes`.

    Raises ValueError with the reason if it is too long or not a regular file.
    """
    with reached.rights():
        # Opening a device may have side effects, so its type is checked before.
        _check_regular(os.stat(reached.name, dir_fd=reached.folder, follow_symlinks=False))
        descriptor = os.open(reached.name, _OPEN, dir_fd=reached.folder)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _check_regular(status)
        if status.st_size > limit:
            raise ValueError(_too_long(limit))
        if opened:
            opened(descriptor)
        content = file.read(limit + 1)
    if content is None:  # it would block, such as /proc/kmsg
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    if len(content) > limit:  # it has grown since, or is in /proc, where sizes are 0
        raise ValueError(_too_long(limit))
    return content


def _check_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise ValueError(f"it must be a regular file, got {kind}")


def _too_long(limit: int) -> str:
    return f"it must be at most {limit // MIB} MiB long"


def _error(path: Path | str, reason: str, what: str, need: str, *, missing: bool = False) -> FileError:
    subject = " ".join(filter(None, (what, str(path))))
    error = FileError(f"{subject} cannot be read ({reason})" + (f"; {need}" if need else ""))
    error.missing = missing
    return error


def read_counters(descriptor: int) -> bytes:
    """Returns the content of an open file in /proc or /sys, from its start.

    Several reads are needed, because the kernel returns only a few pages in each.

    Args:
        descriptor: the file descriptor; its position does not matter and is kept.
    """
    chunks, position = [], 0
    while chunk := os.pread(descriptor, _COUNTER_BYTES, position):
        chunks.append(chunk)
        position += len(chunk)
    return b"".join(chunks)
