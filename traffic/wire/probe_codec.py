"""Writes and reads probe frames in bulk with NumPy, in the layout of `probe_frame`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from topology.addressing import INITIAL_TTL, MAC_PREFIX
from traffic.wire.layout import HEADER, MAGIC, SOURCE_PORT_BASE, offset_of
from traffic.wire.tags import Tagger

Frames = npt.NDArray[np.uint8]
Headers = npt.NDArray[np.void]

_ENDS = slice(offset_of("ip_src"), offset_of("destination_port"))
_NUMBER = slice(offset_of("sequence"), offset_of("sent_ns"))
_NUMBER_AND_TIME = slice(offset_of("sequence"), offset_of("sequence_check"))


class FrameBuffer:
    """Consecutive frames in memory, copied from a template and filled in bulk.

    Attributes:
        views: a memory view of each frame, ready to be sent.
    """

    def __init__(self, template: bytes, frames: int, tagger: Tagger) -> None:
        """Allocates `frames` frames, each a copy of `template`; `tagger` computes their tags."""
        self._tag = tagger.tag
        self._untimed: list[bytes] = []  # the bytes that each frame's tag covers, except the send time
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
        """Writes the first len(sources) frames, except for their send times and tags.

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
        self._untimed = _rows(self._bytes[: len(sources)], _NUMBER)

    def stamp(self, first: int, end: int, now_ns: int) -> None:
        """Writes the send time, in ns since the epoch, and the tag into frames `first` to `end` - 1."""
        header = self._headers[first:end]
        header["sent_ns"] = now_ns
        header["sent_check"] = now_ns ^ 0xFFFFFFFFFFFFFFFF
        time, tag = now_ns.to_bytes(8, "big"), self._tag
        tags = np.frombuffer(b"".join([tag(fields + time) for fields in self._untimed[first:end]]), ">u4")
        header["tag"], header["tag_check"] = tags, ~tags


def read_headers(frames: Frames) -> Headers:
    """Returns the headers of frames (uint8 rows of at least HEADER_BYTES) without copying them."""
    return np.ndarray((len(frames),), HEADER, frames, strides=(frames.strides[0],))


def intact(headers: Headers) -> npt.NDArray[np.bool_]:
    """Returns whether each header has the magic number, a valid TTL and correct complements."""
    return np.asarray(
        (headers["magic"] == MAGIC)
        & (headers["ttl"] - np.uint8(1) < INITIAL_TTL)  # TTL 0 wraps to 255
        & (headers["sequence"] == ~headers["sequence_check"])
        & (headers["sent_ns"] == ~headers["sent_check"])
    )


def genuine(frames: Frames, tagger: Tagger) -> npt.NDArray[np.bool_]:
    """Returns whether each received frame (see `read_headers`) has the correct tag."""
    tags = b"".join(map(tagger.tag, _rows(frames, _NUMBER_AND_TIME)))
    return np.asarray(read_headers(frames)["tag"] == np.frombuffer(tags, ">u4"))


def _rows(frames: Frames, numbers: slice) -> list[bytes]:
    """Returns, per frame, the bytes that its tag covers: addresses, source port, then those in `numbers`."""
    fields = np.concatenate((frames[:, _ENDS], frames[:, numbers]), axis=1)
    together, length = fields.tobytes(), fields.shape[1]
    return [together[begin : begin + length] for begin in range(0, len(together), length)]


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
