"""Rights of the web process, given up for good before it serves.

All that it needs is loaded and opened before. An attacker who takes the process over later sees no files, has
no network but the page's connections, and cannot start a process or a thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import tempfile

_NOBODY = 65_534
_NO_NEW_PRIVILEGES = 38  # of prctl
_NEW_NETWORK, _NEW_IPC = 0x40000000, 0x08000000  # of unshare
_MOST_FILES = 512
_MOST_DATA_BYTES = 2 << 30


def give_rights_up() -> None:
    """Makes root's process nobody's for good, without files and network; limits that of any other user."""
    libc = ctypes.CDLL(None)
    os.chdir("/")
    root = os.geteuid() == 0
    if root:
        # Some containers forbid these two; what follows must succeed.
        libc.unshare(_NEW_NETWORK | _NEW_IPC)
        with contextlib.suppress(OSError):
            _leave_the_files()
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NOFILE, _MOST_FILES)
    _limit(resource.RLIMIT_DATA, _MOST_DATA_BYTES)
    _limit(resource.RLIMIT_NPROC, 0)


def _leave_the_files() -> None:
    """Makes an empty folder, which is gone already, the root of the process."""
    folder = tempfile.mkdtemp(prefix="polarlab-web-")
    try:
        os.chdir(folder)
    finally:
        os.rmdir(folder)
    os.chroot(".")
    os.chdir("/")


def _limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (bound, bound))
