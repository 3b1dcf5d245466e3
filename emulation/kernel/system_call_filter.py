"""Filter of system calls: a short list of those that a process may not make, for good (seccomp(2)).

Namespaces do not keep a host's root from everything of the machine: a namespace of control groups of its own
lets it end the programs of whoever called sudo, keys belong to a user wherever that user is, and sockets of a
hypervisor have no namespace. Two processes that stop one another at their ends outlive SIGKILL.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import platform
import socket
import struct
from collections.abc import Iterable
from typing import NamedTuple

from emulation.kernel.system_calls import CLONE_NEWCGROUP, PR_SET_PDEATHSIG, call, number

_SET_FILTER, _ALLOW_SPECULATION = 1, 0x4  # SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO
# Instructions (struct sock_filter): load a word, and jump if it equals, is at least, or has bits of a value.
_INSTRUCTION = struct.Struct("=HBBI")
_LOAD, _RETURN, _IS, _AT_LEAST, _HAS = 0x20, 0x06, 0x15, 0x35, 0x45
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # places in struct seccomp_data
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "riscv64": 0xC00000F3}
_X32 = 0x40000000  # numbers of x86_64 with other sizes of words begin here
_PTRACE_OPTIONS = (0x15, 0x4200, 0x4206)  # PTRACE_OLDSETOPTIONS, SETOPTIONS, SEIZE
_TRACE_EXIT = 0x40


class _Test(NamedTuple):
    """What holds for the lower word of an argument of a call, or does not: an instruction, and its value."""

    argument: int
    jump: int
    value: int
    holds: bool = True


class _Refusal(NamedTuple):
    """A call that is refused with an error where all tests hold."""

    name: str
    error: int
    tests: tuple[_Test, ...] = ()


# The C library does without the calls that are unknown.
_UNKNOWN = (
    *("clone3", "add_key", "request_key", "keyctl"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register"),
)
_REFUSALS = (
    *(_Refusal(name, errno.ENOSYS) for name in _UNKNOWN),
    *(_Refusal(name, errno.EPERM, (_Test(0, _HAS, CLONE_NEWCGROUP),)) for name in ("clone", "unshare")),
    _Refusal("socket", errno.EPERM, (_Test(0, _IS, socket.AF_VSOCK),)),
    *(
        _Refusal("ptrace", errno.EPERM, (_Test(0, _IS, request), _Test(3, _HAS, _TRACE_EXIT)))
        for request in _PTRACE_OPTIONS
    ),
)
# Memory that no limit of a process counts, and large parts of the kernel.
_UNCOUNTED = (
    *("memfd_create", "memfd_secret", "shmget", "semget", "msgget", "mq_open"),
    *("bpf", "perf_event_open", "userfaultfd", "socket"),
)
# An open socket may be another process's, too, which finds it as this one leaves it.
_CHANGES_OF_SOCKETS = ("bind", "connect", "listen", "shutdown")
_REFUSALS_TO_THE_PAGE = (
    *(_Refusal(name, errno.EPERM) for name in (*_UNCOUNTED, *_CHANGES_OF_SOCKETS)),
    # All options but TCP's TCP_NODELAY, which asyncio sets.
    _Refusal("setsockopt", errno.EPERM, (_Test(1, _IS, socket.IPPROTO_TCP, holds=False),)),
    _Refusal("setsockopt", errno.EPERM, (_Test(2, _IS, socket.TCP_NODELAY, holds=False),)),
    _Refusal("mmap", errno.EPERM, (_Test(3, _HAS, mmap.MAP_SHARED),)),
    _Refusal("fcntl", errno.EPERM, (_Test(1, _IS, fcntl.F_SETPIPE_SZ),)),
    _Refusal("prctl", errno.EPERM, (_Test(0, _IS, PR_SET_PDEATHSIG),)),  # it ends with its parent
)


def filter_calls(*, of_the_page: bool = False) -> None:
    """Filters the calls of this thread and of all that it starts; it must not be able to gain rights.

    Args:
        of_the_page: whether memory that is not the process's own, new sockets, changes of open ones, and to
            outlive the parent are refused, too.

    Raises:
        OSError: the kernel refuses, or the architecture is not known.
    """
    content = _program((*_REFUSALS, *(_REFUSALS_TO_THE_PAGE if of_the_page else ())))
    instructions = ctypes.create_string_buffer(content, len(content))
    program = struct.pack("@HP", len(content) // _INSTRUCTION.size, ctypes.addressof(instructions))
    call("syscall", number("seccomp"), _SET_FILTER, _ALLOW_SPECULATION, program)


def _program(refusals: Iterable[_Refusal]) -> bytes:
    """Returns the instructions that refuse some calls, and all calls of other architectures."""
    unknown = _instruction(_RETURN, _REFUSE | errno.ENOSYS)
    parts = [_load(_ARCHITECTURE), _instruction(_IS, _ARCHITECTURES[platform.machine()], 1, 0), unknown]
    parts += [_load(_NUMBER), _instruction(_AT_LEAST, _X32, 0, 1), unknown]
    parts += [_refuse(refusal) for refusal in refusals]
    return b"".join(parts) + _instruction(_RETURN, _ALLOW)


def _refuse(refusal: _Refusal) -> bytes:
    """Returns the instructions of a refusal, before and after which the call's number is loaded."""
    end = _instruction(_RETURN, _REFUSE | refusal.error)
    if refusal.tests:
        end += _load(_NUMBER)
    for test in reversed(refusal.tests):
        further = len(end) // _INSTRUCTION.size - 1  # to the load at the end
        jumps = (0, further) if test.holds else (further, 0)
        end = _load(_ARGUMENTS + 8 * test.argument) + _instruction(test.jump, test.value, *jumps) + end
    further = len(end) // _INSTRUCTION.size
    return _instruction(_IS, number(refusal.name), 0, further) + end


def _load(place: int) -> bytes:
    return _instruction(_LOAD, place)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return _INSTRUCTION.pack(code, if_true, if_false, value)
