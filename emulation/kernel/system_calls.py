"""System calls that Python's library lacks, through the C library: mounts, namespaces, privileges."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import signal
import struct
from collections.abc import Iterator

# System calls with the same number on all architectures.
_SAME = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "clone3": 435,
    "epoll_pwait2": 441,
    "mount_setattr": 442,
}
_ABSENT = 0x3FFFFFFF  # no system call has this number
# Other system calls: the number on x86_64, and the number common to aarch64 and riscv64, which have only a
# newer form of some calls.
_X86, _SHARING = "x86_64", ("aarch64", "riscv64")
_NUMBERS = {
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "fstat": (5, 80),
    "poll": (7, _ABSENT),
    "lseek": (8, 62),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "ioctl": (16, 29),
    "readv": (19, 65),
    "writev": (20, 66),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "nanosleep": (35, 101),
    "getpid": (39, 172),
    "socket": (41, 198),
    "accept": (43, 202),
    "sendto": (44, 206),
    "recvfrom": (45, 207),
    "sendmsg": (46, 211),
    "recvmsg": (47, 212),
    "getsockname": (51, 204),
    "getpeername": (52, 205),
    "setsockopt": (54, 208),
    "getsockopt": (55, 209),
    "clone": (56, 220),
    "exit": (60, 93),
    "fcntl": (72, 25),
    "gettimeofday": (96, 169),
    "getrusage": (98, 165),
    "ptrace": (101, 117),
    "getuid": (102, 174),
    "getgid": (104, 176),
    "geteuid": (107, 175),
    "getegid": (108, 177),
    "getppid": (110, 173),
    "sigaltstack": (131, 132),
    "pivot_root": (155, 41),
    "gettid": (186, 178),
    "time": (201, _ABSENT),
    "futex": (202, 98),
    "sched_getaffinity": (204, 123),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "exit_group": (231, 94),
    "epoll_wait": (232, _ABSENT),
    "epoll_ctl": (233, 21),
    "tgkill": (234, 131),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "ppoll": (271, 73),
    "unshare": (272, 97),
    "set_robust_list": (273, 99),
    "epoll_pwait": (281, 22),
    "accept4": (288, 242),
    "prlimit64": (302, 261),
    "seccomp": (317, 277),
    "getrandom": (318, 278),
    "rseq": (334, 293),
}


def number(name: str) -> int:
    """Returns the number of a system call; an unused number if this architecture does not have the call.

    Raises:
        OSError: PolarLab does not know the numbers of this architecture.
    """
    if name in _SAME:
        return _SAME[name]
    machine = platform.machine()
    if machine not in (_X86, *_SHARING):
        raise OSError(None, f"PolarLab does not know the system calls of {machine}")
    return _NUMBERS[name][machine != _X86]


CLONE_FS, CLONE_NEWNS, CLONE_NEWCGROUP = 0x200, 0x20000, 0x2000000
CLONE_NEWUTS, CLONE_NEWIPC = 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
NO_SUID, NO_DEVICES, NO_PROGRAMS = 0x2, 0x4, 0x8  # MS_ and MOUNT_ATTR_: NOSUID, NODEV, NOEXEC
_READ_ONLY = 0x1  # MS_RDONLY, MOUNT_ATTR_RDONLY
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x20, 0x1000, 0x4000, 0x40000
_MNT_DETACH = 0x2
_MAP_IDS = 0x100000  # MOUNT_ATTR_IDMAP
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH = 0x1, 0x4
_KEYCTL_JOIN_SESSION_KEYRING, _KEYCTL_SETPERM, _SESSION_KEYRING = 1, 5, -3
_PR_SET_PDEATHSIG = 1
_PR_SET_NAME, _PR_SET_NO_NEW_PRIVS = 15, 38
_libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: object) -> int:
    """Calls a function of the C library and returns its result.

    Raises:
        OSError: the kernel refuses.
    """
    result = int(getattr(_libc, name)(*arguments))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def fork_into_namespaces(kinds: int) -> int:
    """Forks this single-threaded process into new namespaces, like `os.fork`.

    Raises:
        OSError: the kernel refuses, or the architecture is unknown.
    """
    # A fork followed by `unshare`, and a second fork for the PID namespace, would take longer.
    return call("syscall", number("clone"), kinds | signal.SIGCHLD, None, None, None, None)


def mount(kind: str, place: str, flags: int = 0, options: str = "") -> None:
    """Mounts a new file system of a kind at a path; raises OSError if the kernel refuses."""
    flags_word = ctypes.c_ulong(flags)
    call("mount", kind.encode(), os.fsencode(place), kind.encode(), flags_word, options.encode() or None)


def bind(source: str, place: str, *, recursive: bool = False) -> None:
    """Bind-mounts a file or folder, with the mounts in it if recursive; raises OSError if that fails."""
    flags = ctypes.c_ulong(_MS_BIND | (_MS_REC if recursive else 0))
    call("mount", os.fsencode(source), os.fsencode(place), None, flags, None)


def keep_mounts_private() -> None:
    """Isolates the mounts of this namespace and of the machine from each other."""
    call("mount", b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None)


def detach(place: str) -> None:
    """Removes a mount and the mounts in it; processes that already use it keep it."""
    call("umount2", os.fsencode(place), _MNT_DETACH)


def restrict(place: str) -> None:
    """Makes all mounts at and below a path read-only, and disables their devices and setuid programs.

    Args:
        place: the path.

    Raises:
        OSError: the kernel refuses.
    """
    attributes = struct.pack("QQQQ", _READ_ONLY | NO_SUID | NO_DEVICES, 0, 0, 0)
    size = ctypes.c_size_t(len(attributes))
    call("syscall", number("mount_setattr"), _AT_FDCWD, os.fsencode(place), _AT_RECURSIVE, attributes, size)


def make_read_only(place: str) -> None:
    """Makes a mounted file system read-only; raises OSError if files on it are open for writing."""
    call("mount", None, os.fsencode(place), None, ctypes.c_ulong(_MS_REMOUNT | _READ_ONLY), None)


def copy_mounts(place: str) -> int:
    """Returns the descriptor of a detached copy of the mounts at and below a path, for `attach`."""
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_RECURSIVE
    return call("syscall", number("open_tree"), _AT_FDCWD, os.fsencode(place), flags)


def map_owners(tree: int, place: str, owners: int) -> None:
    """Makes files of a mount belong to nobody unless a user namespace contains their owner.

    Args:
        tree: the mounts, from `copy_mounts`.
        place: path of the mount in the tree; empty for its root.
        owners: the user namespace.

    Raises:
        OSError: this kind of file system does not support it.
    """
    attributes = struct.pack("QQQQ", _MAP_IDS, 0, 0, owners)
    size = ctypes.c_size_t(len(attributes))
    call("syscall", number("mount_setattr"), tree, os.fsencode(place), _AT_EMPTY_PATH, attributes, size)


@contextlib.contextmanager
def folder_to_attach(folder: int) -> Iterator[int]:
    """Yields the descriptor of a detached mount of a folder, for `attach`; raises OSError if that fails.

    Args:
        folder: descriptor of the folder.
    """
    tree = call("syscall", number("open_tree"), folder, b"", _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_EMPTY_PATH)
    try:
        attributes = struct.pack("QQQQ", NO_SUID | NO_DEVICES, 0, _MS_PRIVATE, 0)
        size = ctypes.c_size_t(len(attributes))
        call("syscall", number("mount_setattr"), tree, b"", _AT_EMPTY_PATH, attributes, size)
        yield tree
    finally:
        os.close(tree)


def attach(tree: int, place: str) -> None:
    """Attaches a detached mount, given by its descriptor, at a path of the current mount namespace."""
    call("syscall", number("move_mount"), tree, b"", _AT_FDCWD, os.fsencode(place), _MOVE_MOUNT_F_EMPTY_PATH)


def change_root(place: str) -> None:
    """Makes a mount the root of this mount namespace, instead of the present one, and changes to it."""
    os.chdir(place)
    call("syscall", number("pivot_root"), b".", b".")
    detach(".")  # the present root, which is now on top of the new one
    os.chdir("/")


def set_no_new_privileges() -> None:
    """Permanently prevents this thread and its descendants from gaining privileges by setuid programs."""
    call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def end_with_parent() -> None:
    """Makes the kernel kill this process when the thread that started it ends; changing user undoes this."""
    call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def name_thread(name: bytes) -> None:
    """Sets the name of this thread, at most 15 bytes, which is visible in /proc."""
    call("prctl", _PR_SET_NAME, name, 0, 0, 0)


@contextlib.contextmanager
def creating_files_as(user: int, group: int) -> Iterator[None]:
    """Makes the files and pipes that this thread creates in the block belong to a user and group."""
    before = _libc.setfsgid(group), _libc.setfsuid(user)
    try:
        yield
    finally:
        _libc.setfsuid(before[1])
        _libc.setfsgid(before[0])


def leave_keys() -> None:
    """Moves this thread and its descendants to a session keyring that cannot be read or written."""
    with contextlib.suppress(OSError):  # the kernel has no keys, or the architecture is unknown
        call("syscall", number("keyctl"), _KEYCTL_JOIN_SESSION_KEYRING, None)
        call("syscall", number("keyctl"), _KEYCTL_SETPERM, _SESSION_KEYRING, 0)
