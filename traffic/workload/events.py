"""Events of a schedule: packets in the order in which they are to be sent, in chunks of bounded size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CHUNK_EVENTS = 2048  # the most packets of one Events

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Events:
    """Packets in the order in which they are to be sent; arrays of one length.

    Attributes:
        time_ns: time since the schedule's start in nanoseconds (int64, ascending).
        source: index of the sending host (int64).
        destination: index of the receiving host (int64).
        flow: number of the flow within the host pair (int64, from 0).
        sequence: number of the packet among those of its source (int64, from 0).
    """

    time_ns: Indices
    source: Indices
    destination: Indices
    flow: Indices
    sequence: Indices

    def __len__(self) -> int:
        return len(self.time_ns)


def number_per_source(sources: Indices, sent: Indices) -> Indices:
    """Returns the position of each packet in its source's sequence, and adds the packets to `sent`.

    Args:
        sources: index of each packet's sending host, in the order of sending; shape (packets,).
        sent: the number of packets that each host has sent before; shape (hosts,). It is changed in place.

    Returns:
        int64 array of shape (packets,): numbers that count up from `sent` for every source.
    """
    order = np.argsort(sources, kind="stable")
    ordered = sources[order]
    # Within a run of equal sources the number counts up from the run's start.
    starts = np.searchsorted(ordered, ordered)
    numbers = np.empty(len(sources), np.int64)
    numbers[order] = sent[ordered] + np.arange(len(sources)) - starts
    sent += np.bincount(sources, minlength=len(sent))
    return numbers
