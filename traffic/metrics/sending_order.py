"""Frames whose number contradicts their time: a source's numbers and send times ascend together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


class SendingOrder:
    """The highest number of each source, and the time at which it was sent.

    One process numbers and stamps all frames of a run, in the order in which it sends them. A frame that was
    sent after one of a higher number proves that one of the two was forged.
    """

    def __init__(self, hosts: int) -> None:
        """Begins with sources that have sent nothing; `hosts` is their number."""
        self._number = np.full(hosts, -1, np.int64)
        self._sent_ns = np.zeros(hosts, np.int64)

    def contradicted(self, source: Numbers, number: Numbers, sent_ns: Numbers) -> npt.NDArray[np.bool_]:
        """Returns which frames were sent after one of their source with a higher number.

        Args:
            source: index of each frame's sending host, in any order; shape (frames,).
            number: each frame's number among those of its source; shape (frames,).
            sent_ns: the time at which each was sent; shape (frames,).
        """
        np.maximum.at(self._number, source, number)
        highest = number == self._number[source]
        self._sent_ns[source[highest]] = sent_ns[highest]
        return np.asarray(sent_ns > self._sent_ns[source])
