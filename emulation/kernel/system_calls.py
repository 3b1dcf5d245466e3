"""System calls that Python's library does not have, by the C library: mounts, namespaces, rights."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import signal
import struct
from collections.abc import Iterator

# Calls whose numbers are the same on all architectures.
_SAME = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "clone3": 435,
    "mount_setattr": 442,
    "memfd_secret": 447,
}
# Other calls: their numbers on x86_64, and on the architectures that share theirs.
_X86, _SHARING = "x86_64", ("aarch64", "riscv64")
_NUMBERS = {
    "mmap": (9, 222),
    "shmget": (29, 194),
    "socket": (41, 198),
    "connect": (42, 203),
    "shutdown": (48, 210),
    "bind": (49, 200),
    "listen": (50, 201),
    "setsockopt": (54, 208),
    "clone": (56, 220),
    "semget": (64, 190),
    "msgget": (68, 186),
    "fcntl": (72, 25),
    "ptrace": (101, 117),
    "prctl": (157, 167),
    "mq_open": (240, 180),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "perf_event_open": (298, 241),
    "seccomp": (317, 277),
    "memfd_create": (319, 279),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
}


def number(name: str) -> int:
    """Returns the number of a call.

    Raises:
        OSError: PolarLab does not know the numbers of this architecture.
    """
    if name in _SAME:
        return _SAME[name]
    machine = platform.machine()
    if machine not in (_X86, *_SHARING):
        raise OSError(None, f"system calls of {machine} are not known")
    return _NUMBERS[name][machine != _X86]


CLONE_FS, CLONE_NEWNS, CLONE_NEWCGROUP = 0x200, 0x20000, 0x2000000
CLONE_NEWUTS, CLONE_NEWIPC = 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
NO_SUID, NO_DEVICES, NO_PROGRAMS = 0x2, 0x4, 0x8  # MS_ and MOUNT_ATTR_: NOSUID, NODEV, NOEXEC
_READ_ONLY = 0x1  # MS_RDONLY, MOUNT_ATTR_RDONLY
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x20, 0x1000, 0x4000, 0x40000
_MNT_DETACH = 0x2
_KNOW_OWNERS = 0x100000  # MOUNT_ATTR_IDMAP
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH = 0x1, 0x4
_KEYCTL_JOIN_SESSION_KEYRING, _KEYCTL_SETPERM, _SESSION_KEYRING = 1, 5, -3
PR_SET_PDEATHSIG = 1
_PR_SET_NAME, _PR_SET_NO_NEW_PRIVS = 15, 38
_libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: object) -> int:
    """Returns the result of a function of the C library.

    Raises:
        OSError: the kernel refuses.
    """
    result = int(getattr(_libc, name)(*arguments))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def fork_into_namespaces(kinds: int) -> int:
    """Forks this process, which has one thread, into new namespaces, as `os.fork`.

    Raises:
        OSError: the kernel refuses, or the architecture is not known.
    """
    # A fork that is followed by `unshare`, and by a second fork for the namespace of processes, takes longer.
    return call("syscall", number("clone"), kinds | signal.SIGCHLD, None, None, None, None)


def mount(kind: str, place: str, flags: int = 0, options: str = "") -> None:
    """Mounts a new file system of a kind at a place; OSError if the kernel refuses."""
    flags_word = ctypes.c_ulong(flags)
    call("mount", kind.encode(), os.fsencode(place), kind.encode(), flags_word, options.encode() or None)


def bind(source: str, place: str, *, recursive: bool = False) -> None:
    """Binds a file or a folder to a place, with the mounts in it if recursive; OSError if that fails."""
    flags = ctypes.c_ulong(_MS_BIND | (_MS_REC if recursive else 0))
    call("mount", os.fsencode(source), os.fsencode(place), None, flags, None)


def keep_mounts_private() -> None:
    """Keeps the machine from seeing the mounts of this namespace, and the other way around."""
    call("mount", b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None)


def detach(place: str) -> None:
    """Removes the mount at a place, with those in it, for all that do not use it already."""
    call("umount2", os.fsencode(place), _MNT_DETACH)


def restrict(place: str) -> None:
    """Keeps the mounts at a place from being written to, and their devices and setuid programs from working.

    Args:
        place: the place, with all mounts in it.

    Raises:
        OSError: the kernel refuses.
    """
    attributes = struct.pack("QQQQ", _READ_ONLY | NO_SUID | NO_DEVICES, 0, 0, 0)
    size = ctypes.c_size_t(len(attributes))
    call("syscall", number("mount_setattr"), _AT_FDCWD, os.fsencode(place), _AT_RECURSIVE, attributes, size)


def make_read_only(place: str) -> None:
    """Keeps the file system that is mounted at a place from being written to; OSError if it is in use so."""
    call("mount", None, os.fsencode(place), None, ctypes.c_ulong(_MS_REMOUNT | _READ_ONLY), None)


def copy_mounts(place: str) -> int:
    """Returns a copy of the mounts at and below a place that is at no place yet, as an open file."""
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_RECURSIVE
    return call("syscall", number("open_tree"), _AT_FDCWD, os.fsencode(place), flags)


def know_owners(tree: int, place: str, owners: int) -> None:
    """Has files of a mount in a tree of `copy_mounts` belong to nobody unless a user namespace has the owner.

    Args:
        tree: the tree.
        place: the place of the mount in it; empty for its root.
        owners: the user namespace.

    Raises:
        OSError: the kind of file system cannot do that.
    """
    attributes = struct.pack("QQQQ", _KNOW_OWNERS, 0, 0, owners)
    size = ctypes.c_size_t(len(attributes))
    call("syscall", number("mount_setattr"), tree, os.fsencode(place), _AT_EMPTY_PATH, attributes, size)


@contextlib.contextmanager
def folder_to_attach(folder: int) -> Iterator[int]:
    """Yields a mount of an open folder that is at no place yet, as an open file; OSError if it cannot."""
    tree = call("syscall", number("open_tree"), folder, b"", _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_EMPTY_PATH)
    try:
        attributes = struct.pack("QQQQ", NO_SUID | NO_DEVICES, 0, _MS_PRIVATE, 0)
        size = ctypes.c_size_t(len(attributes))
        call("syscall", number("mount_setattr"), tree, b"", _AT_EMPTY_PATH, attributes, size)
        yield tree
    finally:
        os.close(tree)


def attach(tree: int, place: str) -> None:
    """Attaches a mount of `folder_to_attach` at a place of the present namespace."""
    call("syscall", number("move_mount"), tree, b"", _AT_FDCWD, os.fsencode(place), _MOVE_MOUNT_F_EMPTY_PATH)


def refuse_new_rights() -> None:
    """Keeps this thread, and all that it starts, from gaining rights by setuid programs, for good."""
    call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def end_with_parent() -> None:
    """Has the kernel kill this process when the thread that started it ends; a change of user undoes it."""
    call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def name_thread(name: bytes) -> None:
    """Gives this thread a name of 15 bytes at most, which others see in /proc."""
    call("prctl", _PR_SET_NAME, name, 0, 0, 0)


@contextlib.contextmanager
def making_files_as(user: int, group: int) -> Iterator[None]:
    """Gives the files and pipes that this thread makes during the block to somebody else."""
    before = _libc.setfsgid(group), _libc.setfsuid(user)
    try:
        yield
    finally:
        _libc.setfsuid(before[1])
        _libc.setfsgid(before[0])


def leave_keys() -> None:
    """Gives this thread, and all that it starts, a session keyring in which no key can be put or found."""
    with contextlib.suppress(OSError):  # the kernel has no keys, or the architecture is not known
        call("syscall", number("keyctl"), _KEYCTL_JOIN_SESSION_KEYRING, None)
        call("syscall", number("keyctl"), _KEYCTL_SETPERM, _SESSION_KEYRING, 0)
