"""Writer of all files that hold results: new files, or files that replace older ones whole.

A folder is looked up once and held by its descriptor. Root writes into it with the rights of its owner, so
that a link or a folder that this owner exchanges meanwhile leads root nowhere but where the owner may write.
What root makes in root's own folders belongs to the user who called sudo.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from topology.errors import MachineError, UsageError
from topology.files.rights import ROOT, caller, rights_of
from topology.files.walk import named, walked

LOCK = ".lock.partial"
_LOCK_TRIES = 100
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCK_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Not blocked by a FIFO, which is refused then.
_LATER = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Folder:
    """Folder to write into.

    Attributes:
        path: its path when it was opened.
        descriptor: of the folder, as long as this object lives.
    """

    def __init__(self, path: Path, descriptor: int, user: int, above: Folder | None = None) -> None:
        """Takes a folder that is open; see `open_folder` and `make_folder`.

        Args:
            path: its path.
            descriptor: of the folder; this object closes it.
            user: the user with whose rights root writes into it.
            above: the folder that it was made in, if it is new.
        """
        self.path, self.descriptor = path, descriptor
        self._user, self._above = user, above
        weakref.finalize(self, os.close, descriptor)

    @property
    def is_new(self) -> bool:
        """Whether it did not exist before."""
        return self._above is not None

    def rights(self) -> contextlib.AbstractContextManager[None]:
        """Gives this thread, during a block, the rights with which root writes into the folder."""
        return rights_of(self._user)

    def names(self) -> list[str]:
        """Returns the names of its entries."""
        with self._step(), self.rights():
            return os.listdir(self.descriptor)

    def is_writable(self) -> bool:
        """Returns whether files may be made in it."""
        with self.rights():
            return os.access(".", os.W_OK | os.X_OK, dir_fd=self.descriptor, effective_ids=True)

    def free_bytes(self) -> int:
        """Returns the room that its disk has."""
        disk = os.fstatvfs(self.descriptor)
        return disk.f_bavail * disk.f_frsize

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other processes from locking the folder during a block.

        The lock is a file that only the folder's owner may open: everybody who may read a folder can lock the
        folder itself. The file is removed at the end; one that a killed process left is taken over.

        Yields:
            Nothing.

        Raises:
            BlockingIOError: another process has the lock.
            OSError: the file cannot be made.
        """
        descriptor = self._lock()
        try:
            yield
        finally:
            self.remove(LOCK)  # before the lock ends, so that nobody else's is removed
            os.close(descriptor)

    def _lock(self) -> int:
        """Returns the descriptor of the lock's file."""
        for _ in range(_LOCK_TRIES):
            with self._step(LOCK), self.rights():
                descriptor = os.open(LOCK, _LOCK_FILE, 0o600, dir_fd=self.descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The process that had the lock may have removed the file after this one opened it.
                if self._has(LOCK, os.fstat(descriptor)):
                    return descriptor
            except BlockingIOError:
                os.close(descriptor)
                raise
            except OSError:  # a file system without locks
                return descriptor
            os.close(descriptor)
        raise BlockingIOError(errno.EAGAIN, "its lock is replaced again and again")

    def _has(self, name: str, status: os.stat_result) -> bool:
        """Returns whether a name is still that of an open file."""
        try:
            with self.rights():
                now = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(now, status)

    def folder(self, name: str) -> Folder:
        """Returns a folder in it, which is made if it does not exist.

        Args:
            name: its name, or several with slashes between them.

        Raises:
            OSError: it cannot be made, or is a link or no folder.
        """
        first, _, rest = name.partition("/")
        made = False
        with self._step(first):
            with self.rights():
                with contextlib.suppress(FileExistsError):
                    os.mkdir(first, dir_fd=self.descriptor)
                    made = True
                descriptor = os.open(first, _FOLDER, dir_fd=self.descriptor)
            if made:
                self._give(descriptor)
            user = self._user if self._user != ROOT else os.fstat(descriptor).st_uid
        below = Folder(self.path / first, descriptor, user, self if made else None)
        return below.folder(rest) if rest else below

    def create(self, name: str) -> IO[bytes]:
        """Returns a new file in it, open for writing.

        Args:
            name: its name.

        Raises:
            FileExistsError: it exists, be it as a link.
            OSError: it cannot be made.
        """
        with self._step(name):
            with self.rights():
                descriptor = os.open(name, _NEW, 0o666, dir_fd=self.descriptor)
            self._give(descriptor)
        return os.fdopen(descriptor, "wb")

    def begin(self, name: str) -> IO[bytes]:
        """Returns a new file in it, open for writing, in place of one that may exist.

        Args:
            name: its name.
        """
        self.remove(name)
        return self.create(name)

    @contextlib.contextmanager
    def replacing(self, name: str) -> Iterator[IO[bytes]]:
        """Gives a file that takes its name, and the place of an older file or link, when the block has ended.

        Args:
            name: its name, which may begin with folders; they are made if they do not exist.

        Yields:
            The file, open for writing. An error in the block removes it, and the older file stays.
        """
        above, _, last = name.rpartition("/")
        folder, partial = self.folder(above) if above else self, f".{last}.partial"
        file = folder.begin(partial)
        try:
            with folder._step(last):
                with file:
                    yield file
                with folder.rights():
                    os.rename(partial, last, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                folder.remove(partial)
            raise

    def write(self, name: str, content: bytes) -> None:
        """Writes a file whole or not at all, in place of one that may exist.

        Args:
            name: its name, which may begin with folders.
            content: its bytes.
        """
        with self.replacing(name) as file:
            file.write(content)

    def append(self, name: str, content: bytes) -> None:
        """Adds bytes to a file, or to a new one, and waits until they are on the disk.

        Args:
            name: its name.
            content: the bytes.

        Raises:
            OSError: it cannot be written, or is a link or no regular file.
        """
        with self._step(name):
            try:
                file = self._later(name)
            except FileNotFoundError:
                file = self.create(name)
        with self._step(name), file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def _later(self, name: str) -> IO[bytes]:
        """Returns an existing file, to be written at its end; a FIFO or a device is refused."""
        with self.rights():
            descriptor = os.open(name, _LATER, dir_fd=self.descriptor)
        file = os.fdopen(descriptor, "ab")
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            file.close()
            raise OSError(errno.EISDIR, "it must be a regular file")
        return file

    def truncate(self, name: str, length: int) -> None:
        """Shortens a file.

        Args:
            name: its name.
            length: bytes that stay.
        """
        with self._step(name), self._later(name) as file:
            file.truncate(length)

    def remove(self, name: str) -> None:
        """Removes a file, if it exists; of a link only the link.

        Args:
            name: its name.
        """
        with self._step(name), self.rights(), contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.descriptor)

    def remove_all(self) -> None:
        """Removes what is in it, and the folder itself with those that were made for it."""
        with self.rights():
            for name in os.listdir(self.descriptor):
                try:
                    os.unlink(name, dir_fd=self.descriptor)
                except IsADirectoryError:
                    remove_tree(name, self.descriptor)
                except OSError:  # another user's, or gone
                    pass
        self._remove_made()

    def _remove_made(self) -> None:
        above = self._above
        if above is not None:
            with above.rights(), contextlib.suppress(OSError):  # somebody else uses it by now
                os.rmdir(self.path.name, dir_fd=above.descriptor)
            above._remove_made()

    def _give(self, descriptor: int) -> None:
        """Makes the user who called sudo the owner of what was made here, if the folder is root's."""
        called = caller()
        if called and os.geteuid() == ROOT and os.fstat(descriptor).st_uid == ROOT:
            with contextlib.suppress(OSError):  # a convenience, no more
                os.chown(descriptor, *called)

    @contextlib.contextmanager
    def _step(self, name: str = "") -> Iterator[None]:
        """Makes errors of the block name the path."""
        try:
            yield
        except FileNotFoundError:
            raise MachineError(f"{self.path / name} was removed while PolarLab wrote it") from None
        except OSError as error:
            raise named(error, self.path / name) from None


def open_folder(path: Path) -> Folder:
    """Returns a folder that exists.

    Args:
        path: the folder; symbolic links are followed.

    Raises:
        OSError: it does not exist, is no folder, or may not be read.
    """
    with walked(path) as reached:
        with reached.rights():
            descriptor = os.open(reached.name, _FOLDER, dir_fd=reached.folder)
        user = reached.user if reached.user != ROOT else os.fstat(descriptor).st_uid
        return Folder(path, descriptor, user)


def make_folder(path: Path) -> Folder:
    """Returns a folder, which is made if it does not exist, with those above it.

    Args:
        path: the folder; symbolic links are followed.

    Raises:
        OSError: it cannot be made, or is no folder.
    """
    try:
        return open_folder(path)
    except FileNotFoundError:
        if path.parent == path:
            raise
    return make_folder(path.parent).folder(path.name)


def remove_tree(name: str, above: int) -> None:
    """Removes a folder with all that it holds, as far as that is possible.

    Programs may have nested folders deeper than recursion or open descriptors go: folders are moved up
    before they are emptied.

    Args:
        name: the folder.
        above: descriptor of the folder that it is in.
    """
    left, count = [name], 0
    while left:
        one = left.pop()
        try:
            descriptor = os.open(one, _FOLDER, dir_fd=above)
        except OSError:  # gone, or a link
            continue
        try:
            for entry in os.listdir(descriptor):
                try:
                    os.unlink(entry, dir_fd=descriptor)
                except IsADirectoryError:
                    count += 1
                    moved = f".{name}-removed-{count}"
                    with contextlib.suppress(OSError):
                        os.rename(entry, moved, src_dir_fd=descriptor, dst_dir_fd=above)
                        left.append(moved)
                except OSError:  # another user's, or gone
                    pass
        finally:
            os.close(descriptor)
        with contextlib.suppress(OSError):
            os.rmdir(one, dir_fd=above)


def check_new(path: Path) -> None:
    """Raises UsageError if a file exists, or its folder does not.

    Args:
        path: the file.
    """
    if os.path.lexists(path):
        raise UsageError(f"{path} exists already; choose another file")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} is not a directory to write {path.name} into")


def write_new(path: Path, content: bytes) -> None:
    """Writes a file that does not exist yet, whole or not at all.

    Args:
        path: the new file.
        content: its bytes.

    Raises:
        UsageError: it exists, or its folder does not.
        OSError: it cannot be written.
    """
    try:
        folder = open_folder(path.parent)
        file = folder.create(path.name)
    except FileExistsError:
        raise UsageError(f"{path} exists already; choose another file") from None
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise UsageError(f"{path.parent} is not a directory to write {path.name} into") from None
    try:
        with file:
            file.write(content)
    except BaseException as error:  # the disk is full, or Ctrl-C: no half file stays
        with contextlib.suppress(OSError):
            folder.remove(path.name)
        raise named(error, path) if isinstance(error, OSError) else error from None
