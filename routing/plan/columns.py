"""The rules and groups of a switch as columns: arrays, which make planning and proving large fabrics fast."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

from routing.plan.model import Bucket, Group, GroupKind, Rule, SwitchPlan
from routing.plan.rule_store import RuleStore

Key = TypeVar("Key")
Numbers = npt.NDArray[np.intp]


class BucketStore(Generic[Key]):
    """The buckets of a fabric's groups, numbered in the order of first use.

    Attributes:
        buckets: the buckets by number.
    """

    def __init__(self, make: Callable[[Key], Bucket]) -> None:
        """Creates an empty store.

        Args:
            make: key -> its bucket; called once for equal keys.
        """
        self.buckets: list[Bucket] = []
        self._make = make
        self._numbers: dict[Key, int] = {}

    def number(self, key: Key) -> int:
        """Returns the number of the bucket that `make` builds from a key, adding the bucket if it is new.

        Args:
            key: any key.
        """
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.buckets)
            self.buckets.append(self._make(key))
        return found


class GroupColumns(Sequence[Group]):
    """Groups without candidates, stored as arrays; all `Group` objects are built when one is first read.

    Attributes:
        buckets: the buckets of the whole fabric, by number.
        numbers: the numbers of the groups.
        selects: bool array: whether each group is of GroupKind.SELECT; others are FAST_FAILOVER.
        counts: how many buckets each group has.
        starts: the index in `members` of the first bucket of each group.
        members: the numbers of the buckets, group by group.
    """

    def __init__(
        self,
        buckets: list[Bucket],
        numbers: Numbers,
        selects: npt.NDArray[np.bool_],
        counts: Numbers,
        members: Numbers,
    ) -> None:
        """Stores the columns; see the class."""
        self.buckets = buckets
        self.numbers = numbers
        self.selects = selects
        self.counts = counts
        self.starts = np.cumsum(counts) - counts
        self.members = members
        self._built: tuple[Group, ...] | None = None

    def __len__(self) -> int:
        """Returns the number of groups."""
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> Group: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Group, ...]: ...
    def __getitem__(self, index: int | slice) -> Group | tuple[Group, ...]:
        """Returns one group or a slice of them."""
        return self.built()[index]

    def __iter__(self) -> Iterator[Group]:
        """Yields the groups."""
        return iter(self.built())

    def built(self) -> tuple[Group, ...]:
        """Returns the groups as objects; every call returns the same objects."""
        if self._built is None:
            buckets = list(map(self.buckets.__getitem__, self.members.tolist()))
            columns = (self.numbers, self.selects, self.starts, self.starts + self.counts)
            rows = zip(*(column.tolist() for column in columns), strict=True)
            kinds = (GroupKind.FAST_FAILOVER, GroupKind.SELECT)
            self._built = tuple(
                [Group(number, kinds[select], tuple(buckets[a:b])) for number, select, a, b in rows]
            )
        return self._built

    def group(self, place: int) -> Group:
        """Returns one group as an object, without building the others.

        Args:
            place: index of the group in this sequence.
        """
        if self._built is not None:
            return self._built[place]
        start = int(self.starts[place])
        members = self.members[start : start + int(self.counts[place])].tolist()
        kind = GroupKind.SELECT if self.selects[place] else GroupKind.FAST_FAILOVER
        return Group(int(self.numbers[place]), kind, tuple(map(self.buckets.__getitem__, members)))

    def used(self) -> Numbers:
        """Returns the numbers of the buckets that the groups use, ascending."""
        return np.flatnonzero(np.bincount(self.members))


def distinct_buckets(parts: Iterable[Sequence[Group]]) -> list[Bucket]:
    """Returns the buckets and candidates of groups, each object once.

    Args:
        parts: sequences of groups.
    """
    found: dict[int, Bucket] = {}  # by identity; the groups keep the objects alive
    stores: dict[int, tuple[list[Bucket], list[GroupColumns]]] = {}
    for part in parts:
        if isinstance(part, GroupColumns):
            stores.setdefault(id(part.buckets), (part.buckets, []))[1].append(part)
            continue
        for group in part:
            for buckets in (group.buckets, group.candidates):
                if buckets:
                    found.update(zip(map(id, buckets), buckets, strict=True))
    for store, columns in stores.values():
        used = np.zeros(len(store), bool)
        for one in columns:
            used[one.members] = True
        found.update((id(store[number]), store[number]) for number in np.flatnonzero(used).tolist())
    return list(found.values())


def runs(starts: Numbers, counts: Numbers) -> Numbers:
    """Concatenates runs of consecutive numbers: run i has counts[i] numbers, from starts[i] on.

    Args:
        starts: the first number of each run.
        counts: the length of each run.
    """
    firsts = np.cumsum(counts) - counts
    return np.repeat(starts - firsts, counts) + np.arange(int(counts.sum()))


@dataclass(frozen=True, eq=False, slots=True)
class SwitchColumns:
    """The rules and groups of a switch.

    Attributes:
        store: the rules of the fabric.
        rules: the switch's rules, in order, by their numbers in the store.
        groups: the groups in order, in several sequences; some of these are `GroupColumns`.
    """

    store: RuleStore
    rules: npt.NDArray[np.intp]
    groups: tuple[Sequence[Group], ...]

    def build_rules(self) -> tuple[Rule, ...]:
        """Builds the rules of the switch, in order."""
        return self.store.rules(self.rules)

    def build_groups(self) -> tuple[Group, ...]:
        """Builds the groups of the switch, in order."""
        return tuple(chain.from_iterable(self.groups))

    def counts(self) -> tuple[int, int, int]:
        """Counts the rules, the groups and the buckets of these groups."""
        buckets = (
            len(part.members) if isinstance(part, GroupColumns) else sum(len(group.buckets) for group in part)
            for part in self.groups
        )
        return len(self.rules), sum(map(len, self.groups)), sum(buckets)


def group_parts(switch: SwitchPlan) -> tuple[Sequence[Group], ...]:
    """Returns the groups of a switch in several sequences, some of which may be `GroupColumns`.

    Args:
        switch: the plan of any switch.
    """
    columns = switch.columns
    return columns.groups if isinstance(columns, SwitchColumns) else (switch.groups,)
