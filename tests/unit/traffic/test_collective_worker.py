"""A collective's worker, in memory, among frames that a host makes up."""

import random
import struct

import pytest
from fuzz.frames import Air, run_collective

from traffic.wire.layout import offset_of
from traffic.wire.segment_codec import ACKNOWLEDGEMENT, DATA, SEGMENT_BYTES

TAIL = struct.Struct("!IIIHBBQ")
AT = SEGMENT_BYTES - TAIL.size
FIELDS = ("number", "message", "segment", "length", "kind", "zero", "sent_ns")


def made_up(**values):
    """Returns a maker of frames with these fields; those of a segment have 64 bytes that nobody sent."""

    def make(frame, _rng):
        fields = dict(zip(FIELDS, TAIL.unpack_from(frame, AT), strict=True)) | values
        changed = bytearray(frame)
        payload = b"\xff" * (16 if fields["kind"] == ACKNOWLEDGEMENT else 64)
        TAIL.pack_into(changed, AT, *(fields | {"length": len(payload)}).values())
        return bytes(changed[:SEGMENT_BYTES]) + payload

    return make


def from_a_stranger(frame, _rng):
    at = offset_of("ip_src")
    return frame[:at] + b"\x0a\x63\x00\x01" + frame[at + 4 :]


def with_one_wrong_bit(frame, _rng):
    return frame[:-1] + bytes([frame[-1] ^ 1])


def as_it_was(frame, _rng):
    return frame


@pytest.mark.parametrize(
    "lies",
    [
        made_up(kind=DATA, number=(1 << 32) - 1),
        made_up(kind=DATA, sent_ns=(1 << 64) - 1),
        made_up(kind=DATA, segment=9),
        made_up(kind=DATA, message=(1 << 32) - 5),
        made_up(kind=DATA, segment=0),
        made_up(kind=ACKNOWLEDGEMENT),
        made_up(kind=3),
        made_up(kind=DATA, message=0xDEADBEEF, number=1),
        from_a_stranger,
        with_one_wrong_bit,
    ],
    ids=[
        *("number", "time", "segment", "message", "bytes", "acknowledgement", "kind", "unknown message"),
        *("stranger", "bit"),
    ],
)
def test_a_frame_that_no_rank_has_sent_is_damaged_and_changes_nothing(lies):
    air = Air(random.Random(1), made_up=12, lies=lies)
    outcome = run_collective(air)
    assert (outcome.failed, outcome.iterations["wrong_ranks"].tolist()) == ("", [0, 0, 0])
    assert outcome.received.damaged == 12
    assert (outcome.received.frames <= outcome.sent.frames).all()
    assert outcome.acknowledgements_received.sum() <= outcome.acknowledgements_sent.sum()


@pytest.mark.parametrize("kind", [DATA, ACKNOWLEDGEMENT])
def test_a_copy_is_damaged_and_changes_nothing(kind):
    outcome = run_collective(Air(random.Random(1), made_up=12, lies=as_it_was, kind=kind))
    assert (outcome.failed, outcome.received.damaged) == ("", 12)
    assert (outcome.received.frames <= outcome.sent.frames).all()
    assert outcome.acknowledgements_received.sum() <= outcome.acknowledgements_sent.sum()


def test_bytes_that_somebody_changed_do_not_stand_for_those_that_were_lost():
    air = Air(random.Random(1), made_up=60, loss=0.05, lies=with_one_wrong_bit, kind=DATA)
    outcome = run_collective(air, iterations=1)
    assert (outcome.failed, outcome.iterations["wrong_ranks"].tolist()) == ("", [0])
    assert outcome.received.damaged == 60


def test_without_such_frames_none_is_damaged_although_some_are_lost():
    outcome = run_collective(Air(random.Random(2), made_up=0, loss=0.01))
    assert (outcome.failed, outcome.received.damaged) == ("", 0)
    assert len(outcome.iterations) == 3
