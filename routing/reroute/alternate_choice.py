"""Choice of loop-free alternates for many destinations of one router, with few distinct choices in total."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.intp]

# Larger than the hops of any path: for neighbours that are not safe.
UNSAFE = np.iinfo(np.int16).max


class Choice(NamedTuple):
    """The alternates of some destinations that share a next hop.

    Attributes:
        next_hop: the index of the next hop, as in the arguments of `choose_alternates`.
        columns: the destinations' columns in the arguments of `choose_alternates`, ascending.
        rows: the row numbers of the neighbours that serve as alternates, in order of preference.
        extra_hops: the maximum number of hops that an alternate adds.
    """

    next_hop: int
    columns: Numbers
    rows: list[int]
    extra_hops: int


def choose_alternates(
    extra_hops: npt.NDArray[np.int16], next_hops: Numbers, rows: Numbers, limit: int
) -> list[Choice]:
    """Chooses for each destination the alternates with the fewest hops, with few distinct choices in total.

    The method is greedy. For each next hop, the neighbour that is best for the most destinations is assigned
    to them, together with other neighbours that are safe for all of them. This is repeated for the remaining
    destinations.

    Args:
        extra_hops: int16 array, neighbours x destinations: the hops that an alternate adds; UNSAFE if it does
            not deliver. Row i is for the i-th neighbour in the order of preference of the destination's next
            hop.
        next_hops: the index of the next hop of each destination, ascending.
        rows: int array, neighbours x next hops: for each next hop, the row numbers of the neighbours in order
            of preference.
        limit: the maximum number of alternates per destination.

    Returns:
        The choices by next hop, then in the order in which they were made; none for destinations without a
        safe neighbour.
    """
    columns = np.flatnonzero(extra_hops.min(axis=0, initial=UNSAFE) < UNSAFE)
    rounds: list[Choice] = []
    while len(columns):
        left = extra_hops if len(columns) == extra_hops.shape[1] else extra_hops[:, columns]
        behind = next_hops[columns]
        starts = np.flatnonzero(np.diff(behind, prepend=-1))
        segments = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(columns)))
        best = left == left.min(axis=0)
        first = np.add.reduceat(best, starts, axis=1, dtype=np.int32).argmax(axis=0)
        chosen = best[first[segments], np.arange(len(columns))]
        taken = _taken(left, chosen, starts, first)[:limit]
        for segment, places in _split(segments, chosen):
            serve = [row for row in taken[:, segment].tolist() if row < len(left)]
            next_hop = int(behind[places[0]])
            hops = int(left[serve][:, places].max())
            rounds.append(Choice(next_hop, columns[places], rows[serve, next_hop].tolist(), hops))
        columns = columns[~chosen]
    return sorted(rounds, key=lambda choice: choice.next_hop)


def _taken(
    extra_hops: npt.NDArray[np.int16], chosen: npt.NDArray[np.bool_], starts: Numbers, first: Numbers
) -> Numbers:
    """Returns, for each segment, the rows of `extra_hops` that are safe for all its chosen destinations.

    A segment is a run of destinations with the same next hop; `first` is its preferred row. The result has a
    column for each segment: this row, then the other safe rows, then the number of all rows as padding.
    """
    safe = np.logical_and.reduceat((extra_hops < UNSAFE) | ~chosen, starts, axis=1)
    order = np.where(safe, np.arange(len(safe))[:, np.newaxis], len(safe))
    order[first, np.arange(len(starts))] = -1
    order.sort(axis=0)
    order[0] = first
    return order


def _split(segments: Numbers, chosen: npt.NDArray[np.bool_]) -> list[tuple[int, Numbers]]:
    """Returns (segment, indices of its chosen columns) for each segment that has chosen columns."""
    places = np.flatnonzero(chosen)
    own = segments[places]
    bounds = [0, *(np.flatnonzero(own[1:] != own[:-1]) + 1).tolist(), len(own)]
    pairs = zip(own[bounds[:-1]].tolist(), bounds[:-1], bounds[1:], strict=True)
    return [(segment, places[start:end]) for segment, start, end in pairs]
