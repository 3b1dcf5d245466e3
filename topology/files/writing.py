"""Writer of all result files: new files, or files that replace older ones as a whole.

A folder is looked up once and then used through its descriptor. Root writes into it with the rights of its
owner: if the owner replaces a link or a folder in the meantime, root can still write only where the owner may
write. What root creates in its own folders belongs to the user who called sudo.
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
# Opening a FIFO this way does not block; FIFOs are then refused.
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Folder:
    """A folder to write into.

    Attributes:
        path: its path when it was opened.
        descriptor: file descriptor of the folder, open while this object exists.
    """

    def __init__(self, path: Path, descriptor: int, user: int, above: Folder | None = None) -> None:
        """Wraps an open folder; use `open_folder` or `make_folder` instead.

        Args:
            path: its path.
            descriptor: file descriptor of the folder; this object closes it.
            user: the user with whose rights root writes into it.
            above: the folder in which it was created, if it is new.
        """
        self.path, self.descriptor = path, descriptor
        self._user, self._above = user, above
        weakref.finalize(self, os.close, descriptor)

    @property
    def is_new(self) -> bool:
        """Whether this process created the folder."""
        return self._above is not None

    def rights(self) -> contextlib.AbstractContextManager[None]:
        """Returns a context in which this thread has the rights that root uses to write into the folder."""
        return rights_of(self._user)

    def names(self) -> list[str]:
        """Returns the names of the folder's entries."""
        with self._naming_path(), self.rights():
            return os.listdir(self.descriptor)

    def is_writable(self) -> bool:
        """Returns whether files can be created in the folder."""
        with self.rights():
            return os.access(".", os.W_OK | os.X_OK, dir_fd=self.descriptor, effective_ids=True)

    def is_at_its_path(self) -> bool:
        """Returns whether `path` still leads to this folder, which others may have renamed."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self.descriptor))
        except OSError:
            return False

    def free_bytes(self) -> int:
        """Returns the free space, in bytes, of the disk that the folder is on."""
        disk = os.fstatvfs(self.descriptor)
        return disk.f_bavail * disk.f_frsize

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Locks the folder during a block.

        The lock is a file that only the folder's owner may open, since anyone who may read a folder can lock
        the folder itself. The file is removed at the end; one left by a killed process is taken over.

        Yields:
            Nothing.

        Raises:
            BlockingIOError: another process has the lock.
            OSError: the file cannot be created.
        """
        descriptor = self._lock()
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # the disk has failed, which the block reports
                self.remove(LOCK)  # before the lock is released: the next process creates a new file
            os.close(descriptor)

    def _lock(self) -> int:
        """Opens and locks the lock file; returns its descriptor."""
        for _ in range(_LOCK_TRIES):
            with self._naming_path(LOCK), self.rights():
                descriptor = os.open(LOCK, _LOCK_FILE, 0o600, dir_fd=self.descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The previous owner of the lock may have removed the file after this process opened it.
                if self._has(LOCK, os.fstat(descriptor)):
                    return descriptor
            except BlockingIOError:
                os.close(descriptor)
                raise
            except OSError:  # the file system has no locks
                return descriptor
            os.close(descriptor)
        raise BlockingIOError(errno.EAGAIN, "its lock file keeps changing")

    def _has(self, name: str, status: os.stat_result) -> bool:
        """Returns whether this folder's entry `name` is still the file that was opened.

        Args:
            name: the name of the entry.
            status: `os.fstat` of the open file.
        """
        try:
            with self.rights():
                now = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(now, status)

    def folder(self, name: str) -> Folder:
        """Opens a subfolder; creates it if it does not exist.

        Args:
            name: its name, or a path of several names.

        Raises:
            OSError: it cannot be created, or is not a folder.
        """
        first, _, rest = name.partition("/")
        created = False
        with self._naming_path(first):
            with self.rights():
                try:
                    os.mkdir(first, dir_fd=self.descriptor)
                    created = True
                except FileExistsError:
                    pass
                except FileNotFoundError:
                    if os.fstat(
                        self.descriptor
                    ).st_nlink:  # this folder exists, so /proc or one like it refuses
                        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM)) from None
                    raise
                descriptor = os.open(first, _FOLDER, dir_fd=self.descriptor)
            if created:
                self._chown_to_caller(descriptor)
            user = self._user if self._user != ROOT else os.fstat(descriptor).st_uid
        below = Folder(self.path / first, descriptor, user, self if created else None)
        return below.folder(rest) if rest else below

    def create(self, name: str) -> IO[bytes]:
        """Creates a file in the folder and opens it for writing.

        Args:
            name: its name.

        Raises:
            FileExistsError: it exists, even as a link.
            OSError: it cannot be created.
        """
        with self._naming_path(name):
            with self.rights():
                descriptor = os.open(name, _NEW, 0o666, dir_fd=self.descriptor)
            self._chown_to_caller(descriptor)
        return os.fdopen(descriptor, "wb")

    def begin(self, name: str) -> IO[bytes]:
        """Creates a file in the folder, replacing any existing one, and opens it for writing.

        Args:
            name: its name.
        """
        self.remove(name)
        return self.create(name)

    @contextlib.contextmanager
    def replacing(self, name: str) -> Iterator[IO[bytes]]:
        """Opens a temporary file that replaces the named file or link when the block ends.

        Args:
            name: its name, which may include folders; missing ones are created.

        Yields:
            The file, open for writing. If the block fails, the temporary file is removed and the older one
            stays.
        """
        above, _, last = name.rpartition("/")
        folder, partial = self.folder(above) if above else self, f".{last}.partial"
        file = folder.begin(partial)
        try:
            with folder._naming_path(last):
                with file:
                    yield file
                with folder.rights():
                    os.rename(partial, last, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                folder.remove(partial)
            raise

    def write(self, name: str, content: bytes) -> None:
        """Writes a file as a whole or not at all, replacing any existing one.

        Args:
            name: its name, which may include folders.
            content: its bytes.
        """
        with self.replacing(name) as file:
            file.write(content)

    def append(self, name: str, content: bytes) -> None:
        """Appends bytes to a file, creating it if needed, and waits until they are on the disk.

        Args:
            name: its name.
            content: the bytes.

        Raises:
            OSError: it cannot be written, or is not a regular file.
        """
        with self._naming_path(name):
            try:
                file = self._open_to_append(name)
            except FileNotFoundError:
                file = self.create(name)
        with self._naming_path(name), file:
            descriptor = file.fileno()
            before = os.fstat(descriptor).st_size
            try:
                rest = memoryview(content)
                while rest:  # past the file's buffer, whose bytes would be written after a failure
                    rest = rest[os.write(descriptor, rest) :]
                os.fsync(descriptor)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, before)  # part of a row could be read as a whole one
                raise

    def _open_to_append(self, name: str) -> IO[bytes]:
        """Opens an existing file for appending; refuses FIFOs and devices."""
        with self.rights():
            descriptor = os.open(name, _APPEND, dir_fd=self.descriptor)
        file = os.fdopen(descriptor, "ab")
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            file.close()
            raise OSError(errno.EISDIR, "it must be a regular file")
        return file

    def truncate(self, name: str, length: int) -> None:
        """Truncates a file.

        Args:
            name: its name.
            length: its new length in bytes.
        """
        with self._naming_path(name), self._open_to_append(name) as file:
            file.truncate(length)

    def remove(self, name: str) -> None:
        """Removes a file if it exists; removes a link, not its target.

        Args:
            name: its name.
        """
        with self._naming_path(name), self.rights(), contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.descriptor)

    def remove_all(self) -> None:
        """Removes the folder's content; if the folder is new, removes it and the parents created for it."""
        with self.rights():
            for name in os.listdir(self.descriptor):
                try:
                    os.unlink(name, dir_fd=self.descriptor)
                except IsADirectoryError:
                    remove_tree(name, self.descriptor)
                except OSError:  # it belongs to another user, or is gone
                    pass
        self._remove_created()

    def _remove_created(self) -> None:
        above = self._above
        if above is not None:
            with above.rights(), contextlib.suppress(OSError):  # it is in use by now
                os.rmdir(self.path.name, dir_fd=above.descriptor)
            above._remove_created()

    def _chown_to_caller(self, descriptor: int) -> None:
        """Makes the user who called sudo the owner of a new file or folder, if root owns it."""
        called = caller()
        if called and os.geteuid() == ROOT and os.fstat(descriptor).st_uid == ROOT:
            with contextlib.suppress(OSError):  # only a convenience
                os.chown(descriptor, *called)

    @contextlib.contextmanager
    def _naming_path(self, name: str = "") -> Iterator[None]:
        """Adds the path of the folder, or of its entry `name`, to operating system errors in the block."""
        try:
            yield
        except FileNotFoundError:
            raise MachineError(f"{self.path / name} was removed while PolarLab wrote it") from None
        except OSError as error:
            raise named(error, self.path / name) from None


