"""The groups of a switch by their numbers; those in columns are made objects one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from routing.plan.group_columns import GroupColumns
from routing.plan.model import Group


class GroupIndex(Mapping[int, Group]):
    """The groups of a switch by their numbers.

    Attributes:
        parts: the groups in their order, in parts of which some are columns.
    """

    def __init__(self, parts: Sequence[Sequence[Group]]) -> None:
        """Indexes groups.

        Args:
            parts: as of the class.
        """
        self.parts = parts
        self._known: dict[int, Group] = {}
        for part in parts:
            if not isinstance(part, GroupColumns):
                self._known.update((group.number, group) for group in part)

    @cached_property
    def numbers(self) -> npt.NDArray[np.int64]:
        """The numbers of all groups, ascending."""
        columns = [part.numbers for part in self.parts if isinstance(part, GroupColumns)]
        objects = [g.number for part in self.parts if not isinstance(part, GroupColumns) for g in part]
        return np.sort(np.concatenate([np.array(objects, np.int64), *columns]))

    @property
    def ambiguous(self) -> bool:
        """Whether two groups have the same number."""
        return bool((self.numbers[1:] == self.numbers[:-1]).any())

    def has(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Returns for each of some numbers whether there is such a group.

        Args:
            numbers: any numbers.
        """
        places = np.searchsorted(self.numbers, numbers)
        return np.asarray(np.append(self.numbers, -1)[places] == numbers)

    def __contains__(self, number: object) -> bool:
        """Returns whether there is a group of a number."""
        return number in self._known or self._place(number) is not None

    def __getitem__(self, number: int) -> Group:
        """Returns the group of a number."""
        found = self._known.get(number)
        if found is None:
            place = self._place(number)
            if place is None:
                raise KeyError(number)
            found = self._known[number] = place[0].group(place[1])
        return found

    def __iter__(self) -> Iterator[int]:
        """Yields the numbers of all groups."""
        for part in self.parts:
            if isinstance(part, GroupColumns):
                yield from part.numbers.tolist()
            else:
                yield from (group.number for group in part)

    def __len__(self) -> int:
        """Returns the number of groups."""
        return sum(map(len, self.parts))

    def _place(self, number: object) -> tuple[GroupColumns, int] | None:
        for groups, places in self._places:
            if number in places:
                return groups, places[number]
        return None

    @cached_property
    def _places(self) -> list[tuple[GroupColumns, dict[object, int]]]:
        """The groups in columns, with the place of each number."""
        return [
            (part, {number: place for place, number in enumerate(part.numbers.tolist())})
            for part in self.parts
            if isinstance(part, GroupColumns)
        ]
