"""Settings of network interfaces, made by system calls in the namespace of the calling thread (netdevice(7)).

Each would otherwise take a program (`ip`, `ethtool`), whose start costs more than all that it does.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from ipaddress import IPv4Interface

IFF_UP, IFF_PROMISC = 0x1, 0x100
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCSIFMTU, _SIOCETHTOOL = 0x8913, 0x8914, 0x8922, 0x8946
_ETHTOOL_STXCSUM = 0x17
_NAME_BYTES, _REQUEST_BYTES = 16, 40  # of struct ifreq
_NLMSG_HEAD, _ADDRESS_BODY = struct.Struct("=IHHII"), struct.Struct("=BBBBI")
_ATTRIBUTE = struct.Struct("=HH4s")
_RTM_NEWADDR, _NLMSG_ERROR = 20, 2
_REQUEST_NEW = 0x1 | 0x4 | 0x200 | 0x400  # NLM_F_REQUEST, NLM_F_ACK, NLM_F_EXCL, NLM_F_CREATE
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_ANSWER_BYTES = 4096


class Interfaces:
    """The interfaces of the namespace in which the object was made; all methods raise OSError if refused."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def __enter__(self) -> Interfaces:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._socket.close()

    def set_flags(self, name: str, flags: int) -> None:
        """Sets flags of an interface, IFF_UP or IFF_PROMISC, and leaves all other flags."""
        answer = self._request(_SIOCGIFFLAGS, name, b"")
        present = struct.unpack_from("=H", answer, _NAME_BYTES)[0]
        self._request(_SIOCSIFFLAGS, name, struct.pack("=H", present | flags))

    def set_mtu(self, name: str, mtu: int) -> None:
        """Sets the longest packet that an interface sends, in bytes."""
        self._request(_SIOCSIFMTU, name, struct.pack("=i", mtu))

    def send_with_checksums(self, name: str) -> None:
        """Has the kernel compute the checksums of sent packets, as `ethtool -K NAME tx off`."""
        setting = ctypes.create_string_buffer(struct.pack("=II", _ETHTOOL_STXCSUM, 0))
        self._request(_SIOCETHTOOL, name, struct.pack("@P", ctypes.addressof(setting)))

    def _request(self, number: int, name: str, value: bytes) -> bytes:
        words = name.encode().ljust(_NAME_BYTES, b"\0") + value
        return fcntl.ioctl(self._socket, number, words.ljust(_REQUEST_BYTES, b"\0"))


def add_address(name: str, address: str) -> None:
    """Adds an IPv4 address to an interface, as `ip addr add`.

    Args:
        name: the interface.
        address: address and length of its prefix, as 10.0.0.1/16.

    Raises:
        OSError: the kernel refuses.
    """
    parsed = IPv4Interface(address)
    body = _ADDRESS_BODY.pack(socket.AF_INET, parsed.network.prefixlen, 0, 0, socket.if_nametoindex(name))
    for kind in (_IFA_LOCAL, _IFA_ADDRESS):
        body += _ATTRIBUTE.pack(_ATTRIBUTE.size, kind, parsed.packed)
    head = _NLMSG_HEAD.pack(_NLMSG_HEAD.size + len(body), _RTM_NEWADDR, _REQUEST_NEW, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.sendto(head + body, (0, 0))
        answer = kernel.recv(_ANSWER_BYTES)
    kind = _NLMSG_HEAD.unpack_from(answer)[1]
    number = -struct.unpack_from("=i", answer, _NLMSG_HEAD.size)[0] if kind == _NLMSG_ERROR else 0
    if number:
        raise OSError(number, os.strerror(number))
