"""Import of libraries that look for settings in the working folder, and folders of what they keep.

Numba and matplotlib read files of their own names in the working folder, and numba unpickles what its cache
holds: in a folder of another user, root would obey that user.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib
import os
import pwd
import re
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path

from topology.files.rights import ROOT

_CLONE_FS = 0x200
# Folders of root's in place of one that is not; at least the last is.
_TEMPORARY = (Path("/tmp"), Path("/var/tmp"), Path("/"))  # noqa: S108
# Variables of the XDG Base Directory Specification that name folders.
_BASE_FOLDERS = re.compile(r"XDG_[A-Z]+_(HOME|DIRS?)")
_libc = ctypes.CDLL(None, use_errno=True)
_command: list[bool] = []


def run_as_command() -> None:
    """Declares that the process is the command, in which nobody else uses the libraries.

    Root's takes nothing from a home that another user can change, which `sudo -E` keeps: libraries find
    settings that run programs, and pickles, there.
    """
    _command.append(True)
    if os.geteuid() == ROOT:
        _leave_homes_of_others()


def _leave_homes_of_others() -> None:
    """Makes a folder of root's the home, and drops variables that name folders which others can change."""
    os.environ["HOME"] = str(trusted_folder(homes(), "home"))
    for name in filter(_BASE_FOLDERS.fullmatch, [*os.environ]):
        folders = [Path(os.path.realpath(folder)) for folder in os.environ[name].split(os.pathsep)]
        if all(map(_is_roots, folders)):
            os.environ[name] = os.pathsep.join(map(str, folders))
        else:
            del os.environ[name]


def import_apart(name: str, folder: Path) -> None:
    """Imports a library as if in another working folder, if the process is the command or root's.

    Other programs may want their settings, and a library that they have imported stays as it is.

    Args:
        name: name of the library.
        folder: the folder whose files may be its settings.
    """
    if name in sys.modules or not (_command or os.geteuid() == ROOT):
        return
    failures: list[BaseException] = []

    def load() -> None:
        try:
            # From here on, this thread has a working folder of its own.
            if not _libc.unshare(_CLONE_FS):
                os.chdir(folder)
            importlib.import_module(name)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def trusted_folder(folders: Iterable[Path], purpose: str) -> Path:
    """Returns the first of some folders; for root, the first that nobody else can change.

    Args:
        folders: the folders; they need not exist.
        purpose: a word for the name of a new one, if there is none of these; it is removed at the process's
            end.

    Returns:
        The folder, for root without symbolic links on the way.
    """
    for folder in folders:
        if os.geteuid() != ROOT:
            return folder
        real = Path(os.path.realpath(folder))
        if _is_roots(real):
            return real
    fresh = Path(tempfile.mkdtemp(prefix=f"polarlab-{purpose}-", dir=temporary_folder()))
    atexit.register(shutil.rmtree, fresh, ignore_errors=True)
    return fresh


def temporary_folder() -> Path:
    """Returns the folder of temporary files; for root, one in which nobody else can replace those of root."""
    given = Path(tempfile.gettempdir())
    if os.geteuid() != ROOT:
        return given
    return next(one for one in (given, *_TEMPORARY) if _is_roots(Path(os.path.realpath(one)), sticky=True))


def homes() -> tuple[Path, ...]:
    """Returns the home folder by the environment and, for root, that of the list of users."""
    found = []
    with contextlib.suppress(RuntimeError):  # a user without one
        found.append(Path.home())
    if os.geteuid() == ROOT:
        found.append(Path(pwd.getpwuid(ROOT).pw_dir))
    return tuple(found)


def _is_roots(path: Path, *, sticky: bool = False) -> bool:
    """Returns whether only root can change a folder, or what would be made at its place.

    Args:
        path: the folder, without symbolic links on the way.
        sticky: whether others may make entries of their own in it.
    """
    below_exists = True
    for folder in (path, *path.parents):
        status = None
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            status = folder.lstat()
        if status is None:
            below_exists = False
            continue
        if status.st_uid != ROOT or not stat.S_ISDIR(status.st_mode):
            return False
        shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        # In a sticky folder, as /tmp, others can make new entries but cannot replace those of root.
        kept = status.st_mode & stat.S_ISVTX and below_exists and (sticky or folder != path)
        if shared and not kept:
            return False
        below_exists = True
    return True
