"""Which packets came after a later one of their flow (RFC 4737, section 3), in bounded memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_MOST_SLOTS = 1 << 22


class FlowOrder:
    """Remembers the highest number of every flow.

    Where there are more flows than it has room for, flows share a place, and the last that used it is
    remembered. A packet is overtaken by those just before it, so that this is seldom too short a memory.
    """

    def __init__(self, flows: int) -> None:
        self._slots = min(flows, _MOST_SLOTS)
        # One more than the highest number so far; untouched pages cost nothing.
        self._next = np.zeros(self._slots, np.uint32)
        # Which flow a place is used by, of those that share it.
        self._owner = np.zeros(self._slots, np.uint32) if flows > self._slots else None

    def late(self, flow: npt.NDArray[np.int64], number: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Returns which packets, in their order of arrival, came after a later one of their flow."""
        order = np.argsort(flow, kind="stable")
        flows, numbers = flow[order], number[order] + 1
        first = np.ones(len(flows), bool)
        first[1:] = flows[1:] != flows[:-1]
        # A running maximum that starts anew with each flow: each gets a base above all before it.
        base = np.cumsum(first).astype(np.int64) << 33
        highest = np.maximum.accumulate(numbers + base) - base
        before = np.zeros_like(numbers)
        before[1:] = np.where(first[1:], 0, highest[:-1])
        before = np.maximum(before, self._remembered(flows))
        last = np.append(first[1:], True) if len(first) else first
        self._remember(flows[last], np.maximum(highest, before)[last])
        late = np.zeros(len(flow), bool)
        late[order] = numbers < before
        return late

    def _remembered(self, flows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        places = flows % self._slots
        known = self._next[places].astype(np.int64)
        if self._owner is None:
            return known
        return np.where(self._owner[places] == flows // self._slots, known, 0)

    def _remember(self, flows: npt.NDArray[np.int64], highest: npt.NDArray[np.int64]) -> None:
        places = flows % self._slots
        self._next[places] = highest
        if self._owner is not None:
            self._owner[places] = flows // self._slots
