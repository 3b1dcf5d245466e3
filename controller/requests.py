"""Drain requests from the parent to the running controller.

A local socket carries one message per request. It names all links and switches to drain from then on, so only
the newest request counts.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable

_MESSAGE_BYTES = 1 << 17


def channel() -> tuple[socket.socket, socket.socket]:
    """Returns the two ends of a channel for `request_drain` and `requested_drain`."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def request_drain(connection: socket.socket, components: Iterable[str]) -> None:
    """Requests that the controller at the other end drain exactly these links and switches.

    Args:
        connection: this end of the channel.
        components: names of the links and switches, such as `switch:s3`; empty to end all drains.

    Raises:
        OSError: the other end is closed.
    """
    connection.send(json.dumps({"drained": list(components)}).encode())


def requested_drain(connection: socket.socket) -> tuple[str, ...] | None:
    """Returns the names in the newest request; None if there was none since the last call."""
    newest = None
    while True:
        try:
            message = connection.recv(_MESSAGE_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return newest
        if not message:  # the parent has ended
            return newest
        newest = tuple(json.loads(message)["drained"])
