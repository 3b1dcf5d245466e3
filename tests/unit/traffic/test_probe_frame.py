"""Probe frames: scapy's and numpy's agree byte for byte, checksums are as designed, damage is recognised."""

import struct
from hashlib import blake2s

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from topology.addressing import Host, hosts_of
from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly
from traffic.wire.layout import HEADER, HEADER_BYTES, check_frame_bytes
from traffic.wire.probe_codec import FrameBuffer, genuine, intact, read_headers
from traffic.wire.probe_frame import Probe, build_probe, parse_probe
from traffic.wire.tags import Tagger

FIRST, SECOND = hosts_of(PolarFly(2), 1)[:2]
U32, U64 = 2**32 - 1, 2**64 - 1
KEY = bytes(range(16))

hosts = st.integers(0, 65535).flatmap(lambda n: st.builds(Host, st.just(n), st.integers(0, 253), st.just(n)))
probes = st.fixed_dictionaries(
    {
        "source": hosts,
        "destination": hosts,
        "flow": st.integers(0, 4095),
        "sequence": st.integers(0, 2**63 - 1),
        "sent_ns": st.integers(0, U64),
    }
)
FIELDS = ("source", "destination", "flow", "sequence", "sent_ns")


def ones_complement_sum(data: bytes) -> int:
    """Returns the sum of RFC 1071, 0xFFFF over data with a right checksum."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data[: len(data) // 2 * 2]))
    total += data[-1] << 8 if len(data) % 2 else 0
    while total > 0xFFFF:
        total = (total >> 16) + (total & 0xFFFF)
    return total


def tagged(frame: bytes, case: dict) -> bytes:
    """Returns a frame with the tag of a probe."""
    ends = case["source"].ip, case["destination"].ip, 20_000 + case["flow"]
    fields = struct.pack("!IIHQQ", *ends, case["sequence"], case["sent_ns"])
    tag = blake2s(KEY + fields, digest_size=4).digest()
    return frame[:38] + tag + bytes(byte ^ 0xFF for byte in tag) + frame[46:]


def filled(cases: list[dict], frame_bytes: int, run: int) -> list[bytes]:
    """Returns these probes, filled into a buffer that was made for another pair."""
    template = build_probe(FIRST, SECOND, frame_bytes=frame_bytes, run=run)
    buffer = FrameBuffer(template, len(cases), Tagger(KEY))
    buffer.fill(
        np.array([case["source"].ip for case in cases], np.uint32),
        np.array([case["destination"].ip for case in cases], np.uint32),
        np.array([case["flow"] for case in cases]),
        np.array([case["sequence"] for case in cases]),
    )
    for index, case in enumerate(cases):
        buffer.stamp(index, index + 1, case["sent_ns"])
    return [bytes(view) for view in buffer.views]


@given(
    cases=st.lists(probes, min_size=1, max_size=4),
    frame_bytes=st.integers(HEADER_BYTES, 1514),
    run=st.integers(0, U32),
)
@settings(deadline=None, max_examples=150)
def test_buffer_is_filled_as_scapy_builds(cases, frame_bytes, run):
    built = [tagged(build_probe(**case, frame_bytes=frame_bytes, run=run), case) for case in cases]
    assert filled(cases, frame_bytes, run) == built


@given(case=probes, frame_bytes=st.integers(HEADER_BYTES, 1514))
@settings(deadline=None, max_examples=100)
def test_ip_checksum_is_right_and_tcp_checksum_is_wrong(case, frame_bytes):
    [frame] = filled([case], frame_bytes, 5)
    ip, segment = frame[14:34], frame[34:]
    assert ones_complement_sum(ip) == 0xFFFF
    pseudo_header = ip[12:20] + struct.pack("!BBH", 0, 6, len(segment))
    assert ones_complement_sum(pseudo_header + segment) != 0xFFFF


def test_the_oracle_of_checksums_knows_a_right_one():
    frame = bytes(Ether() / IP(src="10.0.0.1", dst="10.0.0.2") / TCP() / b"odd")
    pseudo_header = frame[26:34] + struct.pack("!BBH", 0, 6, len(frame) - 34)
    assert ones_complement_sum(frame[14:34]) == 0xFFFF
    assert ones_complement_sum(pseudo_header + frame[34:]) == 0xFFFF


def test_refilling_leaves_nothing_of_the_earlier_frame():
    buffer = FrameBuffer(build_probe(FIRST, SECOND, frame_bytes=100), 1, Tagger(KEY))
    for flow, sequence in ((77, 2**40), (0, 0)):
        one = np.array([1])
        buffer.fill(one * FIRST.ip, one * SECOND.ip, one * flow, one * sequence)
    buffer.stamp(0, 1, 0)
    first = {"source": FIRST, "destination": SECOND, "flow": 0, "sequence": 0, "sent_ns": 0}
    assert bytes(buffer.views[0]) == tagged(build_probe(**first, frame_bytes=100), first)


def test_fill_and_stamp_touch_only_the_frames_they_are_asked_to():
    template = build_probe(FIRST, SECOND, frame_bytes=100)
    buffer = FrameBuffer(template, 3, Tagger(KEY))
    one = np.array([1])
    buffer.fill(one * SECOND.ip, one * FIRST.ip, one, one)
    buffer.stamp(0, 1, 9)
    assert [bytes(view) == template for view in buffer.views] == [False, True, True]


# ---- layout ----


def test_layout_of_a_probe():
    frame = build_probe(FIRST, SECOND, frame_bytes=200, run=7, flow=3, sequence=11, sent_ns=13)
    packet = Ether(frame)
    assert len(frame) == 200
    assert (packet.src, packet.dst, packet.type) == ("02:00:0a:00:00:01", "02:00:0a:00:01:01", 0x0800)
    assert (packet[IP].src, packet[IP].dst) == ("10.0.0.1", "10.0.1.1")
    assert (packet[IP].ttl, packet[IP].len, packet[IP].proto) == (64, 186, 6)
    assert (packet[TCP].sport, packet[TCP].dport) == (20003, 19999)
    probe = packet[Probe]
    assert (probe.magic, probe.run, probe.sequence, probe.sent_ns) == (0x506F4C61, 7, 11, 13)
    assert (probe.sequence_check, probe.sent_check) == (U64 - 11, U64 - 13)
    assert frame[HEADER_BYTES:] == bytes(200 - HEADER_BYTES)


def test_read_headers_read_what_was_built():
    frames = [
        build_probe(FIRST, SECOND, frame_bytes=120, run=2, flow=flow, sequence=10 + flow, sent_ns=5)
        for flow in range(3)
    ]
    headers = read_headers(np.frombuffer(b"".join(frames), np.uint8).reshape(3, 120))
    assert headers["sequence"].tolist() == [10, 11, 12]
    assert headers["source_port"].tolist() == [20000, 20001, 20002]
    assert set(headers["ip_src"].tolist()) == {FIRST.ip}
    assert set(headers["ip_dst"].tolist()) == {SECOND.ip}
    assert set(headers["ttl"].tolist()) == {64}
    assert set(headers["sent_ns"].tolist()) == {5}
    assert intact(headers).all()


def test_parse_probe_gives_the_layers_of_a_probe():
    packet = parse_probe(build_probe(FIRST, SECOND, frame_bytes=100, sequence=4))
    assert packet is not None
    assert packet[Probe].sequence == 4


@pytest.mark.parametrize(
    "frame",
    [
        bytes(Ether() / IP(src="10.0.0.1", dst="10.0.0.2") / TCP(dport=80) / bytes(40)),
        bytes(Ether() / IP(src="10.0.0.1", dst="10.0.0.2") / TCP(dport=19999) / bytes(40)),
        bytes(60),
    ],
    ids=["other port", "other magic number", "zeros"],
)
def test_parse_probe_tells_other_frames_apart(frame):
    assert parse_probe(frame) is None


@pytest.mark.parametrize("frame_bytes", [HEADER_BYTES, 1000, 1514])
def test_possible_lengths(frame_bytes):
    check_frame_bytes(frame_bytes)
    assert len(build_probe(FIRST, SECOND, frame_bytes=frame_bytes)) == frame_bytes


@pytest.mark.parametrize("frame_bytes", [HEADER_BYTES - 1, 1515, 0, -5])
def test_impossible_lengths_are_refused(frame_bytes):
    with pytest.raises(ParameterError, match=f"94 to 1514 bytes, got {frame_bytes}"):
        check_frame_bytes(frame_bytes)


def test_a_longer_mtu_allows_longer_frames():
    check_frame_bytes(9014, 9000)
    assert len(build_probe(FIRST, SECOND, frame_bytes=9014)) == 9014
    with pytest.raises(ParameterError, match="94 to 9014 bytes, got 9015"):
        check_frame_bytes(9015, 9000)


def test_a_probe_needs_room_for_its_header():
    with pytest.raises(ParameterError, match=f"got {HEADER_BYTES - 1}"):
        build_probe(FIRST, SECOND, frame_bytes=HEADER_BYTES - 1)


# ---- damage, and frames that somebody made up ----


@given(cases=st.lists(probes, min_size=1, max_size=4), other=probes, field=st.sampled_from(FIELDS))
def test_a_frame_is_genuine_until_a_field_that_counts_is_another(cases, other, field):
    frames = np.frombuffer(b"".join(filled(cases, 100, 3)), np.uint8).reshape(len(cases), 100)
    assert genuine(frames, Tagger(KEY)).all()
    changed = [case | {field: other[field]} for case in cases]
    for case, change, frame in zip(cases, changed, filled(changed, 100, 3), strict=True):
        forged = np.frombuffer(tagged(frame, case), np.uint8)[None, :]
        assert genuine(forged, Tagger(KEY))[0] == (case == change)


def test_a_frame_of_another_key_is_not_genuine():
    case = {"source": FIRST, "destination": SECOND, "flow": 0, "sequence": 0, "sent_ns": 0}
    frames = np.frombuffer(filled([case], 100, 3)[0], np.uint8)[None, :]
    assert not genuine(frames, Tagger(bytes(16)))[0]


@pytest.mark.parametrize("field", ["magic", "sequence", "sent_ns", "sequence_check", "sent_check"])
def test_a_flipped_bit_in_a_checked_field_shows(field):
    frame = build_probe(FIRST, SECOND, frame_bytes=100, sequence=12, sent_ns=10**18)
    kind, offset = HEADER.fields[field][:2]
    for bit in range(kind.itemsize * 8):
        damaged = bytearray(frame)
        damaged[offset + bit // 8] ^= 1 << bit % 8
        assert not intact(read_headers(np.frombuffer(bytes(damaged), np.uint8)[None, :]))[0]


def test_intact_judges_each_frame_by_itself():
    frames = np.tile(np.frombuffer(build_probe(FIRST, SECOND, frame_bytes=100), np.uint8), (3, 1))
    frames[1, HEADER_BYTES - 1] ^= 1
    assert intact(read_headers(frames)).tolist() == [True, False, True]
