"""Permanently drops the privileges of the web process before it serves.

Everything that it needs is loaded and opened before. An attacker who later takes over the process sees no
files, has no network except the page's connections, cannot start a process or a thread, and cannot exceed its
memory limit.
"""

from __future__ import annotations

import contextlib
import os
import resource
import tempfile
import threading

from emulation.hosts.identity import NOBODY, PAGE_NUMBER
from emulation.kernel.system_call_filter import filter_calls
from emulation.kernel.system_calls import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    call,
    end_with_parent,
    set_no_new_privileges,
)
from topology.errors import MachineError
from topology.files.libraries import temporary_folder

_DUMPABLE = 4  # of prctl
_MAX_FILES = 512
_MAX_BYTES = 2 << 30  # with 450 TLS connections under load it uses 0.2 GiB


def drop_privileges() -> None:
    """Drops the privileges of this process; as root, also changes its user and removes files and network.

    Raises:
        SystemExit: the process has other threads, which would keep their privileges; or root has no folder
            for temporary files.
    """
    if (threads := _threads()) != 1:
        raise SystemExit(f"a process that drops its privileges must have one thread, has {threads}")
    os.chdir("/")
    root = os.geteuid() == 0
    if root:
        # Some containers forbid these two steps; all others must succeed.
        with contextlib.suppress(OSError):
            call("unshare", CLONE_NEWNET | CLONE_NEWIPC)
        try:
            with contextlib.suppress(OSError):
                _leave_the_files()
        except MachineError as error:
            raise SystemExit(str(error)) from None
        os.setgroups([])
        _become_page_user()
    # Processes of the same user could read its memory, or take its connections.
    call("prctl", _DUMPABLE, 0, 0, 0, 0)
    end_with_parent()
    set_no_new_privileges()
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NOFILE, _MAX_FILES)
    # RLIMIT_DATA does not count memory that grows downwards, as stacks do.
    _limit(resource.RLIMIT_AS, _MAX_BYTES)
    _limit(resource.RLIMIT_NPROC, 0)
    with contextlib.suppress(OSError):  # the kernel has no filters, or the architecture is unknown
        filter_calls(of_the_page=True)


def _threads() -> int:
    """Returns the number of threads of this process, with those that Python has not started."""
    try:
        return len(os.listdir("/proc/self/task"))
    except FileNotFoundError:  # macOS
        return threading.active_count()


def _become_page_user() -> None:
    """Changes to a user who has no other processes, because this process could signal and trace them."""
    number = PAGE_NUMBER
    try:
        os.setgid(number)
    except OSError:  # a container with fewer ids
        number = NOBODY
        os.setgid(number)
    os.setuid(number)


def _leave_the_files() -> None:
    """Makes an empty, already deleted folder the root of the process."""
    folder = tempfile.mkdtemp(prefix="polarlab-web-", dir=temporary_folder())
    try:
        os.chdir(folder)
    finally:
        os.rmdir(folder)
    os.chroot(".")
    os.chdir("/")


def _limit(what: int, limit: int) -> None:
    _, hard = resource.getrlimit(what)
    bound = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(what, (bound, bound))
