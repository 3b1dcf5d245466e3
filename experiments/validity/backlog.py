"""Checks that no backlog from before the measurement window arrived in it."""

from __future__ import annotations

import math

# Packets under way vary by chance: at the window's start, there may be more of them than on average by this
# many standard deviations.
_DEVIATIONS = 4


def backlog_doubt(excess: float, under_way: float, queue_packets: int) -> str | None:
    """Returns a reason to doubt a run if more packets arrived than were sent, beyond chance; else None.

    The packets that arrive in a window and were not sent in it were under way when it began. A queue with a
    random length of mean m has a variance of about m (m + 1). As m is at most the queue's capacity c, the
    variance over all queues, with n packets on average, is at most n (c + 1).

    Args:
        excess: packets that arrived in the window minus those that were sent in it.
        under_way: mean number of packets under way in the window.
        queue_packets: capacity of each queue.
    """
    usual = under_way + _DEVIATIONS * math.sqrt(max(1.0, under_way) * (queue_packets + 1))
    if excess <= usual:
        return None
    return (
        f"{excess:.0f} more packets arrived in the window than were sent in it: it began with a backlog; "
        f"{under_way:.0f} were under way on average"
    )
