"""Requests of the parent to the controller while it runs: the elements that are to be drained.

A local socket carries a message for each request, with all elements that are to be drained from then on, so
that the newest request alone counts.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable

_MESSAGE_BYTES = 1 << 17


def channel() -> tuple[socket.socket, socket.socket]:
    """Returns the two ends of a channel for `request_drain` and `requested_drain`."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def request_drain(connection: socket.socket, elements: Iterable[str]) -> None:
    """Requests from the controller at the other end to drain some elements, and no others.

    Args:
        connection: this end of the channel.
        elements: their names, as `switch:s3`; none to end all drains.

    Raises:
        OSError: the other end is closed.
    """
    connection.send(json.dumps({"drained": list(elements)}).encode())


def requested_drain(connection: socket.socket) -> tuple[str, ...] | None:
    """Returns the names in the newest request at the other end; None if none came since the last call."""
    newest = None
    while True:
        try:
            message = connection.recv(_MESSAGE_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return newest
        if not message:  # the parent has ended
            return newest
        newest = tuple(json.loads(message)["drained"])
