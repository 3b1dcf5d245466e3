"""Results folders that a page may download as archives."""

from __future__ import annotations

import io
import os
import stat
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from topology.errors import ParameterError, UsageError

_MAX_DEPTH = 64  # limit of nested folders, because all are open at the same time
_FIRST_S, _LAST_S = 315_619_200, 4_354_646_400  # ZIP archives can represent times from 1980 to 2107
_PASS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # without O_NONBLOCK a FIFO would block
MAX_ARCHIVE_BYTES = 32 << 20  # limit before compression; a message on the channel may have 64 MiB
_ENTRY_BYTES = 1 << 10  # what a file or a folder counts besides its content and its path


class Results:
    """Results folders of one session."""

    def __init__(self) -> None:
        self._folders: dict[str, tuple[Path, os.stat_result]] = {}

    @property
    def names(self) -> list[str]:
        """The names of the folders, in the order of the measurements."""
        return list(self._folders)

    def add(self, folder: Path) -> None:
        """Adds a folder that has just been written."""
        path = folder.absolute()  # the working directory may change
        self._folders[path.name] = path, path.lstat()

    def archive(self, name: str) -> tuple[str, bytes]:
        """Returns the name of a folder, and its files as a ZIP archive.

        The folder may belong to a user who must not get files that only root can read. So the archive
        contains only regular files with a single hard link, and symbolic links are not followed, even if one
        replaces a folder meanwhile.

        Raises:
            ParameterError: no folder of this session has this name.
            UsageError: the folder is gone or was replaced, is too large, or has too many files.
        """
        if name not in self._folders:
            raise ParameterError(f"results must be from this session, got {name!r}")
        path, before = self._folders[name]
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for place, written_s, content in _files(path, before):
                written = time.localtime(min(max(written_s, _FIRST_S), _LAST_S))
                info = zipfile.ZipInfo(place, written[:6])
                info.external_attr = 0o644 << 16
                archive.writestr(info, content, zipfile.ZIP_DEFLATED)
        return name, buffer.getvalue()


class _Room:
    """The number of bytes left for an archive's contents, paths and entries."""

    def __init__(self, path: Path) -> None:
        self._path, self.left = path, MAX_ARCHIVE_BYTES

    def take(self, count: int) -> None:
        """Subtracts bytes; raises UsageError if fewer are left."""
        self.left -= count
        if self.left < 0:
            raise UsageError(
                f"{self._path} must have at most {MAX_ARCHIVE_BYTES >> 20} MiB, with paths and "
                f"{_ENTRY_BYTES >> 10} KiB for each file or folder; copy it instead"
            )


def _files(path: Path, before: os.stat_result) -> Iterator[tuple[str, float, bytes]]:
    """Yields (path in the archive, time, content) for each file in a folder, in order."""
    gone = UsageError(f"{path} was moved or replaced since it was measured")
    try:
        top = os.open(path, _PASS | os.O_DIRECTORY)
    except OSError:
        raise gone from None
    try:
        if not os.path.samestat(os.fstat(top), before):
            raise gone
        yield from _files_of(top, _text(path.name), _MAX_DEPTH, _Room(path))
    finally:
        os.close(top)


def _files_of(folder: int, place: str, depth: int, room: _Room) -> Iterator[tuple[str, float, bytes]]:
    """Yields (path in the archive, time, content) for each file in an open folder, then in its folders.

    An entry that is listed as a file or a folder may be something else when it is opened.
    """
    if not depth:
        raise UsageError(f"results must be at most {_MAX_DEPTH} folders deep; copy them instead")
    entries = []
    with os.scandir(folder) as listed:
        for entry in listed:
            inside = f"{place}/{_text(entry.name)}"
            room.take(_ENTRY_BYTES + 2 * len(inside.encode()))  # an archive has each path twice
            entries.append((entry.is_dir(follow_symlinks=False), entry.name, inside))
    for is_folder, name, inside in sorted(entries):
        with suppress(OSError):  # deleted or replaced meanwhile, or a symbolic link
            if not is_folder:
                read = _read(name, folder, room)
                if read:
                    yield inside, *read
                continue
            inner = os.open(name, _PASS | os.O_DIRECTORY, dir_fd=folder)
            try:
                yield from _files_of(inner, inside, depth - 1, room)
            finally:
                os.close(inner)


def _read(name: str, folder: int, room: _Room) -> tuple[float, bytes] | None:
    """Returns (time, content) of a file in an open folder; reads at most one byte more than there is room."""
    with open(name, "rb", opener=lambda path, _: os.open(path, _PASS, dir_fd=folder)) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            return None
        content = file.read(room.left + 1)
    room.take(len(content))
    return status.st_mtime, content


def _text(name: str) -> str:
    """Returns a file name, which need not be UTF-8, as text."""
    return os.fsencode(name).decode(errors="backslashreplace")
