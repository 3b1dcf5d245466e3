"""The distinct buckets that groups have, or may get when a controller adapts them.

A fabric may have a million groups with a dozen buckets each, mostly combinations of the same few buckets. A
proof therefore runs each bucket once, and looks up the outcomes of all groups by the numbers of their
buckets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from routing.plan.columns import GroupColumns, runs
from routing.plan.model import Bucket, Group, GroupKind
from routing.verification.rules import Numbers, RuleBook


class Choices(NamedTuple):
    """The distinct buckets that a group has or may get.

    Attributes:
        present: buckets that the group has: the bucket, the total weight of all equal buckets, and whether
            the controller, by adapting the group, may add more of them.
        others: buckets that the group gets only if the controller adapts it; they have weight 0.
        one_only: whether the group applies its first live bucket, instead of one selected by a hash.
    """

    present: list[tuple[Bucket, int, bool]]
    others: list[tuple[Bucket, int]]
    one_only: bool

    def possible(self, failed_ports: frozenset[int]) -> tuple[list[tuple[Bucket, int]], set[int]]:
        """Returns the buckets that the group may apply, with weights, and the ports on which this depends.

        This includes the buckets after an adaptation: a bucket that only an adaptation may add, or bring back
        to life, has weight 0.

        Args:
            failed_ports: the ports that are down.
        """
        if not (failed_ports or self.one_only):
            alive = [(bucket, weight) for bucket, weight, candidate in self.present if weight or candidate]
            watched = {bucket.watch_port for bucket, _, _ in self.present}
            return [*alive, *self.others], {port for port in watched if port is not None}
        possible = []
        ports: set[int] = set()
        decided = False
        for bucket, present_weight, candidate in self.present:
            weight = 0
            if not decided:
                if bucket.watch_port is not None:
                    ports.add(bucket.watch_port)
                if bucket.watch_port is None or bucket.watch_port not in failed_ports:
                    # Only select groups have weights.
                    decided = self.one_only
                    weight = 1 if decided else present_weight
            if weight or candidate:
                possible.append((bucket, weight))
        return [*possible, *self.others], ports


def distinct_choices(group: Group, book: RuleBook) -> Choices:
    """Returns the distinct buckets of a group.

    Args:
        group: any group.
        book: identifies equal buckets.
    """
    one_only = group.kind is not GroupKind.SELECT
    if not group.candidates:
        numbers = book.bucket_numbers(group.buckets)
        if len(set(numbers)) == len(numbers):
            return Choices([(bucket, bucket.weight, False) for bucket in group.buckets], [], one_only)
    # Most buckets of a group are one object; equal buckets that are distinct objects are also one choice.
    copies = Counter(map(id, group.buckets))
    distinct = list(dict(zip(map(id, group.buckets), group.buckets, strict=True)).values())
    weights: dict[int, int] = {}
    buckets: dict[int, Bucket] = {}
    for number, bucket in zip(book.bucket_numbers(distinct), distinct, strict=True):
        weights[number] = weights.get(number, 0) + bucket.weight * copies[id(bucket)]
        buckets[number] = bucket
    candidates = dict(zip(book.bucket_numbers(group.candidates), group.candidates, strict=True))
    return Choices(
        [(buckets[one], weight, one in candidates) for one, weight in weights.items()],
        [(bucket, 0) for one, bucket in candidates.items() if one not in weights],
        one_only,
    )


class GroupBuckets:
    """The buckets that the groups of a switch may apply while no port has failed, as arrays.

    Attributes:
        buckets: the bucket objects, by number; equal buckets that are separate objects have separate numbers.
    """

    def __init__(self, parts: Iterable[Sequence[Group]]) -> None:
        """Assigns numbers to the buckets of groups.

        Groups that a controller adapts, groups without buckets, and groups with a bucket of weight 0, which
        no packet takes, are left out.

        Args:
            parts: all groups of a switch, in several sequences; some may be columns.
        """
        self.buckets: list[Bucket] = []
        columns = [self._of_columns(p) if isinstance(p, GroupColumns) else self._of_objects(p) for p in parts]
        numbers, selects, counts, members = map(np.concatenate, zip(_NO_GROUPS, *columns, strict=True))
        self._numbers = members
        self._starts = np.cumsum(counts) - counts
        weighs = np.array([bucket.weight > 0 for bucket in self.buckets], bool)
        if not weighs.all():
            all_weigh = np.logical_and.reduceat(np.append(weighs[members], True), self._starts)
            counts = np.where(selects & ~all_weigh, 0, counts)
        self._counts = counts
        self._order = np.argsort(numbers)
        self._groups = numbers[self._order]

    def _of_objects(self, groups: Iterable[Group]) -> _Columns:
        """Returns the columns of groups that are objects, after adding their buckets to `buckets`."""
        plain = [group for group in groups if group.buckets and not group.candidates]
        # Groups other than select groups apply their first live bucket.
        taken = [g.buckets if g.kind is GroupKind.SELECT else g.buckets[:1] for g in plain]
        counts = np.fromiter(map(len, taken), np.intp, len(taken))
        identities = np.fromiter(map(id, chain.from_iterable(taken)), np.int64, int(counts.sum()))
        _, firsts, members = np.unique(identities, return_index=True, return_inverse=True)
        members = members + len(self.buckets)
        objects = list(chain.from_iterable(taken))
        self.buckets += [objects[first] for first in firsts.tolist()]
        numbers = np.fromiter((group.number for group in plain), np.int64, len(plain))
        selects = np.array([group.kind is GroupKind.SELECT for group in plain], bool)
        return numbers, selects, counts, members.astype(np.int32)

    def _of_columns(self, groups: GroupColumns) -> _Columns:
        """Returns the columns of the groups that have buckets, after adding these buckets to `buckets`."""
        some = groups.counts > 0
        selects = groups.selects[some]
        counts = np.where(selects, groups.counts[some], 1)
        members = groups.members[runs(groups.starts[some], counts)]
        used = np.flatnonzero(np.bincount(members))
        number_of = np.zeros(int(used.max(initial=0)) + 1, np.int32)
        number_of[used] = np.arange(len(self.buckets), len(self.buckets) + len(used))
        self.buckets += [groups.buckets[number] for number in used.tolist()]
        return groups.numbers[some], selects, counts, number_of[members]

    def of(self, groups: npt.NDArray[np.int64]) -> tuple[Numbers, npt.NDArray[np.int32]]:
        """Returns the numbers of the buckets that each given group may apply.

        Args:
            groups: the numbers of the groups.

        Returns:
            How many buckets each group has, 0 for groups that were left out; then the numbers of these
            buckets, group by group.
        """
        if not len(self._groups):
            return np.zeros(len(groups), np.intp), self._numbers
        places = np.minimum(np.searchsorted(self._groups, groups), len(self._groups) - 1)
        known = self._groups[places] == groups
        rows = self._order[places]
        counts = np.where(known, self._counts[rows], 0)
        return counts, self._numbers[runs(self._starts[rows], counts)]


# Numbers of groups, whether they select, how many buckets they have, and these buckets.
_Columns = tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], Numbers, npt.NDArray[np.int32]]
_NO_GROUPS: _Columns = np.empty(0, np.int64), np.empty(0, bool), np.empty(0, np.intp), np.empty(0, np.int32)
