"""Writes and reads probe frames in bulk with NumPy, in the layout of `probe_frame`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from topology.addressing import INITIAL_TTL, MAC_PREFIX
from traffic.wire.layout import HEADER, MAGIC, SOURCE_PORT_BASE

Frames = npt.NDArray[np.uint8]
Headers = npt.NDArray[np.void]


class FrameBuffer:
    """Consecutive frames in memory, copied from a template and filled in bulk.

    Attributes:
        views: a memory view of each frame, ready to be sent.
    """

    def __init__(self, template: bytes, frames: int) -> None:
        """Allocates `frames` frames, each a copy of `template`."""
        self._bytes: Frames = np.tile(np.frombuffer(template, np.uint8), (frames, 1))
        self._headers: Headers = np.ndarray((frames,), HEADER, self._bytes, strides=(len(template),))
        whole = self._bytes.data.cast("B")
        length = len(template)
        self.views = [whole[i * length : (i + 1) * length] for i in range(frames)]
        first = self._headers[0]
        addresses = [_words(first["ip_src"]), _words(first["ip_dst"])]
        self._ip_rest = _minus(_complement(first["ip_checksum"]), *addresses)
        # The last bit of the template's checksum is wrong on purpose (see traffic.wire.probe_frame).
        correct = int(first["tcp_checksum"]) ^ 1
        self._tcp_rest = _minus(_complement(correct), *addresses, int(first["source_port"]))

    def fill(
        self,
        sources: npt.NDArray[np.uint32],
        destinations: npt.NDArray[np.uint32],
        flows: npt.NDArray[Any],
        sequences: npt.NDArray[Any],
    ) -> None:
        """Writes the first len(sources) frames, except for their send times.

        Args:
            sources: IPv4 addresses of the sources.
            destinations: IPv4 addresses of the destinations.
            flows: each frame's flow within its host pair, from 0.
            sequences: each frame's sequence number among its source's frames.
        """
        header = self._headers[: len(sources)]
        header["eth_src_prefix"] = header["eth_dst_prefix"] = MAC_PREFIX
        header["eth_src_ip"] = header["ip_src"] = sources
        header["eth_dst_ip"] = header["ip_dst"] = destinations
        header["source_port"] = ports = SOURCE_PORT_BASE + flows
        header["sequence"] = sequences
        header["sequence_check"] = ~sequences.astype(np.uint64)
        addresses = _words(sources) + _words(destinations)
        header["ip_checksum"] = _complement(_fold(self._ip_rest + addresses))
        header["tcp_checksum"] = _complement(_fold(self._tcp_rest + addresses + ports)) ^ 1

    def stamp(self, first: int, end: int, now_ns: int) -> None:
        """Writes the send time, in ns since the epoch, into frames `first` to `end` - 1."""
        header = self._headers[first:end]
        header["sent_ns"] = now_ns
        header["sent_check"] = now_ns ^ 0xFFFFFFFFFFFFFFFF


def read_headers(frames: Frames) -> Headers:
    """Returns the headers of received frames (uint8 array, n x at least HEADER_BYTES), without copying."""
    return np.ndarray((len(frames),), HEADER, frames, strides=(frames.strides[0],))


def intact(headers: Headers) -> npt.NDArray[np.bool_]:
    """Returns whether each header has the magic number, a valid TTL and correct check values."""
    return np.asarray(
        (headers["magic"] == MAGIC)
        & (headers["ttl"] - np.uint8(1) < INITIAL_TTL)  # 0 becomes 255
        & (headers["sequence"] == ~headers["sequence_check"])
        & (headers["sent_ns"] == ~headers["sent_check"])
    )


# ---- ones' complement sums (RFC 1071) modulo 65535 ----


def _words(address: Any) -> Any:
    wide = np.asarray(address, np.int64)
    return (wide >> 16) + (wide & 0xFFFF)


def _fold(total: Any) -> Any:
    total = (total & 0xFFFF) + (total >> 16)
    return (total & 0xFFFF) + (total >> 16)


def _complement(value: Any) -> Any:
    return np.asarray(value, np.int64) ^ 0xFFFF


def _minus(total: Any, *parts: Any) -> int:
    rest = int(total) - sum(int(part) for part in parts)
    return rest % 0xFFFF
