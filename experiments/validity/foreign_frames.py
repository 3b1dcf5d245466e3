"""Detects frames that hosts send or receive besides the measured ones, by the counters of their links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from experiments.validity.unasked import listed

# Other frames that are tolerated: a share of a host's measured bytes, and a few frames, such as late probes
# of the check of all pairs. Each host has its own limit, so that frames of one host are not offset by
# losses of others.
MAX_SHARE, MAX_FRAMES = 0.01, 2
# After a flow's counters were read, TCP may still retransmit: up to 6 frames of a host were seen at an
# offered load of twice the capacity.
MAX_FRAMES_OF_FLOWS = 16


class HostBytes(NamedTuple):
    """Bytes that the links between switches and hosts carried.

    They are counted from before the first measured packet until the end of the run.

    Attributes:
        sent, received: int64 arrays, one entry per host: bytes of the frames (without FCS) that each host
            sent to its switch and received from it.
        frames_sent: number of the frames that all hosts sent.
    """

    sent: npt.NDArray[np.int64]
    received: npt.NDArray[np.int64]
    frames_sent: int = 0

    def doubts(
        self,
        names: Sequence[str],
        sent: npt.NDArray[np.int64],
        received: npt.NDArray[np.int64] | None,
        max_bytes: int,
    ) -> list[str]:
        """Returns the reasons to doubt a measurement because hosts sent or received other frames.

        Args:
            names: names of the hosts.
            sent: bytes of the measured frames that each host sent.
            received: bytes of the measured frames that each host received; None if not known.
            max_bytes: see `foreign_doubt`.
        """
        doubts = [foreign_doubt("sent", names, self.sent, sent, max_bytes)]
        if received is not None:
            doubts.append(foreign_doubt("received", names, self.received, received, max_bytes))
            gone = [names[int(host)] for host in np.flatnonzero((self.received == 0) & (received > 0))]
            doubts += [f"interfaces of {listed(gone)} were deleted"] if gone else []
        return [doubt for doubt in doubts if doubt]


def foreign_doubt(
    verb: str,
    names: Sequence[str],
    carried: npt.NDArray[np.int64],
    measured: npt.NDArray[np.int64],
    max_bytes: int,
) -> str | None:
    """Returns the reason to doubt a run because a host's link carried frames besides the measured ones.

    It is None if no link did.

    Args:
        verb: what hosts did with these frames, `sent` or `received`.
        names: names of the hosts.
        carried: bytes that each host's link carried in this direction.
        measured: of these, the bytes of measured frames.
        max_bytes: bytes of other frames that each link may carry in addition to the share MAX_SHARE of its
            measured bytes.
    """
    excess = carried - measured
    foreign = np.flatnonzero(excess > MAX_SHARE * measured + max_bytes)
    if not len(foreign):
        return None
    most = int(np.argmax(excess))
    others = {1: "", 2: " and 1 other host"}.get(len(foreign), f" and {len(foreign) - 1} other hosts")
    return (
        f"{names[most]}{others} {verb} {excess[foreign].sum():,} bytes "
        f"besides the {measured[foreign].sum():,} measured ones"
    )
