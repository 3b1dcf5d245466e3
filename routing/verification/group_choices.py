"""The different buckets that groups have, or may get from an adaptation.

A fabric may have a million groups with a dozen buckets each, most of them sets of the same few buckets. So a
proof runs each bucket once, and finds the outcomes of all groups by the numbers of their buckets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from routing.plan.model import Bucket, Group, GroupKind
from routing.verification.rule_book import Numbers, RuleBook


class Choices(NamedTuple):
    """The different buckets that a group has or may get.

    Attributes:
        present: buckets that the group has: the bucket, the sum of the weights of all that equal it, and
            whether an adaptation may give the group more of them.
        others: buckets that only an adaptation may give to it, with their weight, which is 0.
        one_only: whether the group applies the first bucket that lives, instead of one by a hash.
    """

    present: list[tuple[Bucket, int, bool]]
    others: list[tuple[Bucket, int]]
    one_only: bool

    def possible(self, failed_ports: frozenset[int]) -> tuple[list[tuple[Bucket, int]], set[int]]:
        """Returns the buckets that the group may apply, with their weights, and the ports that mattered.

        They are those of now, and those after an adaptation: a bucket that only an adaptation may put in, or
        bring back to life, has the weight 0.

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


def different_choices(group: Group, book: RuleBook) -> Choices:
    """Returns the different buckets of a group.

    Args:
        group: any group.
        book: tells equal buckets from others.
    """
    one_only = group.kind is not GroupKind.SELECT
    if not group.candidates:
        numbers = book.bucket_numbers(group.buckets)
        if len(set(numbers)) == len(numbers):
            return Choices([(bucket, bucket.weight, False) for bucket in group.buckets], [], one_only)
    # Most buckets of a group are one object; equal ones that are not are still one choice.
    copies = Counter(map(id, group.buckets))
    different = list(dict(zip(map(id, group.buckets), group.buckets, strict=True)).values())
    weights: dict[int, int] = {}
    buckets: dict[int, Bucket] = {}
    for number, bucket in zip(book.bucket_numbers(different), different, strict=True):
        weights[number] = weights.get(number, 0) + bucket.weight * copies[id(bucket)]
        buckets[number] = bucket
    candidates = dict(zip(book.bucket_numbers(group.candidates), group.candidates, strict=True))
    return Choices(
        [(buckets[one], weight, one in candidates) for one, weight in weights.items()],
        [(bucket, 0) for one, bucket in candidates.items() if one not in weights],
        one_only,
    )


class GroupBuckets:
    """The buckets that the groups of a switch may apply while none of its ports has failed, as arrays.

    Attributes:
        buckets: the different buckets, by number; equal ones that are two objects have two numbers.
    """

    def __init__(self, groups: Iterable[Group]) -> None:
        """Numbers the buckets of groups.

        Left out are groups that a controller adapts, groups without a bucket, and those with a bucket of
        weight 0, which no packet takes.

        Args:
            groups: all groups of a switch.
        """
        plain = [group for group in groups if group.buckets and not group.candidates]
        # Other groups than select ones apply the first bucket that lives.
        taken = [g.buckets if g.kind is GroupKind.SELECT else g.buckets[:1] for g in plain]
        counts = np.fromiter(map(len, taken), np.intp, len(taken))
        identities = np.fromiter(map(id, chain.from_iterable(taken)), np.int64, int(counts.sum()))
        _, firsts, numbers = np.unique(identities, return_index=True, return_inverse=True)
        objects = list(chain.from_iterable(taken))
        self.buckets: list[Bucket] = [objects[first] for first in firsts.tolist()]
        self._numbers = numbers.astype(np.int32)
        self._starts = np.cumsum(counts) - counts
        weighs = np.array([bucket.weight > 0 for bucket in self.buckets], bool)
        if not weighs.all():
            selects = np.array([group.kind is GroupKind.SELECT for group in plain], bool)
            counts[selects & ~np.logical_and.reduceat(weighs[self._numbers], self._starts)] = 0
        self._counts = counts
        groups_of = np.fromiter((group.number for group in plain), np.int64, len(plain))
        self._order = np.argsort(groups_of)
        self._groups = groups_of[self._order]

    def of(self, groups: npt.NDArray[np.int64]) -> tuple[Numbers, npt.NDArray[np.int32]]:
        """Returns the numbers of the buckets that each of some groups may apply.

        Args:
            groups: the numbers of groups of the switch.

        Returns:
            For each group, the number of its buckets, 0 for groups that were left out; the buckets' numbers,
            group by group.
        """
        if not len(self._groups):
            return np.zeros(len(groups), np.intp), self._numbers
        places = np.minimum(np.searchsorted(self._groups, groups), len(self._groups) - 1)
        known = self._groups[places] == groups
        rows = self._order[places]
        counts = np.where(known, self._counts[rows], 0)
        return counts, self._numbers[runs(self._starts[rows], counts)]


def runs(starts: Numbers, counts: Numbers) -> Numbers:
    """Returns the numbers of several runs, one run after the other.

    Args:
        starts: the first number of each run.
        counts: the length of each run.
    """
    firsts = np.cumsum(counts) - counts
    return np.repeat(starts - firsts, counts) + np.arange(int(counts.sum()))
