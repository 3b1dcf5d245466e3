"""Rights of other users on files, which a thread of root assumes for the duration of a block.

A thread's file-system identity (setfsuid(2), setfsgid(2)) and its supplementary groups decide what it may
open, create and rename. glibc's setgroups would change the groups of all threads; the system call changes
only those of the calling thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import pwd
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from topology.errors import MachineError

ROOT = 0
_NOGROUP = 65534  # for users unknown to the machine
_ID, _HIGHEST_ID = re.compile(r"0|[1-9][0-9]{0,9}"), (1 << 32) - 2  # the next number means "no change"
_SETGROUPS = {"x86_64": 116, "i686": 206, "armv7l": 206, "ppc64le": 81, "s390x": 206}
_SETGROUPS_GENERIC = 159  # aarch64, riscv64 and all later machines

_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def rights_of(user: int) -> Iterator[None]:
    """Runs the block with a user's rights on files, if this process runs as root.

    Args:
        user: user ID; for root, nothing changes.

    Yields:
        Nothing.

    Raises:
        MachineError: the kernel does not allow this process to change its identity.
    """
    if user == ROOT or os.geteuid() != ROOT:
        yield
        return
    group, groups = _groups(user, caller())
    before = os.getgroups()
    _set_groups(groups)
    group_before, user_before = _libc.setfsgid(group), _libc.setfsuid(user)
    try:
        if _libc.setfsuid(-1) != user or _libc.setfsgid(-1) != group:
            raise MachineError(
                f"root must be able to assume the rights of user {user} on files (CAP_SETUID, CAP_SETGID)"
            )
        yield
    finally:
        _libc.setfsuid(user_before)
        _libc.setfsgid(group_before)
        _set_groups(before)


def caller() -> tuple[int, int] | None:
    """Returns the IDs of the user who called sudo and of that user's group.

    Returns:
        (user, group); None without sudo, if this process does not run as root, or if an ID is invalid.
    """
    if os.geteuid() != ROOT:
        return None
    user, group = (_valid_id(os.environ.get(name, "")) for name in ("SUDO_UID", "SUDO_GID"))
    return None if user is None or group is None else (user, group)


def _valid_id(text: str) -> int | None:
    """Returns the ID that sudo wrote; None if it is not a valid user or group ID."""
    return int(text) if _ID.fullmatch(text) and int(text) <= _HIGHEST_ID else None


@lru_cache(maxsize=64)
def _groups(user: int, called: tuple[int, int] | None) -> tuple[int, tuple[int, ...]]:
    """Returns (id of the user's primary group, ids of all groups of the user).

    Args:
        user: the user's ID.
        called: (user, group) of the caller of sudo; for that user, this group replaces the one in the user
            database.
    """
    group = called[1] if called and called[0] == user else None
    try:
        entry = pwd.getpwuid(user)
    except KeyError:
        return _NOGROUP if group is None else group, ()
    group = entry.pw_gid if group is None else group
    return group, tuple(os.getgrouplist(entry.pw_name, group))


def _set_groups(groups: Sequence[int]) -> None:
    numbers = (ctypes.c_uint32 * len(groups))(*groups)
    call = _SETGROUPS.get(platform.machine(), _SETGROUPS_GENERIC)
    if _libc.syscall(call, len(groups), numbers):
        number = ctypes.get_errno()
        raise MachineError(f"root must be able to change its groups (CAP_SETGID): {os.strerror(number)}")
