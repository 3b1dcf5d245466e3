"""The different buckets that a group has, or may get from an adaptation."""

from __future__ import annotations

from typing import NamedTuple

from routing.plan.model import Bucket, Group
from routing.verification.rule_book import RuleBook


class Choices(NamedTuple):
    """The different buckets that a group has or may get.

    Attributes:
        present: buckets that the group has: the bucket, the sum of the weights of all that equal it, and
            whether an adaptation may give the group more of them.
        others: buckets that only an adaptation may give to it, with their weight, which is 0.
    """

    present: list[tuple[Bucket, int, bool]]
    others: list[tuple[Bucket, int]]


def different_choices(group: Group, book: RuleBook) -> Choices:
    """Returns the different buckets of a group.

    Args:
        group: any group.
        book: tells equal buckets from others.
    """
    # Most buckets of a group are one object; equal ones that are not are still one choice.
    numbers = book.bucket_numbers(group.buckets)
    weights: dict[int, int] = {}
    for number, bucket in zip(numbers, group.buckets, strict=True):
        weights[number] = weights.get(number, 0) + bucket.weight
    buckets = dict(zip(numbers, group.buckets, strict=True))
    candidates = dict(zip(book.bucket_numbers(group.candidates), group.candidates, strict=True))
    return Choices(
        [(buckets[one], weight, one in candidates) for one, weight in weights.items()],
        [(bucket, 0) for one, bucket in candidates.items() if one not in weights],
    )
