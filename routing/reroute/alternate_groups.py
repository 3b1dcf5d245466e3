"""The protected groups of one router: minimal ports with alternates; equal groups are shared."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from routing.plan.columns import BucketStore, GroupColumns, runs
from routing.plan.groups import GroupRole, group_number
from routing.plan.model import Bucket, GroupKind, ToGroup
from routing.plan.port_sets import PortSets
from routing.reroute.base import alternate_bucket

Numbers = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]


class Alternate(NamedTuple):
    """An alternate of a router.

    Attributes:
        neighbour: the neighbour to which the packet goes first.
        tag: the router whose tag the packet gets; None if it keeps its tag or has none.
    """

    neighbour: int
    tag: int | None = None


Alternates = tuple[Alternate, ...]

# Identifies a bucket by numbers, which are fast to hash: the number of the group that it leads to; or its
# port, whether packets are marked, and the router whose tag they get.
_BucketKey = int | tuple[int, bool, int | None]


# The buckets that the groups of all routers share.
Buckets = BucketStore[_BucketKey]


class AlternateGroups:
    """The protected groups of one router, numbered in the order of first use."""

    def __init__(self, port_to: Mapping[int, int], port_sets: PortSets, buckets: Buckets) -> None:
        """Starts without groups.

        Args:
            port_to: neighbour -> port of the (first) link to it.
            port_sets: the minimal ports of the router.
            buckets: the buckets, shared by all routers of a fabric.
        """
        self._port_to = port_to
        self._port_sets = port_sets
        self._buckets = buckets
        self._protected: dict[tuple[tuple[int, ...], Alternates, bool], int] = {}
        self._shared = np.zeros(len(port_sets.counts), np.int64)  # group number by set of ports; 0: none
        self._numbers: dict[tuple[bool, tuple[_BucketKey, ...]], int] = {}
        self._count = 0
        # A chunk has three arrays: whether each group is a select group, its number of buckets, and the
        # buckets of all groups. The three lists collect the same for groups that are not yet in a chunk.
        self._chunks: list[tuple[Flags, Numbers, Numbers]] = []
        self._selects: list[bool] = []
        self._counts: list[int] = []
        self._members: list[int] = []

    def __len__(self) -> int:
        """Returns the number of groups so far."""
        return self._count

    def groups(self, first: int) -> GroupColumns:
        """Returns the groups from index `first` on.

        Args:
            first: an index among all groups.
        """
        self._flush()
        selects, counts, members = map(np.concatenate, zip(_NO_GROUPS, *self._chunks, strict=True))
        numbers = group_number(GroupRole.PROTECTED) + np.arange(first, self._count)
        own = members[int(counts[:first].sum()) :]
        return GroupColumns(self._buckets.buckets, numbers, selects[first:], counts[first:], own)

    def shared(self, sets: Numbers) -> npt.NDArray[np.int64]:
        """Returns, for each set of ports, the number of the group that divides packets evenly among them.

        The ports lead to several neighbours. While one is dead, the others take its share, so no alternate is
        needed.

        Args:
            sets: the numbers of the sets of minimal ports, each once.
        """
        new = sets[self._shared[sets] == 0]
        if len(new):
            self._flush()
            counts = self._port_sets.counts[new]
            ports = self._port_sets.ports[runs(self._port_sets.starts[new], counts)]
            self._chunks.append((np.ones(len(new), bool), counts, self._port_buckets[ports]))
            self._shared[new] = group_number(GroupRole.PROTECTED) + self._count + np.arange(len(new))
            self._count += len(new)
        return self._shared[sets]

    def protected(self, ports: tuple[int, ...], alternates: Alternates, *, mark: bool) -> int:
        """Returns the number of the group that outputs to ports or, while all are dead, uses alternates.

        Args:
            ports: the minimal ports, all to one neighbour; packets are divided evenly among them.
            alternates: the alternates, in order of preference.
            mark: whether the alternates mark packets (untagged ones) or change their tag (tagged ones).
        """
        key = (ports, alternates, mark)
        if key not in self._protected:
            buckets = tuple([(self._port_to[n], mark, tag) for n, tag in alternates])
            self._protected[key] = self._failover(ports, buckets)
        return self._protected[key]

    def _failover(self, ports: tuple[int, ...], alternates: tuple[_BucketKey, ...]) -> int:
        rotations = [(*ports[first:], *ports[:first]) for first in range(len(ports))]
        numbers = [
            self._number(GroupKind.FAST_FAILOVER, _minimal(rotation) + alternates) for rotation in rotations
        ]
        return numbers[0] if len(numbers) == 1 else self._number(GroupKind.SELECT, tuple(numbers))

    @cached_property
    def _port_buckets(self) -> Numbers:
        """For each port number, the number of the bucket that outputs to it; 0 if the port is not minimal."""
        ports = np.unique(self._port_sets.ports)
        numbers = np.zeros(int(ports.max(initial=0)) + 1, np.intp)
        numbers[ports] = [self._buckets.number((port, False, None)) for port in ports.tolist()]
        return numbers

    def _number(self, kind: GroupKind, keys: tuple[_BucketKey, ...]) -> int:
        key = (kind is GroupKind.SELECT, keys)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = group_number(GroupRole.PROTECTED) + self._count
            self._count += 1
            self._selects.append(key[0])
            self._counts.append(len(keys))
            self._members += map(self._buckets.number, keys)
        return number

    def _flush(self) -> None:
        """Converts the lists of the newest groups into arrays, which are appended to `_chunks`."""
        if self._selects:
            counts, members = np.array(self._counts, np.intp), np.array(self._members, np.intp)
            self._chunks.append((np.array(self._selects, bool), counts, members))
            self._selects, self._counts, self._members = [], [], []


_NO_GROUPS = np.empty(0, bool), np.empty(0, np.intp), np.empty(0, np.intp)


def _minimal(ports: tuple[int, ...]) -> tuple[_BucketKey, ...]:
    return tuple([(port, False, None) for port in ports])


@cache
def _group_bucket(number: int) -> Bucket:
    return Bucket((ToGroup(number),))


def bucket_of(key: _BucketKey) -> Bucket:
    """Returns the bucket that a `_BucketKey` describes; equal keys give the same object."""
    return _group_bucket(key) if isinstance(key, int) else alternate_bucket(*key)
