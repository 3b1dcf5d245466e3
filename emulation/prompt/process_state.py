"""State of a process from /proc: where it waits, how often it has run, whether it is stopped or ending."""

from __future__ import annotations

import os
import re
import signal
import time
from typing import NamedTuple

_FLAGS, _EXITING = 6, 0x4  # index of the kernel's flags in `stat` after the process's name; PF_EXITING
_ENDED = ("Z", "X")
_MAX_BYTES = 6 << 20  # limit of a program's arguments and environment (execve(2))
_TERMINAL, _FIRST_DESCRIPTORS = "0x0", "0x1"  # read() of descriptor 0; select() among descriptors below 1


class Waiting(NamedTuple):
    """The point at which a process waits in the kernel.

    Attributes:
        call: number of the system call.
        argument: its first argument, as the kernel writes it.
        stack, instruction: the process's stack pointer and program counter.
    """

    call: str
    argument: str
    stack: str
    instruction: str

    @property
    def reads_terminal(self) -> bool:
        """Whether the process may be waiting for input from descriptor 0."""
        return self.argument in (_TERMINAL, _FIRST_DESCRIPTORS)


def process_file(pid: int, name: str, limit: int = _MAX_BYTES) -> bytes:
    """Returns the start of a file in a process's /proc folder; empty if the process or the file is gone.

    The length is limited because any user can make `environ` and `cmdline` of a process endless
    (PR_SET_MM_MAP).

    Args:
        pid: the process.
        name: the file.
        limit: limit of bytes; the default suffices for every environment with which a program can start.
    """
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read(limit)
    except OSError:
        return b""


def waiting_place(pid: int) -> Waiting | None:
    """Returns the point where a process waits; None if it does not wait or the kernel does not show it."""
    words = _content(pid, "syscall").split()
    if len(words) < 9:  # "running"
        return None
    return Waiting(words[0], words[1], words[-2], words[-1])


def switch_count(pid: int) -> int:
    """Returns the number of context switches of a process so far; 0 if it has ended."""
    return sum(map(int, re.findall(r"ctxt_switches:\s*(\d+)", _content(pid, "status"))))


def is_stopped(pid: int) -> bool:
    """Returns whether a process is stopped, by a signal or by its tracer."""
    return _content(pid, "stat").rpartition(")")[2].split()[:1] in (["T"], ["t"])


def is_ending(pid: int) -> bool:
    """Returns whether a process has ended, or has been killed and is about to end."""
    fields = _content(pid, "stat").rpartition(")")[2].split()
    if len(fields) <= _FLAGS or fields[0] in _ENDED or int(fields[_FLAGS]) & _EXITING:
        return True
    pending = re.findall(r"^(?:SigPnd|ShdPnd):\s*(\w+)", _content(pid, "status"), re.MULTILINE)
    return any(int(signals, 16) >> (signal.SIGKILL - 1) & 1 for signals in pending)


def children(pid: int) -> frozenset[int]:
    """Returns the running child processes of a single-threaded process."""
    return frozenset(_numbers(pid, f"task/{pid}/children"))


def descendants(pid: int, max_s: float) -> list[int]:
    """Returns the descendants of a process.

    Args:
        pid: the process.
        max_s: time limit of the search; descendants not found by then are missing.
    """
    end_s = time.monotonic() + max_s
    family, known = [pid], {pid}
    for one in family:
        if time.monotonic() > end_s:
            break
        started = {child for thread in _threads(one) for child in _numbers(one, f"task/{thread}/children")}
        family += sorted(started - known)
        known |= started
    return family[1:]


def tracers(pid: int) -> set[int]:
    """Returns the processes that trace threads of a process."""
    statuses = [_content(pid, f"task/{thread}/status") for thread in _threads(pid)]
    threads = {_number("TracerPid", status) for status in statuses} - {0}
    return {_number("Tgid", _content(thread, "status")) for thread in threads} - {0}


def _number(name: str, status: str) -> int:
    """Returns the number with a given name in a `status` file; 0 if it is missing."""
    match = re.search(rf"^{name}:\s*(\d+)", status, re.MULTILINE)
    return int(match[1]) if match else 0


def _threads(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def _numbers(pid: int, name: str) -> list[int]:
    return [int(word) for word in _content(pid, name).split()]


def _content(pid: int, name: str) -> str:
    return process_file(pid, name).decode(errors="replace")
