"""Finds processes that wait for packets, from /proc: TCP listeners, bound UDP sockets, packet sockets."""

from __future__ import annotations

import contextlib
import math
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import takewhile
from typing import Any

_LISTEN, _UNCONNECTED = b"0A", b"07"
# Socket table in /proc/PID/net -> state of sockets that wait for packets; None if the table has no states.
_TABLES = {
    "tcp": _LISTEN,
    "tcp6": _LISTEN,
    "udp": _UNCONNECTED,
    "udp6": _UNCONNECTED,
    "packet": None,
}
_SOCKET = re.compile(r"socket:\[(\d+)\]")
_Limit = Callable[[Iterable[Any]], Iterator[Any]]  # yields the values of an iterable until time is up


def listening_sessions(sessions: Collection[int], deadline_s: float = math.inf) -> set[int]:
    """Returns the sessions in which at least one process waits for packets.

    Args:
        sessions: session ids.
        deadline_s: time on the clock of `time.monotonic` at which the search ends; the sessions found by then
            are returned. The search has a limit because a host's programs may have any number of sockets.
    """
    limit = partial(takewhile, lambda _: time.monotonic() < deadline_s)
    listening: set[int] = set()
    waiting: dict[str, set[int]] = {}  # in each network namespace
    for pid in limit(filter(str.isdecimal, os.listdir("/proc"))):
        with contextlib.suppress(OSError):  # the process has ended meanwhile
            session = os.getsid(int(pid))
            if session not in sessions or session in listening:
                continue
            network = os.readlink(f"/proc/{pid}/ns/net")
            if network not in waiting:
                waiting[network] = _waiting(pid, limit)
            if not waiting[network].isdisjoint(_sockets(pid, limit)):
                listening.add(session)
    return listening


def _sockets(pid: str, limit: _Limit) -> Iterator[int]:
    """Yields the inodes of a process's sockets."""
    for name in limit(os.listdir(f"/proc/{pid}/fd")):
        with contextlib.suppress(OSError):  # closed meanwhile
            if match := _SOCKET.fullmatch(os.readlink(f"/proc/{pid}/fd/{name}")):
                yield int(match[1])


def _waiting(pid: str, limit: _Limit) -> set[int]:
    """Returns the inodes of all sockets that wait for packets in the network namespace of a process."""
    inodes: set[int] = set()
    for name, state in _TABLES.items():
        with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/net/{name}", "rb") as lines:
            next(lines, None)  # the heading
            for fields in map(bytes.split, limit(lines)):
                if state is None:
                    inodes.add(int(fields[-1]))
                elif fields[3] == state:
                    inodes.add(int(fields[9]))
    return inodes
