"""Layout of select groups' buckets that makes Open vSwitch divide traffic as planned in each group.

Open vSwitch hashes a packet once at each switch, and the low bits of the hash choose one of 2^k slots: the
number of buckets of equal weight, rounded up, but at least 16 and at most 256. Buckets get slots in turn, by
their weights. So 12 equal buckets would share 16 slots, four of them with twice the traffic of the others,
and weights of 1 and 4 would get 3 and 13. And if a packet met two groups at one switch, the second would
repeat the choice of the first.

Buckets are therefore repeated, all with equal weights. A source's choice of an intermediate router gets 256
slots in blocks, one block for each bucket. The choice among ports, which may follow at the same switch, uses
the low bits within a block: its buckets alternate.

A bucket whose share is s gets 256 s slots, rounded, and at least one. Up to 12 equal buckets therefore differ
by at most 5 %. More of them differ by one slot: 100 buckets get 2 or 3 slots, and 129 to 255 get 1 or 2, so
that one carries twice the traffic of another. A share below 1/256 becomes 1/256.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from routing.plan.model import Bucket, Group, GroupKind, PushVlan

_SLOTS = 256  # the most that Open vSwitch uses
_FEWEST_SLOTS = 16
# So that rounding changes no share by more than 2.5 %, where 256 slots suffice.
_MIN_SLOTS_PER_BUCKET = 20


def buckets_in_slots(group: Group) -> Sequence[Bucket]:
    """Returns the buckets of a group as they are sent to a switch, some of them several times.

    Groups that a control law adapts, groups with a bucket that is never taken (its weight is 0), and groups
    of more than 256 buckets stay as they are.
    """
    buckets = group.buckets
    if group.kind is not GroupKind.SELECT or group.candidates or not 1 < len(buckets) <= _SLOTS:
        return buckets
    weights = tuple(bucket.weight for bucket in buckets)
    if min(weights) < 1:
        return buckets
    in_blocks = any(PushVlan() in bucket.actions for bucket in buckets)
    equal = [bucket if bucket.weight == 1 else replace(bucket, weight=1) for bucket in buckets]
    return [equal[place] for place in _layout(weights, in_blocks)]


@lru_cache(maxsize=1024)  # the switches of a fabric have few different weights
def _layout(weights: tuple[int, ...], in_blocks: bool) -> tuple[int, ...]:
    """Returns the bucket of each slot.

    Args:
        weights: the buckets' weights, at least 1.
        in_blocks: whether the slots of a bucket are adjacent, rather than spread evenly.
    """
    total = sum(weights)
    slots = _SLOTS if in_blocks else _FEWEST_SLOTS
    enough = min(_SLOTS, _MIN_SLOTS_PER_BUCKET * total // min(weights))
    while slots * math.gcd(*weights) % total and slots < enough:
        slots *= 2
    numbers = _numbers(weights, slots)
    if in_blocks:
        return tuple(place for place, number in enumerate(numbers) for _ in range(number))
    turns = (
        (place, (2 * turn + 1) / number) for place, number in enumerate(numbers) for turn in range(number)
    )
    return tuple(place for place, _ in sorted(turns, key=lambda turn: turn[1]))


def _numbers(weights: Sequence[int], slots: int) -> list[int]:
    """Returns the number of slots of each bucket, at least 1: the largest remainders are rounded up.

    Of equal remainders, evenly spaced ones are rounded up, because neighbouring buckets often use the same
    port.
    """
    total = sum(weights)
    numbers = [max(1, weight * slots // total) for weight in weights]
    while spare := slots - sum(numbers):
        step = 1 if spare > 0 else -1  # fewer than none are spare if many small shares were raised to 1
        missing = {
            place: step * (weight * slots - number * total)
            for place, (weight, number) in enumerate(zip(weights, numbers, strict=True))
            if number + step
        }
        most = max(missing.values())
        places = [place for place, value in missing.items() if value == most]
        changed = min(abs(spare), len(places))
        for turn in range(changed):
            numbers[places[turn * len(places) // changed]] += step
    return numbers
