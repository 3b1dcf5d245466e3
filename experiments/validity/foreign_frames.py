"""Detects frames that hosts send or receive besides the measured ones, by the counters of their links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# What does not matter: a share of a host's measured bytes, and a few frames, such as late ones of a check.
# Each host has its own limit: it cannot use what others leave, or hide frames behind those that others lose.
MAX_SHARE, MAX_FRAMES = 0.01, 2
# TCP retransmits a little after a flow's counters were read: up to 6 frames of a host at twice the capacity.
MAX_FRAMES_OF_FLOWS = 16


class HostBytes(NamedTuple):
    """Bytes on the links between switches and hosts from before the first measured packet until the end.

    Attributes:
        sent, received: int64, hosts: bytes of the frames (without FCS) that each host sent to its switch and
            received from it.
    """

    sent: npt.NDArray[np.int64]
    received: npt.NDArray[np.int64]


def foreign_doubt(
    verb: str,
    names: Sequence[str],
    carried: npt.NDArray[np.int64],
    measured: npt.NDArray[np.int64],
    max_bytes: int,
) -> str | None:
    """Returns the reason to doubt a run in which a host's link carried other frames, or None.

    Args:
        verb: what hosts did with these frames, `sent` or `received`.
        names: names of the hosts.
        carried: bytes that each host's link carried in this direction.
        measured: bytes of the measured frames among them.
        max_bytes: bytes that each host may send or receive besides, in addition to `MAX_SHARE`.
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
