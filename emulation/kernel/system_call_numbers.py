"""Numbers of system calls that have no function in the C library, or that a filter names."""

from __future__ import annotations

import platform

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
