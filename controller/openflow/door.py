"""The controller's door: turns the bytes of a switch into whole messages and checks all lengths in them.

The frameworks trust the lengths in a message: an element of length 0 traps their parsers in an endless loop,
and one that ends after its message makes them read past the end. Only the output of `Door` reaches them:
messages of the types that the controller reads, in which every length that a parser uses is checked. Types
that a switch may send unrequested and that the controller does not read are dropped here; all other types end
the connection, and so do multipart replies without a request. Parsing a reply of 64 KiB takes up to 30 ms, so
anyone who can connect could otherwise keep the controller from serving the switches.

Pure: bytes come in, messages go out.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar

_HEAD = struct.Struct("!BBHI")  # version, type, length, transaction id
_OPENFLOW_13, _OPENFLOW_15 = 4, 6
VERSIONS = {_OPENFLOW_13: "1.3", _OPENFLOW_15: "1.5"}

HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, _EXPERIMENTER, FEATURES_REPLY = 0, 1, 2, 3, 4, 6
_PACKET_IN, _FLOW_REMOVED, PORT_STATUS, _BARRIER_REPLY = 10, 11, 12, 21
_MULTIPART_REQUEST, _MULTIPART_REPLY = 18, 19
_ROLE_STATUS, _TABLE_STATUS, _REQUEST_FORWARD, _CONTROLLER_STATUS = 30, 31, 32, 35
_DROPPED = {_EXPERIMENTER, _PACKET_IN, _FLOW_REMOVED, _ROLE_STATUS, _TABLE_STATUS, _REQUEST_FORWARD}
_DROPPED |= {_CONTROLLER_STATUS}
_NEEDS_PORTS = {PORT_STATUS, _BARRIER_REPLY}  # dropped before the description of the ports
_RULES, _PORT_STATISTICS, _GROUPS, _PORTS = 1, 4, 7, 13  # types of multipart replies

_VERSION_BITMAP = 1  # type of a hello's element
_ELEMENT = struct.Struct("!HH")  # type and length
_LONGEST_ELEMENT = 64  # of a hello: bits for 480 versions
_PLAIN_HELLO = struct.Struct("!BBHIHHI")  # with one element, a bitmap of one word
_HELLO_FAILED, _EXPERIMENTER_ERROR = 0, 0xFFFF  # types of errors
_FEATURES = struct.Struct("!8xQ16x")  # the datapath's id
_MULTIPART = struct.Struct("!8xHH4x")  # type and flags
_MORE = 1
_STATUS_HEAD = 16  # bytes of a port status message before the port's description
_HALF = struct.Struct("!H")

# More than any switch of a fabric has; these limits bound the memory that one connection can consume.
MAX_PORTS = 4096
MAX_ENTRIES = 1 << 18  # rules or groups in one description, over all of its messages


def hello(versions: Iterable[int], xid: int) -> bytes:
    """Returns a hello that lists versions of OpenFlow."""
    listed = set(versions)
    bits = sum(1 << version for version in listed)
    return _PLAIN_HELLO.pack(max(listed), HELLO, _PLAIN_HELLO.size, xid, _VERSION_BITMAP, 8, bits)


def describes_ports(message: bytes) -> bool:
    """Returns whether a checked message is the reply with descriptions of ports."""
    return message[1] == _MULTIPART_REPLY and _MULTIPART.unpack_from(message)[0] == _PORTS


class MalformedMessage(ValueError):
    """A message that the controller rejects; the text says why."""


class Door:
    """The state of one connection: an incomplete message, and values that later messages must repeat.

    Attributes:
        version: the negotiated OpenFlow version; None before the switch's hello.
        datapath_id: the id that the switch claims; None until it does.
    """

    def __init__(self) -> None:
        self.version: int | None = None
        self.datapath_id: int | None = None
        self._received = bytearray()
        self._ports: set[int] = set()
        self._due: Counter[int] = Counter()  # type of multipart replies -> requests that are not yet answered
        self._describing = False  # whether a description of the ports has begun
        self._entries: dict[int, int] = {}  # type of an incomplete multipart reply -> its entries so far

    def messages(self, received: bytes) -> Iterator[bytes]:
        """Yields the messages that are complete after more bytes of the connection.

        Checks each message only when it is reached, so that a caller can do other work in between. A dropped
        message is yielded as empty bytes. The switch's hello is replaced by one that offers only the
        negotiated version.

        Args:
            received: the bytes that follow those of the last call; all messages of that call must have been
                taken.

        Raises:
            MalformedMessage: a message is malformed; all earlier messages have been yielded.
        """
        self._received += received
        start = 0
        try:
            while len(self._received) - start >= _HEAD.size:
                version, kind, length, xid = _HEAD.unpack_from(self._received, start)
                if length < _HEAD.size:
                    raise MalformedMessage(f"length of a message must be at least {_HEAD.size}, got {length}")
                if len(self._received) - start < length:
                    break
                message = bytes(self._received[start : start + length])
                start += length
                if self.version is None:
                    yield self._reduced_hello(version, kind, xid, message)
                else:
                    yield message if self._is_read(version, kind, message) else b""
        finally:
            del self._received[:start]

    def sent(self, messages: bytes) -> None:
        """Records which whole messages to the switch are requests: it may reply only to these."""
        place = 0
        while place < len(messages):
            _, kind, length, _ = _HEAD.unpack_from(messages, place)
            if kind == _MULTIPART_REQUEST:
                (reply,) = _HALF.unpack_from(messages, place + _HEAD.size)
                if reply != _PORTS:  # due since the features
                    self._due[reply] += 1
            place += length

    def _reduced_hello(self, version: int, kind: int, xid: int, message: bytes) -> bytes:
        """Returns a reduced hello that replaces a switch's first message, which must be a hello."""
        if kind != HELLO:
            raise MalformedMessage(f"first message must be a hello, got type {kind}")
        self.version = _negotiated_version(version, message)
        return hello([self.version], xid)

    def _is_read(self, version: int, kind: int, message: bytes) -> bool:
        """Checks a message and returns whether the controller reads its type."""
        # An echo reply has the version of its request, and Ryu sends one before the version is negotiated.
        if version != self.version and (kind != ECHO_REPLY or version not in VERSIONS):
            raise MalformedMessage(f"version of a message must be {self.version}, got {version}")
        if kind in _DROPPED or (kind in _NEEDS_PORTS and not self._describing):
            return False
        check = self._CHECKS.get(kind)
        if check is None:
            raise MalformedMessage(f"the controller does not read messages of type {kind}")
        check(self, message)
        return True

    def _check_error(self, message: bytes) -> None:
        _at_least(message, 12)
        (kind,) = _HALF.unpack_from(message, _HEAD.size)
        if kind == _HELLO_FAILED:
            raise MalformedMessage("the switch does not speak the controller's versions of OpenFlow")
        if kind == _EXPERIMENTER_ERROR:
            _at_least(message, 16)

    def _check_echo(self, message: bytes) -> None:
        pass  # any bytes may follow the header

    def _check_features(self, message: bytes) -> None:
        _exactly(message, _FEATURES.size)
        (claimed,) = _FEATURES.unpack(message)
        if self.datapath_id not in (None, claimed):
            raise MalformedMessage(f"datapath id of a connection must stay {self.datapath_id}, got {claimed}")
        if self.datapath_id is None:  # both runtimes request the ports next; the answer may come first
            self._due[_PORTS] = 1
        self.datapath_id = claimed

    def _check_port_status(self, message: bytes) -> None:
        _exactly(message, _STATUS_HEAD + self._port(message, _STATUS_HEAD))

    def _check_barrier(self, message: bytes) -> None:
        _exactly(message, _HEAD.size)

    def _check_multipart(self, message: bytes) -> None:
        _at_least(message, _MULTIPART.size)
        kind, flags = _MULTIPART.unpack_from(message)
        size = self._port if kind == _PORTS else _ENTRIES.get((self.version, kind))
        if size is None or not self._due[kind]:
            raise MalformedMessage(f"multipart replies of type {kind} were not requested")
        self._describing |= kind == _PORTS
        place, entries = _MULTIPART.size, self._entries.get(kind, 0)
        while place < len(message):
            place += size(message, place)
            entries += 1
        limit = MAX_PORTS if kind == _PORTS else MAX_ENTRIES
        if entries > limit:
            raise MalformedMessage(f"a description must have at most {limit} entries, got {entries}")
        self._entries[kind] = entries if flags & _MORE else 0
        if not flags & _MORE:
            self._due[kind] -= 1

    def _port(self, message: bytes, place: int) -> int:
        """Returns the length of a port's description, and counts the port."""
        size = _port_13(message, place) if self.version == _OPENFLOW_13 else _port_15(message, place)
        self._ports.add(int.from_bytes(message[place : place + 4]))
        if len(self._ports) > MAX_PORTS:
            raise MalformedMessage(f"a switch must have at most {MAX_PORTS} ports, got more")
        return size

    _CHECKS: ClassVar[dict[int, Callable[[Door, bytes], None]]] = {
        ERROR: _check_error,
        ECHO_REQUEST: _check_echo,
        ECHO_REPLY: _check_echo,
        FEATURES_REPLY: _check_features,
        PORT_STATUS: _check_port_status,
        _MULTIPART_REPLY: _check_multipart,
        _BARRIER_REPLY: _check_barrier,
    }


