"""Path lookup, component by component, that other users cannot exploit against root.

After a symbolic link, the lookup continues with the rights of the link's owner: root can reach only what that
user can reach. A lookup with the rights of one user never changes to those of another. A path is looked up
once; later operations use the descriptor of the folder that was reached.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from topology.errors import MachineError
from topology.files.rights import ROOT, current_user, rights_of

_MAX_LINKS = 40  # the limit of the kernel
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC
_started_by: ContextVar[int] = ContextVar("started_by", default=ROOT)


@dataclass(frozen=True)
class Reached:
    """The folder entry to which a path led.

    Attributes:
        folder: descriptor of the folder, open until the block of `walked` ends.
        name: name of the entry, which was not a symbolic link when it was looked up; it need not exist.
        user: the user other than root who started the lookup or owns links on the way; root if there is none.
    """

    folder: int
    name: str
    user: int

    def rights(self) -> contextlib.AbstractContextManager[None]:
        """Returns a context in which this thread has the rights of `user` on files."""
        return rights_of(self.user)


@contextlib.contextmanager
def walking_for(user: int) -> Iterator[None]:
    """Within the block, this thread of root looks up paths with the rights of a user, who chose the paths.

    The thread itself keeps root's rights, with which it can still import modules.

    Args:
        user: user ID; for root, nothing changes.
    """
    token = _started_by.set(user)
    try:
        yield
    finally:
        _started_by.reset(token)


@contextlib.contextmanager
def walked(path: Path) -> Iterator[Reached]:
    """Looks up a path, following all links, and yields its last component.

    Args:
        path: the path; all folders on the way must exist.

    Yields:
        The entry, which need not exist.

    Raises:
        OSError: a folder on the way does not exist or may not be searched, or links cannot be followed.
        MachineError: this process runs as root on a system other than Linux.
    """
    text = os.fspath(path)
    with contextlib.ExitStack() as opened:
        walk = _Walk(opened, text) if hasattr(os, "O_PATH") else None
        try:
            yield walk.to_the_end() if walk else _resolved(opened, text)
        except OSError as error:
            raise named(error, text) from None


def _resolved(opened: contextlib.ExitStack, path: str) -> Reached:
    """Looks up a path on a system other than Linux, where a walk could not open links."""
    if os.geteuid() == ROOT:
        raise MachineError("PolarLab runs as root only on Linux; run it without sudo")
    folder, name = os.path.split(os.path.realpath(path))
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    opened.callback(os.close, descriptor)
    return Reached(descriptor, name or ".", ROOT)


def named(error: OSError, path: str | Path) -> OSError:
    """Returns a copy of an error whose message contains the full path of the file.

    Args:
        error: the error of an operation on a descriptor; it contains no path, or only the last component.
        path: the path of the file.
    """
    return OSError(error.errno, error.strerror, os.fspath(path))


class _Walk:
    """A lookup in progress: the current folder, and the components that are left."""

    def __init__(self, opened: contextlib.ExitStack, path: str) -> None:
        self._opened = opened
        self._left: list[str] = []
        self._links = 0
        self._user = current_user() or _started_by.get()
        self._folder = -1
        self._prepend(path or ".")
        if self._folder < 0:
            self._enter(os.open(".", _PASS | os.O_DIRECTORY))

    def to_the_end(self) -> Reached:
        """Follows all components and links that are left, and returns the last component."""
        while self._left:
            name = self._left.pop()
            link = self._step(name, last=not self._left)
            if link is None and not self._left:
                return Reached(self._folder, name, self._user)
            if link is not None:
                self._follow(link)
        return Reached(self._folder, ".", self._user)

    def _step(self, name: str, *, last: bool) -> int | None:
        """Enters the folder `name` of the current folder, unless it is the last component of the path.

        Returns:
            The descriptor of `name` if it is a symbolic link, which must be followed next; else None.
        """
        with rights_of(self._user):
            if not last:
                with contextlib.suppress(NotADirectoryError):
                    self._enter(os.open(name, _PASS | os.O_DIRECTORY, dir_fd=self._folder))
                    return None
            try:
                entry = os.open(name, _PASS, dir_fd=self._folder)
            except FileNotFoundError:
                if last:
                    return None
                raise
        self._opened.callback(os.close, entry)
        if stat.S_ISLNK(os.fstat(entry).st_mode):
            return entry
        if not last:
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return None

    def _follow(self, link: int) -> None:
        self._links += 1
        # The owner of a folder may have moved root's link into it, so the folder's owner counts, too.
        owner = os.fstat(link).st_uid or os.fstat(self._folder).st_uid
        if self._links > _MAX_LINKS or (owner and self._user not in (ROOT, owner)):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        self._user = owner or self._user
        self._prepend(os.readlink("", dir_fd=link))

    def _prepend(self, path: str) -> None:
        """Makes the components of `path` the next ones to follow; an absolute path restarts the walk at /."""
        if path.startswith("/"):
            self._enter(os.open("/", _PASS | os.O_DIRECTORY))
        self._left += reversed([part for part in path.split("/") if part not in ("", ".")])

    def _enter(self, folder: int) -> None:
        self._opened.callback(os.close, folder)
        self._folder = folder
