"""Frames of TCP flows: their number, their bytes on the wire, and the ideal time to send them.

Lengths are those of Ethernet frames without FCS, of IPv4 without options, and of TCP with the time stamps
option (RFC 7323), which Linux sends by default.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

# IPv4 20, TCP 20, time stamps 12; and Ethernet 14.
PACKET_HEADER_BYTES = 52
FRAME_HEADER_BYTES = PACKET_HEADER_BYTES + 14
# A SYN has 8 bytes more of options: its largest segment, selective acknowledgements, window scale.
SYN_EXTRA_BYTES = 8

Bytes = npt.NDArray[np.int64]


def segments(payload: Bytes, mtu: int) -> Bytes:
    """Returns the number of frames that carry a flow's bytes.

    Args:
        payload: bytes of each flow; any shape.
        mtu: longest packet of the links in bytes.

    Returns:
        ceil(payload / (mtu - 52)); int64 array of the same shape.
    """
    return np.asarray(-(-payload // (mtu - PACKET_HEADER_BYTES)), np.int64)


def wire_bytes(payload: Bytes, mtu: int) -> Bytes:
    """Returns the bytes of the frames that carry a flow's bytes once.

    Args:
        payload: bytes of each flow; any shape.
        mtu: longest packet of the links in bytes.

    Returns:
        The payload and 66 bytes of headers for each frame; int64 array of the same shape.
    """
    return payload + FRAME_HEADER_BYTES * segments(payload, mtu)


def ideal_ns(
    payload: Bytes, hops: Bytes, base_ns: Mapping[int, float], rate_bps: int, mtu: int, burst_bytes: int
) -> npt.NDArray[np.float64]:
    """Returns the completion times that flows would have in an empty fabric.

    The time of a flow of one byte over as many hops, and the time that a link needs for all frames of the
    flow but those that an idle port sends at once (its token bucket).

    Args:
        payload: bytes of each flow; shape (flows,).
        hops: links between routers on each flow's shortest path; shape (flows,).
        base_ns: hops -> time of a flow of one byte in the empty fabric, in ns; one for all hops at least.
        rate_bps: rate of every link in bit/s.
        mtu: longest packet of the links in bytes.
        burst_bytes: bytes that an idle port sends at once.

    Returns:
        Times in ns; float64 array, (flows,).
    """
    known = sorted(base_ns)
    base = np.interp(hops, known, [base_ns[number] for number in known])
    paced = np.maximum(0, wire_bytes(payload, mtu) - burst_bytes)
    return np.asarray(base + paced * 8e9 / rate_bps, np.float64)
