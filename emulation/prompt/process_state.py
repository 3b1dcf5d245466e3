"""State of a process as the kernel tells it: where it waits, how often it has run, whether it is stopped."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import NamedTuple

_FLAGS, _EXITING = 6, 0x4  # place of the kernel's flags of a process in `stat`, behind its name; PF_EXITING
_ENDED = ("Z", "X")
_TERMINAL, _FIRST_DESCRIPTORS = "0x0", "0x1"  # read() of descriptor 0; select() among descriptors below 1


class Waiting(NamedTuple):
    """A place where a process waits in the kernel.

    Attributes:
        call: number of the system call.
        argument: its first argument, as the kernel writes it.
        stack, instruction: addresses of the process's stack and program.
    """

    call: str
    argument: str
    stack: str
    instruction: str

    @property
    def reads_terminal(self) -> bool:
        """Whether it may be waiting for input by descriptor 0."""
        return self.argument in (_TERMINAL, _FIRST_DESCRIPTORS)


def waiting_place(pid: int) -> Waiting | None:
    """Returns the place where a process waits; None if it does not wait, or the kernel does not tell."""
    words = _content(pid, "syscall").split()
    if len(words) < 9:  # "running"
        return None
    return Waiting(words[0], words[1], words[-2], words[-1])


def switch_count(pid: int) -> int:
    """Returns the number of times that a process has stopped running; 0 if it has ended."""
    return sum(map(int, re.findall(r"ctxt_switches:\s*(\d+)", _content(pid, "status"))))


def is_stopped(pid: int) -> bool:
    """Returns whether a process is stopped by a signal."""
    return _content(pid, "stat").rpartition(")")[2].split()[:1] == ["T"]


def is_ending(pid: int) -> bool:
    """Returns whether a process has ended, or has been killed and only its end is still to come."""
    fields = _content(pid, "stat").rpartition(")")[2].split()
    if len(fields) <= _FLAGS or fields[0] in _ENDED or int(fields[_FLAGS]) & _EXITING:
        return True
    pending = re.findall(r"^(?:SigPnd|ShdPnd):\s*(\w+)", _content(pid, "status"), re.MULTILINE)
    return any(int(signals, 16) >> (signal.SIGKILL - 1) & 1 for signals in pending)


def children(pid: int) -> frozenset[int]:
    """Returns the processes that a process of one thread has started and that have not ended."""
    return frozenset(map(int, _content(pid, f"task/{pid}/children").split()))


def _content(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""
