"""The packet filter of receiving sockets, run by a small interpreter of classic BPF."""

import struct

from topology.addressing import hosts_of
from topology.families.low_diameter.polarfly import PolarFly
from traffic.engine.sockets import packet_filter
from traffic.wire.layout import MAGIC, SEGMENT_MAGIC, signature
from traffic.wire.probe_frame import build_probe, build_segment_head

FIRST, SECOND = hosts_of(PolarFly(2), 1)[:2]
OF_THE_KERNEL = {0xFFFFF038: 0}  # offset -> word: a random number


def accepted_bytes(program, frame):
    """Returns the bytes that a filter keeps of a frame; a load beyond its end rejects the frame."""
    instructions = list(struct.iter_unpack("HBBI", program))
    position, word = 0, 0
    while True:
        code, if_true, if_false, operand = instructions[position]
        position += 1
        if code == 0x20 and operand in OF_THE_KERNEL:
            word = OF_THE_KERNEL[operand]
        elif code == 0x20:
            if operand + 4 > len(frame):
                return 0
            (word,) = struct.unpack_from("!I", frame, operand)
        elif code == 0x15:
            position += if_true if word == operand else if_false
        elif code == 0x45:
            position += if_true if word & operand else if_false
        else:
            assert code == 0x06
            return operand


def test_only_probes_of_the_run_pass():
    program = packet_filter(signature(7))
    assert accepted_bytes(program, build_probe(FIRST, SECOND, frame_bytes=100, run=7)) >= 100
    assert accepted_bytes(program, build_probe(FIRST, SECOND, frame_bytes=100, run=8)) == 0
    assert accepted_bytes(program, build_segment_head(FIRST, SECOND, 7)) == 0
    assert accepted_bytes(program, bytes(60)) == 0


def test_only_segments_of_the_run_pass():
    program = packet_filter(signature(7, SEGMENT_MAGIC))
    assert accepted_bytes(program, build_segment_head(FIRST, SECOND, 7)) > 0
    assert accepted_bytes(program, build_segment_head(FIRST, SECOND, 6)) == 0
    assert accepted_bytes(program, build_probe(FIRST, SECOND, frame_bytes=100, run=7)) == 0


def test_each_word_is_required_whatever_their_number():
    frame = bytes(range(64))
    words = [(offset, int.from_bytes(frame[offset : offset + 4], "big")) for offset in (0, 9, 30)]
    for number in range(len(words) + 1):
        assert accepted_bytes(packet_filter(words[:number]), frame) > 0
    for wrong in range(len(words)):
        changed = [(offset, value + (index == wrong)) for index, (offset, value) in enumerate(words)]
        assert accepted_bytes(packet_filter(changed), frame) == 0
    assert signature(3) != signature(3, SEGMENT_MAGIC)
    assert MAGIC != SEGMENT_MAGIC
