"""Builds and parses probe frames with scapy, which no other module imports.

A probe is an Ethernet frame with an IPv4 header, a TCP header and the `Probe` layer:

    Ethernet 14 | IPv4 20 | TCP 20 | Probe 40 | zeros up to the frame's length

The IPv4 time to live (TTL) starts at 64 and every router decrements it, so that the TTL reveals the number of
hops. The TCP checksum is wrong on purpose: a host's kernel drops such segments silently, whereas it would
answer UDP packets to a closed port. Also, select groups of Open vSwitch hash TCP ports but not UDP ports. The
sequence number and the send time are followed by their complements; the tag (`traffic.wire.tags`) and its
complement are in the fields of TCP's sequence and acknowledgement numbers. Values and complements cancel out
in the checksum, which is therefore wrong for all values; the complements also reveal damaged probes.
"""

from __future__ import annotations

import struct

from scapy.fields import IntField, LongField
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw, bind_layers

from topology.addressing import INITIAL_TTL, Host, format_ip, format_mac
from traffic.wire.layout import (
    DESTINATION_PORT,
    HEADER_BYTES,
    MAGIC,
    SEGMENT_MAGIC,
    SOURCE_PORT_BASE,
    check_frame_bytes,
    offset_of,
)

_ALL_ONES = (1 << 64) - 1


class Probe(Packet):  # type: ignore[misc]
    """PolarLab's layer: a probe's run, sequence number and send time, with their complements."""

    name = "Probe"
    fields_desc = [  # noqa: RUF012  # scapy's convention
        IntField("magic", MAGIC),
        IntField("run", 0),
        LongField("sequence", 0),
        LongField("sent_ns", 0),
        LongField("sequence_check", _ALL_ONES),
        LongField("sent_check", _ALL_ONES),
    ]


class Segment(Packet):  # type: ignore[misc]
    """The first fields of a collective's segment; `traffic.wire.segment_codec` writes the rest."""

    name = "Segment"
    fields_desc = [IntField("magic", SEGMENT_MAGIC), IntField("run", 0)]  # noqa: RUF012


bind_layers(TCP, Probe, dport=DESTINATION_PORT)


def build_probe(
    source: Host,
    destination: Host,
    *,
    frame_bytes: int,
    run: int = 0,
    flow: int = 0,
    sequence: int = 0,
    sent_ns: int = 0,
) -> bytes:
    """Returns the frame of a probe, without a tag.

    Args:
        source: the sending host.
        destination: the receiving host.
        frame_bytes: length of the frame without FCS, at least HEADER_BYTES.
        run: the run's id, 32 bits.
        flow: the probe's flow within the host pair, from 0; determines the TCP source port.
        sequence: the probe's sequence number among the source's probes.
        sent_ns: send time in ns since the epoch.

    Raises:
        ParameterError: `frame_bytes` is too small.
    """
    check_frame_bytes(frame_bytes, frame_bytes)
    probe = Probe(
        run=run,
        sequence=sequence,
        sent_ns=sent_ns,
        sequence_check=sequence ^ _ALL_ONES,
        sent_check=sent_ns ^ _ALL_ONES,
    )
    frame = (
        Ether(src=format_mac(source.mac), dst=format_mac(destination.mac))
        / IP(src=format_ip(source.ip), dst=format_ip(destination.ip), ttl=INITIAL_TTL, flags="DF")
        / TCP(sport=SOURCE_PORT_BASE + flow, dport=DESTINATION_PORT, flags="A")
        / probe
        / Raw(bytes(frame_bytes - HEADER_BYTES))
    )
    return _with_wrong_checksum(bytes(frame))


def build_segment_head(source: Host, destination: Host, run: int) -> bytes:
    """Returns the first bytes of a segment's frame (`segment_codec`), up to and including the run's id."""
    frame = (
        Ether(src=format_mac(source.mac), dst=format_mac(destination.mac))
        / IP(src=format_ip(source.ip), dst=format_ip(destination.ip), ttl=INITIAL_TTL, flags="DF")
        / TCP(sport=SOURCE_PORT_BASE, dport=DESTINATION_PORT, flags="R")
        / Segment(run=run)
    )
    return bytes(frame)


def _with_wrong_checksum(frame: bytes) -> bytes:
    offset = offset_of("tcp_checksum")
    (correct,) = struct.unpack_from("!H", frame, offset)
    # Flips the last bit. Inverting all bits could fail: 0 and 0xFFFF are equal in ones' complement.
    return frame[:offset] + struct.pack("!H", correct ^ 1) + frame[offset + 2 :]


def parse_probe(frame: bytes) -> Ether | None:
    """Returns a frame's layers if it is a probe, else None."""
    packet = Ether(frame)
    return packet if Probe in packet and packet[Probe].magic == MAGIC else None
