"""The layout of frames on the wire: magic numbers, ports, and the fields of a probe's header."""

from __future__ import annotations

import numpy as np

from topology.errors import ParameterError

MAGIC = 0x506F4C61  # magic number of probes
SEGMENT_MAGIC = 0x506F4C43  # magic number of segments of collectives (`segment_codec`)
SOURCE_PORT_BASE = 20_000
DESTINATION_PORT = 19_999
MAX_FLOWS = 4096  # source ports per host pair
ETHERNET_BYTES = 14
# An acknowledgement has the highest number received, and a bitmap for it and the numbers before it.
ACKNOWLEDGED_BITS = 128

HEADER = np.dtype(
    [
        ("eth_dst_prefix", ">u2"),
        ("eth_dst_ip", ">u4"),
        ("eth_src_prefix", ">u2"),
        ("eth_src_ip", ">u4"),
        ("eth_type", ">u2"),
        ("ip_start", "V8"),
        ("ttl", "u1"),
        ("protocol", "u1"),
        ("ip_checksum", ">u2"),
        ("ip_src", ">u4"),
        ("ip_dst", ">u4"),
        ("source_port", ">u2"),
        ("destination_port", ">u2"),
        ("tag", ">u4"),
        ("tag_check", ">u4"),
        ("tcp_middle", "V4"),
        ("tcp_checksum", ">u2"),
        ("urgent", ">u2"),
        ("magic", ">u4"),
        ("run", ">u4"),
        ("sequence", ">u8"),
        ("sent_ns", ">u8"),
        ("sequence_check", ">u8"),
        ("sent_check", ">u8"),
    ]
)
HEADER_BYTES = HEADER.itemsize


def offset_of(field: str) -> int:
    """Returns the position of a field of HEADER in a frame, in bytes."""
    assert HEADER.fields
    return int(HEADER.fields[field][1])


def signature(run: int, magic: int = MAGIC) -> tuple[tuple[int, int], ...]:
    """Returns the 32-bit words that identify the frames of a run, as (offset in bytes, value).

    Args:
        run: the run's id.
        magic: MAGIC for probes, SEGMENT_MAGIC for segments.
    """
    return (offset_of("magic"), magic), (offset_of("run"), run)


def check_frame_bytes(frame_bytes: int, mtu: int = 1500) -> None:
    """Raises ParameterError unless a probe can have this length on links with this MTU, both in bytes."""
    limit = mtu + ETHERNET_BYTES
    if not HEADER_BYTES <= frame_bytes <= limit:
        raise ParameterError(f"frame length must be {HEADER_BYTES} to {limit} bytes, got {frame_bytes}")
