"""Segments of collectives' messages, and their acknowledgements, as bytes on the wire.

A segment has the layout of a probe (`probe_frame`) up to the run's id, followed by these fields:

    number | message | segment | length | kind | zero | sent_ns | the message's bytes

The TCP header has the RST flag: kernels never answer such segments, whatever their checksum. The tag
(`traffic.wire.tags`) is in the field of TCP's sequence number. Acknowledgements have the highest number
received in `number`, their own number in `message`, and a bitmap of the latest numbers instead of the
message's bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from topology.addressing import MAC_PREFIX
from traffic.wire.layout import ACKNOWLEDGED_BITS, DESTINATION_PORT, ETHERNET_BYTES, offset_of
from traffic.wire.tags import TAG_BYTES, Tagger

DATA, ACKNOWLEDGEMENT = 1, 2

_COMMON = offset_of("run") + 4  # number of bytes that segments have in common with probes
_TAIL = struct.Struct("!IIIHBBQ")
SEGMENT_BYTES = _COMMON + _TAIL.size


class Head(NamedTuple):
    """Header fields of received segments: integers for one segment, or arrays for many."""

    ttl: Any
    source_ip: Any
    destination_ip: Any
    port: Any
    number: Any
    message: Any
    segment: Any
    length: Any
    kind: Any
    sent_ns: Any


def _head_format() -> str:
    """Returns the struct format of a Head, which skips the bytes between its fields."""
    text, position = "!", 0
    for name, code in (("ttl", "B"), ("ip_src", "I"), ("ip_dst", "I"), ("source_port", "H")):
        offset = offset_of(name)
        text += f"{offset - position}x{code}"
        position = offset + struct.calcsize("!" + code)
    return text + f"{_COMMON - position}xIIIHBxQ"


HEAD = struct.Struct(_head_format())
_PORTS = struct.Struct("!HH")
_PORTS_OFFSET = offset_of("source_port")
_IP_OFFSET = ETHERNET_BYTES
_IP_WORDS = struct.Struct("!10H")
ACKNOWLEDGEMENT_BYTES = ACKNOWLEDGED_BITS // 8
_TAG = slice(offset_of("tag"), offset_of("tag") + TAG_BYTES)
# The bytes that a tag covers: the header's addresses, source port and fields, and the first bytes of the
# payload, which are all of an acknowledgement. Payloads of data segments are compared with the data sent.
_ENDS = slice(offset_of("ip_src"), offset_of("destination_port"))
_CONTENT = slice(_COMMON, SEGMENT_BYTES + ACKNOWLEDGEMENT_BYTES)


def genuine(frame: memoryview, tagger: Tagger) -> bool:
    """Returns whether a frame has the correct tag."""
    return bool(frame[_TAG] == _tag(frame, tagger))


def _tag(frame: memoryview, tagger: Tagger) -> bytes:
    return tagger.tag(bytes(frame[_ENDS]) + frame[_CONTENT])


@dataclass(frozen=True)
class Heads:
    """Generates the first bytes of a run's segments from a frame that scapy built.

    Attributes:
        template: the first bytes of a segment, up to and including the run's id.
    """

    template: bytes

    @lru_cache(maxsize=1 << 16)  # noqa: B019  # one entry per host pair and length
    def head(self, source_ip: int, destination_ip: int, payload_bytes: int) -> bytes:
        """Returns a frame's bytes up to and including the run's id, with addresses and the IPv4 checksum."""
        head = bytearray(self.template)
        struct.pack_into("!HIHI", head, 0, MAC_PREFIX, destination_ip, MAC_PREFIX, source_ip)
        struct.pack_into("!H", head, _IP_OFFSET + 2, SEGMENT_BYTES - _IP_OFFSET + payload_bytes)
        struct.pack_into("!HII", head, _IP_OFFSET + 10, 0, source_ip, destination_ip)
        total = sum(_IP_WORDS.unpack_from(head, _IP_OFFSET))
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        struct.pack_into("!H", head, _IP_OFFSET + 10, total ^ 0xFFFF)
        return bytes(head)


class Writer:
    """Builds frames one at a time, all in the same buffer."""

    def __init__(self, heads: Heads, frame_bytes: int, tagger: Tagger) -> None:
        self._heads, self._tagger = heads, tagger
        self._frame = bytearray(frame_bytes)
        self._view = memoryview(self._frame)

    def write(
        self,
        source_ip: int,
        destination_ip: int,
        port: int,
        fields: tuple[int, int, int, int],
        sent_ns: int,
        payload: bytes | memoryview,
    ) -> memoryview:
        """Returns a frame, which is valid until the next one is written.

        Args:
            source_ip: the sending host's address.
            destination_ip: the receiving host's address.
            port: TCP source port, which identifies the flow.
            fields: number, message, segment, kind.
            sent_ns: send time in ns since the epoch.
            payload: the message's bytes.
        """
        number, message, segment, kind = fields
        length = len(payload)
        frame = self._frame
        frame[:_COMMON] = self._heads.head(source_ip, destination_ip, length)
        _PORTS.pack_into(frame, _PORTS_OFFSET, port, DESTINATION_PORT)
        _TAIL.pack_into(frame, _COMMON, number, message, segment, length, kind, 0, sent_ns)
        frame[SEGMENT_BYTES : SEGMENT_BYTES + length] = payload
        written = self._view[: SEGMENT_BYTES + length]
        frame[_TAG] = _tag(written, self._tagger)
        return written
