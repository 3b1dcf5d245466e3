"""Settings of network interfaces: flags, MTU and checksums, in one namespace (netdevice(7))."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct

IFF_UP, IFF_PROMISC = 0x1, 0x100
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCSIFMTU, _SIOCETHTOOL = 0x8913, 0x8914, 0x8922, 0x8946
_ETHTOOL_STXCSUM = 0x17
_NAME_BYTES, _REQUEST_BYTES = 16, 40  # of struct ifreq


class InterfaceSettings:
    """The interfaces of the namespace in which it is made; methods raise OSError if the kernel refuses."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def __enter__(self) -> InterfaceSettings:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._socket.close()

    def add_flags(self, name: str, flags: int) -> None:
        """Sets flags of an interface, IFF_UP or IFF_PROMISC, and leaves all other flags."""
        answer = self._request(_SIOCGIFFLAGS, name, b"")
        present = struct.unpack_from("=H", answer, _NAME_BYTES)[0]
        self._request(_SIOCSIFFLAGS, name, struct.pack("=H", present | flags))

    def set_mtu(self, name: str, mtu: int) -> None:
        """Sets the longest packet that an interface sends, in bytes."""
        self._request(_SIOCSIFMTU, name, struct.pack("=i", mtu))

    def compute_checksums(self, name: str) -> None:
        """Has the kernel compute the checksums of sent packets, as `ethtool -K NAME tx off`."""
        setting = ctypes.create_string_buffer(struct.pack("=II", _ETHTOOL_STXCSUM, 0))
        self._request(_SIOCETHTOOL, name, struct.pack("@P", ctypes.addressof(setting)))

    def _request(self, number: int, name: str, value: bytes) -> bytes:
        words = name.encode().ljust(_NAME_BYTES, b"\0") + value
        return fcntl.ioctl(self._socket, number, words.ljust(_REQUEST_BYTES, b"\0"))
