"""A Python process in which the parts of Linux that macOS lacks are hidden, to run commands as on macOS.

`python -m support.builders.macos '[["topology", "polarfly"], ...]'` runs command lines one after another and
prints the exit status of each as a line `status N` on standard output. It cannot imitate what macOS has in
addition, or does differently.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import mmap
import os
import platform
import re
import resource
import select
import signal
import socket
import sys
import traceback
from typing import Any

import psutil  # noqa: F401  # it has an implementation for each system; on Linux it needs what is hidden below

_LACKS = {
    os: r"O_(PATH|NOATIME|DIRECT|LARGEFILE|RSYNC)|pidfd_\w+|P_PIDFD|memfd_\w+|MFD_\w+|(event|timer)fd\w*"
    r"|sched_(get|set|rr)(?!_priority)\w+|SCHED_(BATCH|IDLE|RESET_ON_FORK)|unshare|setns|CLONE_\w+"
    r"|[gs]etres[ug]id|splice|SPLICE_\w+|copy_file_range|posix_f\w+|POSIX_FADV\w+|\w+xattr|XATTR_\w+"
    r"|getrandom|GRND_\w+|fdatasync|pipe2|waitid|RTLD_DEEPBIND",
    socket: r"AF_(NETLINK|PACKET|VSOCK|ALG|CAN|TIPC|BLUETOOTH)|(NETLINK|PACKET|VMADDR|ALG|CAN|TIPC)_\w+"
    r"|SOCK_(NONBLOCK|CLOEXEC)|SO_(BINDTODEVICE|MARK|PASSCRED|PEERCRED|PEERSEC|PRIORITY|DOMAIN|PROTOCOL)"
    r"|SCM_CREDENTIALS|TCP_(INFO|CONGESTION|USER_TIMEOUT|DEFER_ACCEPT|QUICKACK|SYNCNT|LINGER2)",
    select: r"epoll|EPOLL\w+",
    signal: r"pidfd_\w+|sig(timedwait|waitinfo)|SIG(RTMIN|RTMAX|POLL|PWR|STKFLT|CLD)",
    fcntl: r"F_(ADD_SEALS|GET_SEALS|SEAL_\w+|[GS]ETPIPE_SZ|OFD_\w+|[GS]ETSIG|[GS]ETLEASE|NOTIFY)|DN_\w+",
    resource: r"prlimit|RUSAGE_THREAD|RLIMIT_(MSGQUEUE|NICE|OFILE|RTPRIO|RTTIME|SIGPENDING)",
    mmap: r"MAP_(POPULATE|DENYWRITE|EXECUTABLE)|MADV_(HUGEPAGE|NOHUGEPAGE|DONTFORK|DOFORK|MERGEABLE)",
    errno: r"ENONET|ECOMM|EADV|ESRMNT|EBAD[ERFD]+|EREMCHG|ELIB\w+|EXFULL|ENOANO|EUNATCH|ECHRNG|EUCLEAN",
}
_FUNCTIONS = re.compile(r"setfs[ug]id|unshare|setns|prctl|u?mount2?|pivot_root|epoll_\w+|inotify_\w+|gettid")
_FOLDERS = re.compile(r"/(proc|sys|dev/shm)(/|$)")


class _Library(ctypes.CDLL):
    """A library without the functions that macOS's C library lacks."""

    def __getattr__(self, name: str) -> Any:
        if _FUNCTIONS.fullmatch(name):
            raise AttributeError(f"dlsym(RTLD_DEFAULT, {name}): symbol not found")
        return super().__getattr__(name)


def _check(path: Any) -> None:
    """Raises FileNotFoundError for the kernel's files, except for psutil."""
    if not isinstance(path, str | os.PathLike) or not _FOLDERS.match(os.fspath(path)):
        return
    if not any("psutil" in frame.filename for frame in traceback.extract_stack(limit=9)):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir"):
        _check(arguments[0])


def _stat(path: Any, *, real: Any = os.stat, **options: Any) -> os.stat_result:
    _check(path)
    return real(path, **options)


def hide_linux() -> None:
    """Hides from this process, for good, what macOS lacks; the process also takes itself for a user's."""
    for module, names in _LACKS.items():
        for name in filter(re.compile(names).fullmatch, dir(module)):
            delattr(module, name)
    ctypes.CDLL = _Library
    os.stat, os.geteuid = _stat, lambda: 501  # PolarLab does not run as root there
    platform.system = lambda: "Darwin"
    sys.addaudithook(_refuse)


if __name__ == "__main__":
    hide_linux()
    from polarlab.cli.main import main

    for words in json.loads(sys.argv[1]):
        print("status", main(words), " ".join(words), flush=True)