def open_folder(path: Path) -> Folder:
    """Opens an existing folder.

    Args:
        path: the folder; symbolic links are followed.

    Raises:
        OSError: it does not exist, is not a folder, or may not be read.
    """
    with walked(path) as reached:
        with reached.rights():
            descriptor = os.open(reached.name, _FOLDER, dir_fd=reached.folder)
        user = reached.user if reached.user != ROOT else os.fstat(descriptor).st_uid
        return Folder(path, descriptor, user)


def make_folder(path: Path) -> Folder:
    """Opens a folder; creates it and its parents if they do not exist.

    Args:
        path: the folder; symbolic links are followed.

    Raises:
        OSError: it cannot be created, or is not a folder.
    """
    try:
        return open_folder(path)
    except FileNotFoundError:
        if path.parent == path:
            raise
    return make_folder(path.parent).folder(path.name)


def remove_tree(name: str, above: int) -> None:
    """Removes a folder and its content, as far as possible.

    Programs may have nested folders too deeply for recursion or open descriptors, so subfolders are moved up
    before they are emptied.

    Args:
        name: the folder.
        above: descriptor of its parent folder.
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
                except OSError:  # it belongs to another user, or is gone
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
        raise UsageError(f"{path} already exists; choose another file")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} is not a directory; {path.name} cannot be written there")


def write_new(path: Path, content: bytes) -> None:
    """Writes a new file as a whole or not at all.

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
        raise UsageError(f"{path} already exists; choose another file") from None
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise UsageError(f"{path.parent} is not a directory; {path.name} cannot be written there") from None
    try:
        with file:
            file.write(content)
    except BaseException as error:  # disk full or Ctrl-C: leave no partial file
        with contextlib.suppress(OSError):
            folder.remove(path.name)
        raise named(error, path) if isinstance(error, OSError) else error from None