def _negotiated_version(version: int, hello: bytes) -> int:
    """Returns the negotiated version (OpenFlow 1.3.1, section 6.3.1).

    It is the latest version that both ends list. If the switch lists none, it is the earlier one of the
    versions in the headers of the two hellos.

    Args:
        version: the version in the header of the switch's hello.
        hello: the whole message.
    """
    offered = {min(version, _OPENFLOW_15)}
    place = _HEAD.size
    while place < len(hello):
        if len(hello) - place < _ELEMENT.size:
            raise MalformedMessage("a hello's last element is truncated")
        kind, length = _ELEMENT.unpack_from(hello, place)
        if not _ELEMENT.size <= length <= min(_LONGEST_ELEMENT, len(hello) - place):
            raise MalformedMessage(f"length {length} of a hello's element does not fit the message")
        if kind == _VERSION_BITMAP and length >= 8:
            bits = int.from_bytes(hello[place + 4 : place + 8])
            offered = {number for number in range(1, 32) if bits >> number & 1}
        place += length + 7 & ~7  # elements are padded to multiples of 8 bytes
    common = offered & VERSIONS.keys()
    if not common:
        names = ", ".join(f"1.{number - 1}" for number in sorted(offered)) or "none"
        raise MalformedMessage(f"hello must offer OpenFlow {' or '.join(VERSIONS.values())}, got {names}")
    return max(common)


