"""Makes a switch send its first frame, with OpenFlow 1.3 messages and without a program per switch.

To send it, the userspace datapath opens its packet sockets, whose buffers can then be enlarged.
"""

from __future__ import annotations

import socket
import struct
from pathlib import Path

from emulation.subprocesses import DEFAULT_TIMEOUT_S, CommandError

# A frame that matches no rule: its Ethernet type is reserved for experiments.
_FRAME = bytes.fromhex("ff" * 6 + "020000000000" + "88b5" + "00" * 46)
_HEAD = struct.Struct("!BBHI")  # version, type, length, transaction id
_VERSION = 4  # OpenFlow 1.3
_HELLO, _ERROR, _PACKET_OUT, _BARRIER_REQUEST, _BARRIER_REPLY = 0, 1, 13, 20, 21
_NO_BUFFER, _FROM_CONTROLLER = 0xFFFFFFFF, 0xFFFFFFFD
_PACKET_OUT_BODY = struct.Struct("!IIH6x")  # buffer, ingress port, length of the actions
_OUTPUT = struct.Struct("!HHIH6x")  # type, length, port, bytes for the controller


def trigger_frame(path: Path, port: int) -> socket.socket:
    """Makes a switch send a frame, and returns the connection on which it replies.

    Args:
        path: the Unix socket on which the switch accepts OpenFlow connections.
        port: number of the port.

    Raises:
        CommandError: the switch does not accept the connection.
    """
    action = _OUTPUT.pack(0, _OUTPUT.size, port, 0)
    body = _PACKET_OUT_BODY.pack(_NO_BUFFER, _FROM_CONTROLLER, len(action)) + action + _FRAME
    messages = ((_HELLO, b""), (_PACKET_OUT, body), (_BARRIER_REQUEST, b""))
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(DEFAULT_TIMEOUT_S)
    try:
        connection.connect(str(path))
        for kind, content in messages:
            connection.sendall(_HEAD.pack(_VERSION, kind, _HEAD.size + len(content), kind) + content)
    except OSError as error:
        connection.close()
        raise CommandError(f"cannot make {path.stem} send a frame: {error}") from error
    return connection


def await_frame(connection: socket.socket) -> None:
    """Waits until the switch has sent the frame, and closes the connection.

    Args:
        connection: the connection, from `trigger_frame`.

    Raises:
        CommandError: the switch refuses, closes the connection, or does not answer in time.
    """
    kind = None
    with connection, connection.makefile("rb") as replies:
        while kind != _BARRIER_REPLY:
            try:
                head = replies.read(_HEAD.size)
                _, kind, length, _ = _HEAD.unpack(head)
                body = replies.read(length - _HEAD.size)
            except (OSError, struct.error) as error:
                raise CommandError(f"a switch did not send its first frame: {error}") from error
            if kind == _ERROR:
                raise CommandError(f"a switch refused to send its first frame: error {body[:4].hex()}")
