"""Detection of reordered, forged and duplicate packets in bounded memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MAX_SLOTS = 1 << 22
# Entries of the table of duplicates: 128 MiB of virtual memory, of which a run uses 4 bytes per packet sent.
MAX_REMEMBERED = 1 << 25


class FlowOrder:
    """Detects reordered packets by the highest sequence number of each flow (RFC 4737, section 3).

    With more flows than slots, flows share slots, and a slot remembers the flow that used it last. Few
    reordered packets are missed, because most are overtaken by a packet that was sent shortly after them.
    """

    def __init__(self, flows: int) -> None:
        """Creates a detector before the first packet.

        Args:
            flows: number of flows, at least 1.
        """
        self._slots = min(flows, MAX_SLOTS)
        # For each slot, the highest sequence number so far + 1. Unused pages take no memory.
        self._next = np.zeros(self._slots, np.uint32)
        # For each slot, if flows share slots: the flow that used it last.
        self._owner = np.zeros(self._slots, np.uint32) if flows > self._slots else None

    def reordered(self, flow: npt.NDArray[np.int64], number: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Returns, for each packet, whether it arrived after a later one of its flow; records the packets.

        Args:
            flow: index of each packet's flow, in the order of arrival; shape (packets,).
            number: each packet's sequence number, which ascends in the order of sending; shape (packets,). At
                most 2^32 - 2, because number + 1 is stored in 32 bits.

        Returns:
            bool array, (packets,): True for reordered packets.

        Source:
            RFC 4737, section 3.3: a packet is reordered if its number is below the next expected one.
        """
        order = np.argsort(flow, kind="stable")
        flows, numbers = flow[order], number[order] + 1
        first = np.ones(len(flows), bool)
        first[1:] = flows[1:] != flows[:-1]
        # A running maximum that restarts with each flow: each flow gets a base above all previous values.
        base = np.cumsum(first).astype(np.int64) << 33
        highest = np.maximum.accumulate(numbers + base) - base
        before = np.zeros_like(numbers)
        before[1:] = np.where(first[1:], 0, highest[:-1])
        before = np.maximum(before, self._recall(flows))
        last = np.append(first[1:], True) if len(first) else first
        self._store(flows[last], np.maximum(highest, before)[last])
        reordered = np.zeros(len(flow), bool)
        reordered[order] = numbers < before
        return reordered

    def _recall(self, flows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Returns, for each flow, its highest sequence number so far plus 1; 0 if it is unknown."""
        slots = flows % self._slots
        known = self._next[slots].astype(np.int64)
        if self._owner is None:
            return known
        return np.where(self._owner[slots] == flows // self._slots, known, 0)

    def _store(self, flows: npt.NDArray[np.int64], highest: npt.NDArray[np.int64]) -> None:
        slots = flows % self._slots
        self._next[slots] = highest
        if self._owner is not None:
            self._owner[slots] = flows // self._slots


Numbers = npt.NDArray[np.int64]


class DuplicateDetector:
    """Detects duplicate frames by remembering the latest sequence numbers of each source.

    Each source has a table whose length is a power of two; all tables together have at most 2^25 entries.
    Numbers that are equal modulo the length share an entry. The entry stores the highest of them that
    has arrived, plus 1.
    """

    def __init__(self, hosts: int) -> None:
        """Creates a detector for `hosts` sources, before their first frames."""
        self._hosts, self._numbers = hosts, 1 << ((MAX_REMEMBERED // hosts).bit_length() - 1)
        self._next = np.zeros(self._numbers * hosts, np.uint32)  # unused pages take no memory

    def repeated(self, source: Numbers, number: Numbers) -> npt.NDArray[np.bool_]:
        """Returns, for each frame, whether it is a duplicate or too old to decide; records all other frames.

        Args:
            source: index of each frame's sending host, in the order of arrival; shape (frames,).
            number: each frame's sequence number among its source's frames, 0 to 2^32 - 2; shape (frames,).
        """
        place = (number & (self._numbers - 1)) * self._hosts + source
        before, order = self._next[place], np.arange(len(place), dtype=np.uint32)
        # NumPy keeps the last of several values for an index: reversed, the first of equal frames wins.
        self._next[place[::-1]] = order[::-1]
        repeated = (number < before) | (self._next[place] != order)
        self._next[place] = np.maximum(before, (number + 1).astype(np.uint32))
        return np.asarray(repeated)
