"""Detects frames that hosts send or receive besides the measured ones, by the counters of their links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# Frames that do not matter: a share of the measured ones, and a few per host, such as late frames of a check.
MAX_SHARE, MAX_PER_HOST = 0.01, 2


class HostFrames(NamedTuple):
    """Frames on the links between switches and hosts from before the first measured packet until the end.

    Attributes:
        sent, received: int64, hosts: frames that each host sent to its switch and received from it.
    """

    sent: npt.NDArray[np.int64]
    received: npt.NDArray[np.int64]


def foreign_doubt(
    verb: str,
    names: Sequence[str],
    carried: npt.NDArray[np.int64],
    measured: npt.NDArray[np.int64],
    total: int,
) -> str | None:
    """Returns the reason to doubt a run whose hosts' links carried other frames in one direction, or None.

    Args:
        verb: what hosts did with these frames, `sent` or `received`.
        names: names of the hosts.
        carried: frames that each host's link carried.
        measured: measured packets among them, as far as they are known by host.
        total: number of all measured frames.
    """
    foreign = int(carried.sum()) - total
    max_foreign = MAX_SHARE * total + MAX_PER_HOST * len(names)
    if foreign <= max_foreign:
        return None
    # Acknowledgements of a collective are only known in total: they count as spread evenly.
    excess = carried - measured - (total - measured.sum()) / len(names)
    most = [names[host] for host in np.argsort(-excess) if excess[host] > max_foreign / len(names)]
    others = {1: "", 2: " and 1 other host"}.get(len(most), f" and {len(most) - 1} other hosts")
    return f"{most[0]}{others} {verb} {foreign:,} frames besides the {total:,} measured ones"
