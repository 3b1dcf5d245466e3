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
from collections.abc import Iterator
from typing import Any

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

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._lines = channel.makefile("rb")
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
        for line in self._lines:
            message: dict[str, Any] = json.loads(line)
            if message["type"] == "answer" and message["number"] == number:
                return message
        raise ConnectionError("the fabric's process has closed the channel")

    def asked(self, action: str, arguments: Any) -> dict[str, Any]:
        """Returns the answer to a request that is made now."""
        return self.answer(self.ask(action, arguments))


@contextlib.contextmanager
def taken_over(process: psutil.Process) -> Iterator[TakenOver]:
    """Stops a web process during the block, and gives its end of the channel."""
    process.send_signal(signal.SIGSTOP)
    pidfd = os.pidfd_open(process.pid)
    try:
        fd = ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_GETFD, pidfd, int(process.cmdline()[-1]), 0)
        assert fd >= 0, os.strerror(ctypes.get_errno())
        with socket.socket(fileno=fd) as channel:
            channel.settimeout(_TIMEOUT_S)
            yield TakenOver(channel)
    finally:
        os.close(pidfd)
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGCONT)
