"""Parsers for the rules, groups and ports that switches describe, limited to what the controller uses.

The frameworks' own parsers decode all actions, fields and properties, and trust their lengths. These parsers
read only what the controller compares or counts, from messages that `controller.openflow.door` has checked.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

BUCKET_13 = struct.Struct("!HHII4x")  # length, weight, watched port and group
BUCKET_15 = struct.Struct("!HHI")  # length, length of the actions, number
WEIGHT, WATCH_PORT, WATCH_GROUP = 0, 1, 2  # types of a bucket's properties in OpenFlow 1.5
WATCH_15 = struct.Struct("!HHI")  # type and length of the property, port or group
ANY = 0xFFFFFFFF  # port or group

_RULE_13, _RULE_15 = struct.Struct("!H22xQ"), struct.Struct("!H14xQ")  # length, cookie
_GROUP_13, _GROUP_15 = struct.Struct("!HBxI"), struct.Struct("!HBxIH6x")  # length, type, number, buckets
_PORT_13 = struct.Struct("!I4x6s2x16xII24x")  # number, address, configuration, state
_PORT_15 = struct.Struct("!IH2x6s2x16xII")  # number, length, address, configuration, state
_PORT_STATISTICS_15 = struct.Struct("!H2xI8x16x8xQ8xQ16x")  # length, number, bytes sent, packets dropped

Parser = Callable[[bytes, int], Any]  # arguments: message, offset; the signature of the frameworks' parsers


class Bucket(NamedTuple):
    """A bucket of a group, with the fields that OpenFlow 1.3 and 1.5 have in common.

    Attributes:
        weight: its weight; 0 except in select groups.
        port, group: the watched port and group; ANY if there is none.
        actions: its encoded actions; both versions encode the actions that occur in buckets identically.
    """

    weight: int
    port: int
    group: int
    actions: bytes

    def encoded(self) -> bytes:
        """Returns the bucket's encoding in OpenFlow 1.3."""
        length = BUCKET_13.size + len(self.actions)
        return BUCKET_13.pack(length, self.weight, self.port, self.group) + self.actions


class DescribedRule(NamedTuple):
    """A rule of a switch; `length` is the length of its description in bytes."""

    length: int
    cookie: int


class DescribedGroup(NamedTuple):
    """A group of a switch; `length` is the length of its description in bytes."""

    length: int
    type: int
    group_id: int
    buckets: Sequence[Bucket]


class DescribedPort(NamedTuple):
    """A port of a switch; `length` is the length of its description in bytes."""

    length: int
    port_no: int
    hw_addr: str
    config: int
    state: int


class PortStatistics(NamedTuple):
    """Counters of a port; `length` is the length of their description in bytes."""

    length: int
    port_no: int
    tx_bytes: int
    tx_dropped: int


def rule_13(message: bytes, place: int) -> DescribedRule:
    """Returns the rule at an offset of an OpenFlow 1.3 message."""
    return DescribedRule(*_RULE_13.unpack_from(message, place))


def rule_15(message: bytes, place: int) -> DescribedRule:
    """Returns the rule at an offset of an OpenFlow 1.5 message."""
    return DescribedRule(*_RULE_15.unpack_from(message, place))


def group_13(message: bytes, place: int) -> DescribedGroup:
    """Returns the group at an offset of an OpenFlow 1.3 message."""
    length, kind, number = _GROUP_13.unpack_from(message, place)
    buckets = []
    at, end = place + _GROUP_13.size, place + length
    while at < end:
        size, weight, port, group = BUCKET_13.unpack_from(message, at)
        buckets.append(Bucket(weight, port, group, message[at + BUCKET_13.size : at + size]))
        at += size
    return DescribedGroup(length, kind, number, buckets)


def group_15(message: bytes, place: int) -> DescribedGroup:
    """Returns the group at an offset of an OpenFlow 1.5 message."""
    length, kind, number, array = _GROUP_15.unpack_from(message, place)
    buckets = []
    at = place + _GROUP_15.size
    end = at + array
    while at < end:
        size, actions, _number = BUCKET_15.unpack_from(message, at)
        start = at + BUCKET_15.size
        watched = _watched(message[start + actions : at + size])
        buckets.append(Bucket(*watched, message[start : start + actions]))
        at += size
    return DescribedGroup(length, kind, number, buckets)


def port_13(message: bytes, place: int) -> DescribedPort:
    """Returns the port at an offset of an OpenFlow 1.3 message."""
    number, address, config, state = _PORT_13.unpack_from(message, place)
    return DescribedPort(_PORT_13.size, number, address.hex(":"), config, state)


def port_15(message: bytes, place: int) -> DescribedPort:
    """Returns the port at an offset of an OpenFlow 1.5 message."""
    number, length, address, config, state = _PORT_15.unpack_from(message, place)
    return DescribedPort(length, number, address.hex(":"), config, state)


def port_statistics_15(message: bytes, place: int) -> PortStatistics:
    """Returns the port counters at an offset of an OpenFlow 1.5 message."""
    return PortStatistics(*_PORT_STATISTICS_15.unpack_from(message, place))


def _watched(properties: bytes) -> tuple[int, int, int]:
    """Returns (weight, watched port, watched group) from a bucket's encoded properties."""
    weight, port, group = 0, ANY, ANY
    for kind, value in _properties(properties):
        if kind == WEIGHT:
            weight = value >> 16
        elif kind == WATCH_PORT:
            port = value
        elif kind == WATCH_GROUP:
            group = value
    return weight, port, group


def _properties(encoded: bytes) -> Iterator[tuple[int, int]]:
    """Yields the type of each property and the first four bytes of its value."""
    place = 0
    while place + WATCH_15.size <= len(encoded):
        kind, length, value = WATCH_15.unpack_from(encoded, place)
        yield kind, value
        place += max(length + 7 & ~7, WATCH_15.size)
