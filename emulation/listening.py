"""Processes that wait for packets at a socket, by /proc: TCP listeners, bound UDP and packet sockets."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection
from pathlib import Path

_LISTEN, _UNCONNECTED = "0A", "07"
# Tables of sockets in /proc/PID/net -> state of those that wait for packets; None where there is no state.
_TABLES = {
    "tcp": _LISTEN,
    "tcp6": _LISTEN,
    "udp": _UNCONNECTED,
    "udp6": _UNCONNECTED,
    "packet": None,
}
_SOCKET = re.compile(r"socket:\[(\d+)\]")


def listening_sessions(sessions: Collection[int], proc: Path = Path("/proc")) -> set[int]:
    """Returns those sessions of processes of which one waits for packets.

    Args:
        sessions: numbers of sessions.
        proc: the file system of processes.
    """
    listening = set()
    for process in proc.glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            session = _session(process)
            if session in sessions and session not in listening and _sockets(process) & _waiting(process):
                listening.add(session)
    return listening


def _session(process: Path) -> int:
    # The fourth field after the command, which any bytes may be in.
    return int((process / "stat").read_bytes().rpartition(b")")[2].split()[3])


def _sockets(process: Path) -> set[str]:
    """Returns the inodes of a process's sockets."""
    links = []
    for entry in (process / "fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            links.append(os.readlink(entry))
    return {match[1] for match in map(_SOCKET.fullmatch, links) if match}


def _waiting(process: Path) -> set[str]:
    """Returns the inodes of the sockets that wait for packets in the network namespace of a process."""
    inodes = set()
    for name, state in _TABLES.items():
        table = process / "net" / name
        lines = table.read_text().splitlines()[1:] if table.exists() else []
        for fields in map(str.split, lines):
            if state is None:
                inodes.add(fields[-1])
            elif fields[3] == state:
                inodes.add(fields[9])
    return inodes
