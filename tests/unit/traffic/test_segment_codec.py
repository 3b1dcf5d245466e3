"""Segments on the wire, read by scapy."""

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from topology.addressing import Host, format_ip, format_mac
from traffic.wire.layout import DESTINATION_PORT, SEGMENT_MAGIC
from traffic.wire.probe_frame import build_segment_head
from traffic.wire.segment_codec import DATA, HEAD, SEGMENT_BYTES, Head, Heads, Writer, genuine
from traffic.wire.tags import Tagger

TAGGER = Tagger(bytes(range(16)))
A, B, C = Host(0, 0, 0), Host(300, 1, 300), Host(7, 3, 7)


def frame_of(payload, source=A, destination=C):
    writer = Writer(Heads(build_segment_head(A, B, 9)), 1514, TAGGER)
    return bytes(writer.write(source.ip, destination.ip, 20_003, (7, 8, 9, DATA), 12345, payload))


def test_a_segment_is_an_ip_packet_between_the_two_hosts():
    frame = frame_of(b"abc" * 100)
    packet = Ether(frame)
    assert (packet.src, packet.dst) == (format_mac(A.mac), format_mac(C.mac))
    assert (packet[IP].src, packet[IP].dst) == (format_ip(A.ip), format_ip(C.ip))
    assert packet[IP].len == len(frame) - 14
    assert packet[IP].ttl == 64
    right = packet[IP].copy()
    del right.chksum
    assert IP(bytes(right)).chksum == packet[IP].chksum
    assert (packet[TCP].sport, packet[TCP].dport) == (20_003, DESTINATION_PORT)


def test_no_kernel_answers_a_segment():
    assert Ether(frame_of(b""))[TCP].flags == "R"


def test_a_written_segment_is_read_back():
    frame = frame_of(b"x" * 1000)
    head = Head(*HEAD.unpack_from(frame))
    assert head == Head(64, A.ip, C.ip, 20_003, 7, 8, 9, 1000, DATA, 12345)
    assert frame[SEGMENT_BYTES:] == b"x" * 1000
    assert frame[54:58] == SEGMENT_MAGIC.to_bytes(4, "big")
    assert frame[58:62] == (9).to_bytes(4, "big")


def test_a_frame_is_as_long_as_its_payload_needs():
    assert len(frame_of(b"")) == SEGMENT_BYTES
    assert len(frame_of(b"1234")) == SEGMENT_BYTES + 4


CHANGES = {"source": 26, "destination": 33, "port": 35, "number": 65, "message": 69, "segment": 73}
CHANGES |= {"kind": 76, "sent_ns": 78, "first bits of an acknowledgement": 86, "last bits": 101}


@pytest.mark.parametrize("place", CHANGES.values(), ids=CHANGES)
def test_a_segment_is_genuine_until_a_field_that_counts_is_another(place):
    frame = bytearray(frame_of(b"x" * 16))
    assert genuine(memoryview(frame), TAGGER)
    assert not genuine(memoryview(frame), Tagger(bytes(16)))
    frame[place] ^= 1
    assert not genuine(memoryview(frame), TAGGER)