# ---- entries of multipart replies: each function checks an entry and returns its length ----


def _rule_13(message: bytes, place: int) -> int:
    return _length(message, place, 56)


def _rule_15(message: bytes, place: int) -> int:
    return _length(message, place, 32)


def _group_13(message: bytes, place: int) -> int:
    size = _length(message, place, 8)
    at, end = place + 8, place + size
    while at < end:
        at += _length(message, at, 16, end)
    return size


def _group_15(message: bytes, place: int) -> int:
    size = _length(message, place, 16)
    (buckets,) = _HALF.unpack_from(message, place + 8)
    at, end = place + 16, place + 16 + buckets
    if end > place + size:
        raise MalformedMessage(f"buckets of a group must be within its {size} bytes, got {buckets} bytes")
    while at < end:
        bucket = _length(message, at, 8, end)
        (actions,) = _HALF.unpack_from(message, at + 2)
        if actions > bucket - 8:
            raise MalformedMessage(f"actions must be within a bucket of {bucket} bytes, got {actions} bytes")
        at += bucket
    return size


def _port_13(message: bytes, place: int) -> int:
    return _fixed(message, place, 64)


def _port_15(message: bytes, place: int) -> int:
    return _length(message, place, 40, at=4)


def _port_statistics_13(message: bytes, place: int) -> int:
    return _fixed(message, place, 112)


def _port_statistics_15(message: bytes, place: int) -> int:
    return _length(message, place, 80)


_ENTRIES: dict[tuple[int | None, int], Callable[[bytes, int], int]] = {
    (_OPENFLOW_13, _RULES): _rule_13,
    (_OPENFLOW_13, _GROUPS): _group_13,
    (_OPENFLOW_13, _PORT_STATISTICS): _port_statistics_13,
    (_OPENFLOW_15, _RULES): _rule_15,
    (_OPENFLOW_15, _GROUPS): _group_15,
    (_OPENFLOW_15, _PORT_STATISTICS): _port_statistics_15,
}


def _fixed(message: bytes, place: int, size: int) -> int:
    """Returns the size of an entry of fixed size, after checking that the message is long enough."""
    if len(message) - place < size:
        raise MalformedMessage(f"an entry must have {size} bytes, got {len(message) - place}")
    return size


def _length(message: bytes, place: int, least: int, end: int | None = None, *, at: int = 0) -> int:
    """Returns the length that an entry states, after checking it.

    Args:
        message: the whole message.
        place: offset of the entry.
        least: length of the shortest such entry.
        end: largest offset at which the entry may end; by default the end of the message.
        at: offset of the length within the entry.
    """
    room = (len(message) if end is None else end) - place
    _fixed(message, place, least)
    (length,) = _HALF.unpack_from(message, place + at)
    if not least <= length <= room or length % 8:
        raise MalformedMessage(f"length of an entry must be {least} to {room} in steps of 8, got {length}")
    return int(length)


def _at_least(message: bytes, size: int) -> None:
    if len(message) < size:
        raise MalformedMessage(
            f"length of message type {message[1]} must be at least {size}, got {len(message)}"
        )


def _exactly(message: bytes, size: int) -> None:
    if len(message) != size:
        raise MalformedMessage(f"length of message type {message[1]} must be {size}, got {len(message)}")
