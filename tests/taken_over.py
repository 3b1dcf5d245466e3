"""A live page's web process that somebody has taken over: its end of the channel to the fabric's process.

The process itself is stopped, and the test speaks in its place, as whoever runs code in it could.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import psutil

_PIDFD_GETFD = 438  # system call
_TIMEOUT_S = 30.0


def web_processes() -> list[psutil.Process]:
    """Returns the web processes that this one has started and that have not ended."""
    found = []
    for child in psutil.Process().children():
        try:
            command = child.cmdline()
        except psutil.NoSuchProcess:  # ended, and perhaps not waited for yet: a zombie has no command
            continue
        if "polarlab.web.service" in command:
            found.append(child)
    return found


class TakenOver:
    """The channel of a web process that is taken over."""

    def __init__(self, channel: socket.socket, lines: BinaryIO) -> None:
        self._channel, self._lines = channel, lines
        self._number = 2**40  # the process itself has not come so far

    def send(self, data: bytes) -> None:
        """Sends bytes, lines or not; raises OSError once the other end has had enough."""
        self._channel.sendall(data)

    def ask(self, action: str, arguments: Any) -> int:
        """Sends a request, with JSON or whatever has it encoded already, and returns its number."""
        self._number += 1
        content = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
        head = {"type": "ask", "number": self._number, "action": action}
        self.send(json.dumps(head)[:-1].encode() + b', "arguments": ' + content + b"}\n")
        return self._number

    def answer(self, number: int) -> dict[str, Any]:
        """Returns the answer to a request; other messages are passed over."""
        [answer] = self.answers([number])
        return answer

    def answers(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Returns the answers to some requests, in whatever order they come."""
        come: dict[int, dict[str, Any]] = {}
        for line in self._lines:
            message: dict[str, Any] = json.loads(line)
            if message["type"] == "answer":
                come[message["number"]] = message
            if come.keys() >= set(numbers):
                return [come[number] for number in numbers]
        raise ConnectionError("the fabric's process has closed the channel")

    def asked(self, action: str, arguments: Any) -> dict[str, Any]:
        """Returns the answer to a request that is made now."""
        return self.answer(self.ask(action, arguments))


@contextlib.contextmanager
def taken_over(process: psutil.Process) -> Iterator[TakenOver]:
    """Stops a web process during the block, and gives its end of the channel."""
    process.send_signal(signal.SIGSTOP)
    try:
        with (
            stolen_fd(process, int(process.cmdline()[-1])) as fd,
            socket.socket(fileno=os.dup(fd)) as channel,
        ):
            channel.settimeout(_TIMEOUT_S)
            with channel.makefile("rb") as lines:
                yield TakenOver(channel, lines)
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def stolen_fd(process: psutil.Process, fd: int) -> Iterator[int]:
    """Gives a descriptor of another process's open file."""
    pidfd = os.pidfd_open(process.pid)
    try:
        stolen = ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_GETFD, pidfd, fd, 0)
        assert stolen >= 0, os.strerror(ctypes.get_errno())
    finally:
        os.close(pidfd)
    try:
        yield stolen
    finally:
        os.close(stolen)
