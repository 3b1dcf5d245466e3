"""State of a process as the kernel tells it: where it waits, how often it has run, whether it is stopped."""

from __future__ import annotations

import os
import re
import signal
import time
from typing import NamedTuple

_FLAGS, _EXITING = 6, 0x4  # place of the kernel's flags of a process in `stat`, behind its name; PF_EXITING
_ENDED = ("Z", "X")
_MOST_BYTES = 6 << 20  # of the arguments and the environment that a program may have (execve(2))
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


def process_file(pid: int, name: str, most: int = _MOST_BYTES) -> bytes:
    """Returns the beginning of a file of a process in /proc; empty if it has ended, or has none.

    Any user can make `environ` and `cmdline` of a process endless (PR_SET_MM_MAP).

    Args:
        pid: the process.
        name: the file.
        most: limit of bytes; by default, every environment that a program was started with fits.
    """
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read(most)
    except OSError:
        return b""


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
    """Returns whether a process is stopped, by a signal or by its tracer."""
    return _content(pid, "stat").rpartition(")")[2].split()[:1] in (["T"], ["t"])


def is_ending(pid: int) -> bool:
    """Returns whether a process has ended, or has been killed and only its end is still to come."""
    fields = _content(pid, "stat").rpartition(")")[2].split()
    if len(fields) <= _FLAGS or fields[0] in _ENDED or int(fields[_FLAGS]) & _EXITING:
        return True
    pending = re.findall(r"^(?:SigPnd|ShdPnd):\s*(\w+)", _content(pid, "status"), re.MULTILINE)
    return any(int(signals, 16) >> (signal.SIGKILL - 1) & 1 for signals in pending)


def children(pid: int) -> frozenset[int]:
    """Returns the processes that a process of one thread has started and that have not ended."""
    return frozenset(_numbers(pid, f"task/{pid}/children"))


def descendants(pid: int, most_s: float) -> list[int]:
    """Returns the processes that a process has started, those that these have started, and so on.

    Args:
        pid: the process.
        most_s: the time in which they are searched for; those found by then are returned.
    """
    end_s = time.monotonic() + most_s
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
    """Returns a number in a text of the kernel; 0 if it is not there."""
    found = re.search(rf"^{name}:\s*(\d+)", status, re.MULTILINE)
    return int(found[1]) if found else 0


def _threads(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def _numbers(pid: int, name: str) -> list[int]:
    return [int(word) for word in _content(pid, name).split()]


def _content(pid: int, name: str) -> str:
    return process_file(pid, name).decode(errors="replace")
