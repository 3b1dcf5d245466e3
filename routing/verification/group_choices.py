"""The different buckets that a group has, or may get from an adaptation."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from routing.plan.model import Bucket, Group, GroupKind
from routing.verification.rule_book import RuleBook


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
