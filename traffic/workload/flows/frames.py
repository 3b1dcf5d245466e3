"""Frames of TCP flows: their number, their bytes on the wire, and the ideal time to send them.

Lengths assume Ethernet frames without FCS, IPv4 without options, and TCP with the timestamps option (RFC
7323), which Linux uses by default.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

# Bytes of headers: IPv4 20, TCP 20, its timestamps option 12; and Ethernet 14.
PACKET_HEADER_BYTES = 52
FRAME_HEADER_BYTES = PACKET_HEADER_BYTES + 14
# A SYN has 8 more bytes of options: maximum segment size, selective acknowledgements, window scale.
SYN_EXTRA_BYTES = 8

Bytes = npt.NDArray[np.int64]


def segments(payload: Bytes, mtu: int) -> Bytes:
    """Returns the number of frames that carry a flow's bytes.

    Args:
        payload: bytes of each flow; any shape.
        mtu: maximum packet size of the links in bytes.

    Returns:
        ceil(payload / (mtu - 52)); int64 array of the same shape.
    """
    return np.asarray(-(-payload // (mtu - PACKET_HEADER_BYTES)), np.int64)


def wire_bytes(payload: Bytes, mtu: int) -> Bytes:
    """Returns the bytes of a flow's frames if no byte is sent twice.

    Args:
        payload: bytes of each flow; any shape.
        mtu: maximum packet size of the links in bytes.

    Returns:
        The payload plus 66 bytes of headers per frame; int64 array of the same shape.
    """
    return payload + FRAME_HEADER_BYTES * segments(payload, mtu)


def ideal_ns(
    payload: Bytes, hops: Bytes, base_ns: Mapping[int, float], rate_bps: int, mtu: int, burst_bytes: int
) -> npt.NDArray[np.float64]:
    """Returns the completion times of flows in an empty fabric.

    The ideal time is the time of a one-byte flow over the same number of hops, plus the time that a link
    needs for the flow's frames beyond those that an idle port sends at once (its token bucket).

    Args:
        payload: bytes of each flow; shape (flows,).
        hops: hops on each flow's shortest path; shape (flows,).
        base_ns: hops -> time of a one-byte flow in the empty fabric, in ns; at least one entry, others are
            interpolated.
        rate_bps: rate of every link in bit/s.
        mtu: maximum packet size of the links in bytes.
        burst_bytes: bytes that an idle port sends at once.

    Returns:
        Times in ns; float64 array, (flows,).
    """
    known = sorted(base_ns)
    base = np.interp(hops, known, [base_ns[number] for number in known])
    paced = np.maximum(0, wire_bytes(payload, mtu) - burst_bytes)
    return np.asarray(base + paced * 8e9 / rate_bps, np.float64)
