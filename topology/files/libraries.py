"""Imports libraries that search the working folder for settings, and chooses folders for their caches.

Numba and matplotlib read settings files in the working folder, and numba unpickles its cache. In a folder of
another user, root would execute code that this user chose.
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

from topology.errors import MachineError
from topology.files.rights import ROOT

_CLONE_FS = 0x200
# Where root's temporary files go if other users can change the folder from TMPDIR; nobody else can change /.
_TEMPORARY = (Path("/tmp"), Path("/var/tmp"), Path("/"))  # noqa: S108
# Variables of the XDG Base Directory Specification that name folders.
_BASE_FOLDERS = re.compile(r"XDG_[A-Z]+_(HOME|DIRS?)")
_libc = ctypes.CDLL(None, use_errno=True)
_command: list[bool] = []


def run_as_command() -> None:
    """Marks this process as PolarLab's command line, so that `import_isolated` isolates every library.

    If root runs it with a HOME that another user can change, as under `sudo -E`, HOME is replaced: libraries
    load pickles and settings from there, which can run programs.
    """
    _command.append(True)
    if os.geteuid() == ROOT:
        _leave_homes_of_others()


def _leave_homes_of_others() -> None:
    """Sets HOME to a folder that only root can change, and unsets XDG variables that name other folders."""
    os.environ["HOME"] = str(trusted_folder(homes(), "home"))
    for name in filter(_BASE_FOLDERS.fullmatch, [*os.environ]):
        folders = [Path(os.path.realpath(folder)) for folder in os.environ[name].split(os.pathsep)]
        if all(map(_is_roots, folders)):
            os.environ[name] = os.pathsep.join(map(str, folders))
        else:
            del os.environ[name]


def import_isolated(name: str, folder: Path) -> None:
    """Imports a library with `folder` as the working folder, where the library searches for its settings.

    This applies to PolarLab's command line and to every process of root. In any other program, which may want
    its own settings, this function imports nothing. A library that is already imported stays as it is.

    Args:
        name: name of the library.
        folder: the folder to search for the library's settings.
    """
    if name in sys.modules or not (_command or os.geteuid() == ROOT):
        return
    failures: list[BaseException] = []

    def load() -> None:
        try:
            if not hasattr(_libc, "unshare"):  # macOS
                with contextlib.chdir(folder):
                    importlib.import_module(name)
                return
            # From here on, this thread has its own working folder.
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
    """Returns the first of the given folders; for root, the first that no other user can change.

    Args:
        folders: the folders, in order of preference; they need not exist.
        purpose: a word in the name of the folder that is created if other users can change all the given
            ones; this folder is removed when the process exits.

    Returns:
        The folder; for root, with all symbolic links resolved.
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
    """Returns the folder for temporary files; for root, one where nobody else can replace root's files.

    Raises:
        MachineError: there is none for root.
    """
    given = Path(tempfile.gettempdir())
    if os.geteuid() != ROOT:
        return given
    for folder in (given, *_TEMPORARY):
        if _is_roots(Path(os.path.realpath(folder)), sticky=True):
            return folder
    # As in a user namespace in which the machine's root, who owns the folders, is nobody.
    names = ", ".join(map(str, dict.fromkeys((given, *_TEMPORARY))))
    raise MachineError(f"others can change {names}; root needs a folder of its own, named by TMPDIR")


def homes() -> tuple[Path, ...]:
    """Returns this user's home folder as HOME names it; for root, also as the user database does."""
    found = []
    with contextlib.suppress(RuntimeError):  # the user has no home
        found.append(Path.home())
    if os.geteuid() == ROOT:
        found.append(Path(pwd.getpwuid(ROOT).pw_dir))
    return tuple(found)


def _is_roots(path: Path, *, sticky: bool = False) -> bool:
    """Returns whether only root can change a folder, or the folder that would be created at this path.

    Args:
        path: the folder, without symbolic links in its path.
        sticky: whether to accept a sticky folder, in which other users can create entries.
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
        # In a sticky folder such as /tmp, others can create entries but cannot replace root's.
        kept = status.st_mode & stat.S_ISVTX and below_exists and (sticky or folder != path)
        if shared and not kept:
            return False
        below_exists = True
    return True
