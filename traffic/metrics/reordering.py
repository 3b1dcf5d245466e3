"""Reordered and repeated packets, detected in bounded memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MOST_SLOTS = 1 << 22
# 128 MB, of which a run touches 4 bytes for each packet that it sends.
MOST_REMEMBERED = 1 << 25


class FlowOrder:
    """The highest sequence number that arrived of every flow (RFC 4737, section 3).

    With more flows than slots, flows share a slot, which remembers the flow that used it last. Few reordered
    packets are missed, as most are overtaken by a packet sent shortly after them.
    """

    def __init__(self, flows: int) -> None:
        """Begins with flows of which nothing has arrived.

        Args:
            flows: the number of flows, at least 1.
        """
        self._slots = min(flows, MOST_SLOTS)
        # One more than the highest number so far; untouched pages cost nothing.
        self._next = np.zeros(self._slots, np.uint32)
        # For shared slots: which of its flows a slot belongs to.
        self._owner = np.zeros(self._slots, np.uint32) if flows > self._slots else None

    def reordered(self, flow: npt.NDArray[np.int64], number: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Returns whether packets arrived after one of their flow that was sent later, and remembers them.

        Args:
            flow: each packet's flow, 0 to the number of flows - 1, in the order of arrival; shape (packets,).
            number: each packet's number, ascending as its flow's source sent them, 0 to 2^32 - 2, as one more
                is remembered in 32 bits; shape (packets,).

        Returns:
            bool array, (packets,): True for reordered packets.

        Source:
            RFC 4737, section 3.3: a packet is reordered if its number is below the next expected one.
        """
        order = np.argsort(flow, kind="stable")
        flows, numbers = flow[order], number[order] + 1
        first = np.ones(len(flows), bool)
        first[1:] = flows[1:] != flows[:-1]
        # A running maximum that starts anew with each flow: each gets a base above all before it.
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
        """Returns one more than the highest number of each flow, 0 where it is not known."""
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


class Arrivals:
    """The numbers that arrived of each source, of its latest ones: 2^25 of all sources together.

    The place of a number keeps one more than the highest that arrived of all those that share it.
    """

    def __init__(self, hosts: int) -> None:
        """Begins with sources of which nothing has arrived; `hosts` is their number."""
        self._hosts, self._numbers = hosts, 1 << ((MOST_REMEMBERED // hosts).bit_length() - 1)
        self._next = np.zeros(self._numbers * hosts, np.uint32)  # untouched pages cost nothing

    def repeated(self, source: Numbers, number: Numbers) -> npt.NDArray[np.bool_]:
        """Returns which frames arrived before, or too late for that to be known, and remembers the others.

        Args:
            source: index of each frame's sending host, in the order of arrival; shape (frames,).
            number: each frame's number among those of its source, 0 to 2^32 - 2; shape (frames,).
        """
        place = (number & (self._numbers - 1)) * self._hosts + source
        before, order = self._next[place], np.arange(len(place), dtype=np.uint32)
        self._next[place[::-1]] = order[::-1]  # the first of equal frames stays
        repeated = (number < before) | (self._next[place] != order)
        self._next[place] = np.maximum(before, (number + 1).astype(np.uint32))
        return np.asarray(repeated)
