"""Filter that permanently refuses a short list of system calls (seccomp(2)).

Namespaces do not isolate a host's root from the machine completely. With its own cgroup namespace it could
kill programs of the user who called sudo; keys belong to a user in all namespaces; and hypervisor sockets
have no namespace. A lease on a file of that user delays whoever opens it for writing. Two processes that
trace each other's exit even outlive SIGKILL.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import socket
import struct
from collections.abc import Iterable
from typing import NamedTuple

from emulation.kernel.system_calls import CLONE_NEWCGROUP, call, number

# SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, SECCOMP_FILTER_FLAG_SPEC_ALLOW
_SET_FILTER, _ALL_THREADS, _ALLOW_SPECULATION = 1, 0x1, 0x4
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO
# Instructions (struct sock_filter): load a word; return; jump if the word equals a value, is at least that
# value, or has any of its bits.
_INSTRUCTION = struct.Struct("=HBBI")
_LOAD, _RETURN, _IS, _AT_LEAST, _HAS = 0x20, 0x06, 0x15, 0x35, 0x45
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "riscv64": 0xC00000F3}
_X32 = 0x40000000  # the system calls of the x32 ABI start here
_PTRACE_OPTIONS = (0x15, 0x4200, 0x4206)  # PTRACE_OLDSETOPTIONS, SETOPTIONS, SEIZE
_TRACE_EXIT = 0x40
_SO_TXTIME, _AF_VSOCK = 61, 40
_F_SETLEASE, _F_NOTIFY = 1024, 1026


class _Test(NamedTuple):
    """A test of the low 32 bits of a system call's argument.

    Attributes:
        argument: index of the argument, from 0.
        jump: the filter's jump instruction that compares.
        value: the value to compare with.
        holds: whether the comparison must hold for the test to pass.
    """

    argument: int
    jump: int
    value: int
    holds: bool = True


class _Refusal(NamedTuple):
    """A system call that fails with the given errno if all tests pass."""

    name: str
    error: int
    tests: tuple[_Test, ...] = ()


# These calls pretend not to exist (ENOSYS); the C library has fallbacks for them.
_UNKNOWN = (
    *("clone3", "add_key", "request_key", "keyctl"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register"),
)
_REFUSALS = (
    *(_Refusal(name, errno.ENOSYS) for name in _UNKNOWN),
    *(_Refusal(name, errno.EPERM, (_Test(0, _HAS, CLONE_NEWCGROUP),)) for name in ("clone", "unshare")),
    _Refusal("socket", errno.EPERM, (_Test(0, _IS, _AF_VSOCK),)),
    # SO_TXTIME sets the launch times of packets. With it a host could choose when segments that it sends to
    # itself arrive.
    _Refusal("setsockopt", errno.EPERM, (_Test(1, _IS, socket.SOL_SOCKET), _Test(2, _IS, _SO_TXTIME))),
    # A lease or a notification makes others wait who open the file, and a host can read files of others.
    *(_Refusal("fcntl", errno.EPERM, (_Test(1, _IS, one),)) for one in (_F_SETLEASE, _F_NOTIFY)),
    *(
        _Refusal("ptrace", errno.EPERM, (_Test(0, _IS, request), _Test(3, _HAS, _TRACE_EXIT)))
        for request in _PTRACE_OPTIONS
    ),
)
# The page has loaded and opened all that it needs before. If it does not run as root, it has the rights of a
# user whose files, processes, sockets and memory it must not reach, not even by calls that future kernels
# add. So these are all that it may make.
_OF_THE_PAGE = (
    *("read", "write", "readv", "writev", "close", "fstat", "lseek", "fcntl", "ioctl"),
    *("poll", "ppoll", "epoll_wait", "epoll_pwait", "epoll_pwait2", "epoll_ctl"),
    *("accept", "accept4", "recvfrom", "recvmsg", "sendto", "sendmsg"),
    *("getsockname", "getpeername", "getsockopt", "setsockopt"),
    *("mmap", "mremap", "munmap", "mprotect", "madvise", "brk"),
    *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall", "tgkill"),
    *("futex", "set_robust_list", "rseq", "sched_yield", "sched_getaffinity"),
    *("nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "time"),
    *("getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid", "getrusage", "prlimit64"),
    *("getrandom", "exit", "exit_group"),
)
_FIONBIO = 0x5421
_COMMANDS_OF_FCNTL = (fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL, fcntl.F_SETFL, fcntl.F_DUPFD_CLOEXEC)
_WAITS_AND_WAKES = (0, 1, 3, 4, 5, 9, 10)  # operations of futex(2) without priority inheritance
_FLAGS_OF_FUTEX = (0, 128, 256, 128 | 256)  # FUTEX_PRIVATE_FLAG, FUTEX_CLOCK_REALTIME
_FIRST_CLOCK_OF_A_PROCESS = 1 << 31  # its number has the bits of the process id, inverted
_REFUSALS_TO_THE_PAGE = (
    # An open socket may be shared with another process, which would be affected by any change. asyncio sets
    # TCP_NODELAY.
    _Refusal("setsockopt", errno.EPERM, (_Test(1, _IS, socket.IPPROTO_TCP, holds=False),)),
    _Refusal("setsockopt", errno.EPERM, (_Test(2, _IS, socket.TCP_NODELAY, holds=False),)),
    # Only special protocols need urgent data, whose code in the kernel had exploitable errors.
    *(
        _Refusal(name, errno.EPERM, (_Test(argument, _HAS, socket.MSG_OOB),))
        for name, argument in (("sendto", 3), ("sendmsg", 2), ("recvfrom", 3), ("recvmsg", 2))
    ),
    # With others it sends signals to processes, and changes the capacity of pipes.
    _Refusal("fcntl", errno.EPERM, tuple(_Test(1, _IS, one, holds=False) for one in _COMMANDS_OF_FCNTL)),
    _Refusal("ioctl", errno.EPERM, (_Test(1, _IS, _FIONBIO, holds=False),)),
    # Limits of a process do not count shared memory.
    _Refusal("mmap", errno.EPERM, (_Test(3, _HAS, mmap.MAP_SHARED),)),
    # Only its own values: without root, the answers would show which other processes run.
    *(
        _Refusal(name, errno.EPERM, (_Test(0, _IS, 0, holds=False),))
        for name in ("prlimit64", "sched_getaffinity")
    ),
    *(
        _Refusal(name, errno.EPERM, (_Test(0, _AT_LEAST, _FIRST_CLOCK_OF_A_PROCESS),))
        for name in ("clock_gettime", "clock_getres", "clock_nanosleep")
    ),
    # With priority inheritance, the kernel looks for the thread whose number is in the word.
    _Refusal(
        "futex",
        errno.EPERM,
        tuple(_Test(1, _IS, one | flag, holds=False) for one in _WAITS_AND_WAKES for flag in _FLAGS_OF_FUTEX),
    ),
)


def filter_calls(*, of_the_page: bool = False) -> None:
    """Filters the system calls of this thread and all its descendants; those of the page, in all threads.

    The thread must have called `set_no_new_privileges`.

    Args:
        of_the_page: whether this is the process of the live page, which may make only the few calls that it
            needs to serve.

    Raises:
        OSError: the kernel refuses, or the architecture is unknown.
    """
    if of_the_page:
        other_process = _Test(0, _IS, os.getpid(), holds=False)
        refusals = (*_REFUSALS, *_REFUSALS_TO_THE_PAGE, _Refusal("tgkill", errno.EPERM, (other_process,)))
        content, flags = _program(refusals) + _only(_OF_THE_PAGE), _ALLOW_SPECULATION | _ALL_THREADS
    else:  # PolarLab's process has one thread that starts programs on hosts; no other is filtered
        content, flags = _program(_REFUSALS) + _instruction(_RETURN, _ALLOW), _ALLOW_SPECULATION
    instructions = ctypes.create_string_buffer(content, len(content))
    program = struct.pack("@HP", len(content) // _INSTRUCTION.size, ctypes.addressof(instructions))
    if thread := call("syscall", number("seccomp"), _SET_FILTER, flags, program):
        raise OSError(errno.EBUSY, f"thread {thread} has a filter of its own")


def _program(refusals: Iterable[_Refusal]) -> bytes:
    """Returns the part of a filter that refuses the given calls, and all calls of other architectures."""
    unknown = _instruction(_RETURN, _REFUSE | errno.ENOSYS)
    parts = [_load(_ARCHITECTURE), _instruction(_IS, _ARCHITECTURES[platform.machine()], 1, 0), unknown]
    parts += [_load(_NUMBER), _instruction(_AT_LEAST, _X32, 0, 1), unknown]
    parts += [_refuse(refusal) for refusal in refusals]
    return b"".join(parts)


def _only(names: Iterable[str]) -> bytes:
    """Returns the end of a filter program that allows the named calls alone."""
    allowed = (_instruction(_IS, number(name), 0, 1) + _instruction(_RETURN, _ALLOW) for name in names)
    return b"".join(allowed) + _instruction(_RETURN, _REFUSE | errno.EPERM)


def _refuse(refusal: _Refusal) -> bytes:
    """Returns the filter instructions that refuse one system call if all its tests pass.

    They expect the number of the call in the accumulator, and restore it if the call is not refused.
    """
    end = _instruction(_RETURN, _REFUSE | refusal.error)
    if refusal.tests:
        end += _load(_NUMBER)
    for test in reversed(refusal.tests):
        further = len(end) // _INSTRUCTION.size - 1  # jump to the load at the end
        jumps = (0, further) if test.holds else (further, 0)
        end = _load(_ARGUMENTS + 8 * test.argument) + _instruction(test.jump, test.value, *jumps) + end
    further = len(end) // _INSTRUCTION.size
    return _instruction(_IS, number(refusal.name), 0, further) + end


def _load(place: int) -> bytes:
    return _instruction(_LOAD, place)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return _INSTRUCTION.pack(code, if_true, if_false, value)
