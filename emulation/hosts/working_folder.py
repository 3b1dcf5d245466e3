"""Working folders of hosts, created in results folders that may belong to another user."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from emulation.hosts.identity import Identity
from emulation.kernel.system_calls import creating_files_as
from topology.files.writing import open_folder

_PASS = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEPEST = 64  # depth of folders below a working folder up to which files are visited
_OWNERS_RIGHTS = 0o700


def make_working_folder(results: Path, parts: Sequence[str], owner: Identity) -> int:
    """Opens a folder in a results folder; creates it and the folders above it if necessary.

    Symbolic links below the results folder are not followed, and existing folders keep their owner. Only
    their owner can enter the folders above: otherwise anyone could run setuid programs that a host wrote,
    with the rights of the user who is its root.

    Args:
        results: the results folder.
        parts: names of the nested folders in it.
        owner: owner of the innermost folder.

    Raises:
        OSError: a folder cannot be created, or the innermost one has a different owner.
    """
    above = open_folder(results)
    for name in parts[:-1]:
        above = above.folder(name)
        with above.rights():
            os.fchmod(above.descriptor, _OWNERS_RIGHTS)
    folder = above.folder(parts[-1])
    user = os.fstat(folder.descriptor).st_uid
    if user != owner.user:
        # The owner of the folder above may have replaced the new folder with another user's.
        ours = folder.is_new and user == os.fstat(above.descriptor).st_uid
        if not ours or os.listdir(folder.descriptor):
            raise PermissionError(None, "it belongs to another user")
        os.fchown(folder.descriptor, *owner)
    return os.dup(folder.descriptor)


def remove_empty_folders(results: Path, name: str, below: Iterable[str]) -> None:
    """Removes empty folders inside a folder, and then this folder if it is empty.

    Args:
        results: the results folder.
        name: name of the folder in it.
        below: names of the folders to remove if they are empty.
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
    """Removes setuid and setgid bits and capabilities from the files in a working folder.

    Call it after the host has ended, so that none of its programs can restore them. Files of other users are
    not changed.

    Args:
        results: the results folder.
        parts: names of the nested folders in it.
        owner: owner of the innermost folder.
        over: returns whether to stop early; folders that are not finished then stay closed to other users.
    """
    with contextlib.suppress(OSError), contextlib.ExitStack() as opened:  # it was empty and has been removed
        above = open_folder(results)
        entry = above.descriptor
        with above.rights():
            for name in parts:
                entry = os.open(name, _PASS, dir_fd=entry)
                opened.callback(os.close, entry)
        _clear(entry, owner, over, _DEEPEST)


def _clear(entry: int, owner: Identity, over: Callable[[], bool], levels: int) -> None:
    """Removes setuid and setgid bits and capabilities from a file, or from the files in a folder.

    Args:
        entry: descriptor of the file or folder.
        owner: only files of the users that it maps are changed.
        over: returns whether to stop early.
        levels: depth of nested folders to visit.
    """
    status, path = os.fstat(entry), f"/proc/self/fd/{entry}"
    mode = stat.S_IMODE(status.st_mode)
    if not owner.has(status.st_uid):
        return
    with creating_files_as(status.st_uid, status.st_gid):
        if stat.S_ISREG(status.st_mode):
            with contextlib.suppress(OSError):  # it has no capabilities
                os.removexattr(path, "security.capability")
            if mode & (stat.S_ISUID | stat.S_ISGID):
                os.chmod(path, mode & ~(stat.S_ISUID | stat.S_ISGID))
        elif stat.S_ISDIR(status.st_mode):
            os.chmod(path, _OWNERS_RIGHTS)
            if levels and _clear_folder(path, owner, over, levels - 1):
                os.chmod(path, mode | _OWNERS_RIGHTS)


def _clear_folder(path: str, owner: Identity, over: Callable[[], bool], levels: int) -> bool:
    """Applies `_clear` to every entry of a folder; returns False if `over` has stopped it early."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with os.scandir(folder) as files:
            for file in files:
                if over():
                    return False
                with contextlib.suppress(OSError):  # it has been removed
                    entry = os.open(file.name, _PASS, dir_fd=folder)
                    try:
                        _clear(entry, owner, over, levels)
                    finally:
                        os.close(entry)
        return True
    finally:
        os.close(folder)
