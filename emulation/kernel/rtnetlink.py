"""Requests to the kernel about addresses and queues of interfaces, in one namespace (rtnetlink(7))."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from ipaddress import IPv4Interface

NEW_ADDRESS, NEW_DISCIPLINE, DELETE_DISCIPLINE, GET_DISCIPLINE = 20, 36, 37, 38
_REQUEST, _ACKNOWLEDGE, _DUMP, _NEW = 0x1, 0x4, 0x300, 0x200 | 0x400  # _NEW: NLM_F_EXCL | NLM_F_CREATE
_ERROR, _DONE = 2, 3
_HEAD, _NUMBER = struct.Struct("=IHHII"), struct.Struct("=i")  # length, type, flags, sequence, sender
_ATTRIBUTE = struct.Struct("=HH")  # length, type
_ADDRESS_BODY = struct.Struct("=BBBBI")  # family, prefix length, flags, scope, interface
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_RECEIVE_BYTES = 1 << 16
_TIMEOUT_S = 10.0

Attributes = dict[int, bytes]


class RouteSocket:
    """A netlink connection to the kernel, in the namespace in which it is created."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.settimeout(_TIMEOUT_S)

    def __enter__(self) -> RouteSocket:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._socket.close()

    def request(self, kind: int, body: bytes, *, new: bool = False) -> None:
        """Makes a request and returns when it is done.

        Args:
            kind: type of the request, one of the module's constants.
            body: the request without its header.
            new: whether the request creates an object that must not exist yet.

        Raises:
            OSError: the kernel refuses.
        """
        self._send(kind, _REQUEST | _ACKNOWLEDGE | (_NEW if new else 0), body)
        for _kind, _content in self._messages():
            pass

    def dump(self, kind: int, body: bytes) -> Iterator[bytes]:
        """Yields the bodies of all messages in the reply to a request for a list.

        Raises:
            OSError: the kernel refuses.
        """
        self._send(kind, _REQUEST | _DUMP, body)
        for _kind, content in self._messages():
            yield content

    def _send(self, kind: int, flags: int, body: bytes) -> None:
        self._socket.send(_HEAD.pack(_HEAD.size + len(body), kind, flags, 1, 0) + body)

    def _messages(self) -> Iterator[tuple[int, bytes]]:
        """Yields (type, body) for the messages of a reply, except the last one, which ends it."""
        while True:
            data = self._socket.recv(_RECEIVE_BYTES)
            position = 0
            while position < len(data):
                length, kind, *_ = _HEAD.unpack_from(data, position)
                content = data[position + _HEAD.size : position + length]
                if kind in (_ERROR, _DONE):
                    number = -_NUMBER.unpack_from(content)[0]
                    if number:
                        raise OSError(number, os.strerror(number))
                    return
                yield kind, content
                position += _padded(length)


def attribute(kind: int, content: bytes) -> bytes:
    """Returns an attribute of a request; its content may be other attributes."""
    length = _ATTRIBUTE.size + len(content)
    return (_ATTRIBUTE.pack(length, kind) + content).ljust(_padded(length), b"\0")


def attributes(data: bytes) -> Attributes:
    """Returns type -> content for the attributes in a message."""
    contents: Attributes = {}
    position = 0
    while position + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, position)
        contents[kind] = data[position + _ATTRIBUTE.size : position + length]
        position += max(_padded(length), _ATTRIBUTE.size)
    return contents


def add_address(kernel: RouteSocket, interface: int, address: str) -> None:
    """Adds an IPv4 address to an interface, like `ip addr add`.

    Args:
        kernel: connection in the interface's namespace.
        interface: the interface's index.
        address: address and prefix length, such as 10.0.0.1/8.

    Raises:
        OSError: the kernel refuses.
    """
    parsed = IPv4Interface(address)
    body = _ADDRESS_BODY.pack(socket.AF_INET, parsed.network.prefixlen, 0, 0, interface)
    for kind in (_IFA_LOCAL, _IFA_ADDRESS):
        body += attribute(kind, parsed.packed)
    kernel.request(NEW_ADDRESS, body, new=True)


def _padded(length: int) -> int:
    return (length + 3) & ~3
