"""TCP sockets of flows: congestion control, listening and connecting, and the kernel's counts."""

from __future__ import annotations

import errno
import socket
import struct
from pathlib import Path
from typing import NamedTuple

FLOW_PORT = 19_998
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_BACKLOG = 4096
# The kernel wakes the sender when fewer bytes than this wait to be sent, and the receiver when as many bytes
# have arrived, because waking up costs more than handling a packet.
_MAX_UNSENT_BYTES = 128 << 10
MAX_UNREAD_BYTES = 32 << 10
_SO_TIMESTAMPNS = 35
_TIMESTAMP = struct.Struct("=qq")
_TCP_NOTSENT_LOWAT = 25
_INFO_BYTES = 232
# Offsets in struct tcp_info (linux/tcp.h): segments out and in; bytes sent and retransmitted; out of order.
_SEGMENTS, _BYTES, _OUT_OF_ORDER = 136, 200, 224


def available_congestion_controls() -> list[str]:
    """Returns the names of the kernel's congestion control algorithms; an empty list if they are unknown."""
    return _AVAILABLE.read_text().split() if _AVAILABLE.exists() else []


def default_congestion_control() -> str:
    """Returns the kernel's default congestion control algorithm."""
    return _DEFAULT.read_text().strip() if _DEFAULT.exists() else "cubic"


class TcpCounts(NamedTuple):
    """Counts of one end of a connection (TCP_INFO).

    Attributes:
        sent_segments, received_segments: segments with or without data, including retransmissions.
        sent_bytes: payload bytes, including retransmissions.
        resent_bytes: retransmitted payload bytes.
        out_of_order: segments that arrived out of order.
    """

    sent_segments: int = 0
    received_segments: int = 0
    sent_bytes: int = 0
    resent_bytes: int = 0
    out_of_order: int = 0


def counts_of(connection: socket.socket) -> TcpCounts:
    """Returns the counts of one end of a connection; zeros if the kernel no longer has them."""
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    except OSError:
        return TcpCounts()
    info = info.ljust(_INFO_BYTES, b"\0")  # older kernels return a shorter struct
    segments = struct.unpack_from("=II", info, _SEGMENTS)
    return TcpCounts(
        *segments, *struct.unpack_from("=QQ", info, _BYTES), *struct.unpack_from("=I", info, _OUT_OF_ORDER)
    )


def open_listener(congestion_control: str) -> socket.socket:
    """Opens a socket that accepts flows in the current namespace."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)  # accepted connections inherit this option
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion_control.encode())
    listener.bind(("", FLOW_PORT))
    listener.listen(_BACKLOG)
    return listener


def open_connection(address: str, congestion_control: str) -> tuple[socket.socket, int]:
    """Opens a socket that connects to a host from the current namespace; returns it and its source port.

    Raises:
        OSError: the host cannot be reached.
    """
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion_control.encode())
        connection.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, _MAX_UNSENT_BYTES)
        number = connection.connect_ex((address, FLOW_PORT))
        if number not in (0, errno.EINPROGRESS):
            raise OSError(number, "cannot connect")
        return connection, connection.getsockname()[1]
    except OSError:
        connection.close()
        raise


def wait_for_bytes(connection: socket.socket, count: int) -> None:
    """Makes the kernel report a connection as readable when `count` bytes (at most MAX_UNREAD_BYTES) wait."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, max(1, min(count, MAX_UNREAD_BYTES)))


def discard(connection: socket.socket, buffer: bytearray) -> tuple[int, int]:
    """Discards the bytes that wait at a connection.

    Args:
        connection: the connection.
        buffer: memory whose length limits the number of bytes to discard; its content stays unchanged.

    Returns:
        The number of bytes, 0 at the end of the stream, and the arrival time of the last byte in ns since the
        epoch, 0 if unknown.

    Raises:
        BlockingIOError: no bytes wait.
        OSError: the connection has failed.
    """
    # With MSG_TRUNC, the kernel discards bytes of a TCP stream without copying them.
    count, ancillary, _, _ = connection.recvmsg_into([buffer], 64, socket.MSG_TRUNC)
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
            seconds, nanoseconds = _TIMESTAMP.unpack_from(data)
            return count, seconds * 1_000_000_000 + nanoseconds
    return count, 0


def reset(connection: socket.socket) -> None:
    """Closes a connection immediately; the other end receives a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
