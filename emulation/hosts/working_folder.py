"""Working folders of hosts, made in folders of results that may be somebody else's."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from emulation.hosts.identity import Identity
from emulation.kernel.system_calls import making_files_as
from topology.files.writing import open_folder

_PASS = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEPEST = 64  # level of folders below a working folder in which files are looked at
_OWNERS_RIGHTS = 0o700


def make_working_folder(results: Path, parts: Sequence[str], owner: Identity) -> int:
    """Opens a folder in a folder of results; makes it, and those above it, if need be.

    No symbolic link is followed below the folder of results, and no folder changes hands that was there.
    Those above are their owner's alone: else anybody could run a host's setuid programs, as who is its root.

    Args:
        results: the folder of results.
        parts: names of the folders below it.
        owner: owner of the last one.

    Raises:
        OSError: one cannot be made, or the last one has another owner.
    """
    above = open_folder(results)
    for name in parts[:-1]:
        above = above.folder(name)
        with above.rights():
            os.fchmod(above.descriptor, _OWNERS_RIGHTS)
    folder = above.folder(parts[-1])
    user = os.fstat(folder.descriptor).st_uid
    if user != owner.user:
        # Whoever owns the folder above may have exchanged the new one for another user's.
        ours = folder.is_new and user == os.fstat(above.descriptor).st_uid
        if not ours or os.listdir(folder.descriptor):
            raise PermissionError(None, "it is somebody else's")
        os.fchown(folder.descriptor, *owner)
    return os.dup(folder.descriptor)


def remove_empty_folders(results: Path, name: str, below: Iterable[str]) -> None:
    """Removes the empty ones of some folders in a folder, and then this folder if it is empty.

    Args:
        results: the folder of results.
        name: the folder in it.
        below: names of the folders to remove.
    """
    with contextlib.suppress(OSError):  # it has files, or was not needed
        above = open_folder(results)
        folder = open_folder(results / name)
        with folder.rights():
            for one in below:
                with contextlib.suppress(OSError):
                    os.rmdir(one, dir_fd=folder.descriptor)
        with above.rights():
            os.rmdir(name, dir_fd=above.descriptor)


def clear_rights(results: Path, parts: Sequence[str], owner: Identity, over: Callable[[], bool]) -> None:
    """Takes from the files in a working folder what gives others the rights of their owner, or capabilities.

    The host has ended, so that none of its programs gives them back. Files of other users stay as they are.

    Args:
        results: the folder of results.
        parts: names of the folders below it.
        owner: owner of the last one.
        over: returns whether to leave the rest; folders in which something is left are their owner's alone.
    """
    with contextlib.suppress(OSError), contextlib.ExitStack() as opened:  # it was empty, and has been removed
        above = open_folder(results)
        entry = above.descriptor
        with above.rights():
            for name in parts:
                entry = os.open(name, _PASS, dir_fd=entry)
                opened.callback(os.close, entry)
        _clear(entry, owner, over, _DEEPEST)


def _clear(entry: int, owner: Identity, over: Callable[[], bool], levels: int) -> None:
    """Does so with an open entry of a folder, as its owner."""
    status, path = os.fstat(entry), f"/proc/self/fd/{entry}"
    mode = stat.S_IMODE(status.st_mode)
    if not owner.has(status.st_uid):
        return
    with making_files_as(status.st_uid, status.st_gid):
        if stat.S_ISREG(status.st_mode):
            with contextlib.suppress(OSError):  # it has none
                os.removexattr(path, "security.capability")
            if mode & (stat.S_ISUID | stat.S_ISGID):
                os.chmod(path, mode & ~(stat.S_ISUID | stat.S_ISGID))
        elif stat.S_ISDIR(status.st_mode):
            os.chmod(path, _OWNERS_RIGHTS)
            if levels and _clear_folder(path, owner, over, levels - 1):
                os.chmod(path, mode | _OWNERS_RIGHTS)


def _clear_folder(path: str, owner: Identity, over: Callable[[], bool], levels: int) -> bool:
    """Does so with all in a folder; returns whether nothing is left."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with os.scandir(folder) as files:
            for file in files:
                if over():
                    return False
                with contextlib.suppress(OSError):  # somebody has removed it
                    entry = os.open(file.name, _PASS, dir_fd=folder)
                    try:
                        _clear(entry, owner, over, levels)
                    finally:
                        os.close(entry)
        return True
    finally:
        os.close(folder)
