"""Layout of the buckets of select groups, with which Open vSwitch divides traffic evenly and independently.

Open vSwitch hashes a packet once at each switch, and the low bits of the hash choose one of 2^k slots: as
many as there are buckets of equal weight, rounded up, at least 16 and at most 256. Buckets get slots in turn.
So 12 buckets would share 16 slots, four of them with twice the traffic of the others. And of two groups that
a packet meets at one switch, the second would repeat the choice of the first.

Buckets are therefore repeated. A source's choice of an intermediate router gets 256 slots in blocks, one
block for each bucket. The choice among ports, which may follow at the same switch, uses the low bits within a
block.
"""

from __future__ import annotations

from collections.abc import Sequence

from routing.plan.model import Bucket, Group, GroupKind, PushVlan

_SLOTS = 256  # the most that Open vSwitch uses
_FEWEST_SLOTS = 16
# So that one of up to 12 buckets gets at most 5 % more than another. More buckets share all 256 slots: one of
# 13 gets up to 5.3 % more (20 slots against 19), one of 100 up to half more (3 against 2).
_MIN_SLOTS_PER_BUCKET = 20


def buckets_in_slots(group: Group) -> Sequence[Bucket]:
    """Returns the buckets of a group as they are sent to a switch, some of them several times.

    Groups that a control law adapts, and groups with different weights, stay as they are.
    """
    buckets = group.buckets
    count = len(buckets)
    equal = all(bucket.weight == buckets[0].weight for bucket in buckets)
    if group.kind is not GroupKind.SELECT or group.candidates or not equal or not 1 < count <= _SLOTS:
        return buckets
    if any(PushVlan() in bucket.actions for bucket in buckets):
        return [buckets[slot * count // _SLOTS] for slot in range(_SLOTS)]
    slots = _FEWEST_SLOTS
    while slots % count and slots < min(_SLOTS, _MIN_SLOTS_PER_BUCKET * count):
        slots *= 2
    return [buckets[slot % count] for slot in range(slots)]
