"""Numbers of the objects of a plan by their identities, of many objects at a time.

A plan of a large fabric names its rules four million times, and its buckets thirty million times; most of the
time goes into looking at the objects one by one, which are all over the memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]


def identities_of(objects: tuple[object, ...]) -> Numbers:
    """Returns the identity of each object of a tuple, as of `id`.

    Args:
        objects: the objects.
    """
    count = len(objects)
    if not count:
        return np.empty(0, np.int64)
    # In CPython an identity is an address, and a tuple is a header with the addresses of its items behind it.
    items = (ctypes.c_ssize_t * count).from_address(id(objects) + tuple.__basicsize__)
    if (items[0], items[count - 1]) == (id(objects[0]), id(objects[-1])):
        found: Numbers = np.ctypeslib.as_array(items).astype(np.int64)
        return found
    return np.fromiter(map(id, objects), np.int64, count)


_SLOTS = 1 << 22
_ALIGNMENT = 4  # low bits of an address that say nothing


class IdentityTable:
    """Numbers of objects by their identities, in the order in which they are first asked for.

    An identity has one slot of a table; those that find another one's number there are looked up one by one.
    Whoever asks keeps the objects.
    """

    def __init__(self) -> None:
        """Knows no object yet."""
        self._numbers: dict[int, int] = {}
        # By number; more than there are.
        self._identities = np.full(1024, -1, np.int64)
        self._slots = np.zeros(_SLOTS, np.int32)

    def of(self, objects: Sequence[tuple[object, ...]]) -> tuple[Int32, Numbers]:
        """Returns the numbers of the objects of several tuples.

        Args:
            objects: the tuples, at least one.

        Returns:
            For each object its number, from 0; and the indices of the first of each that is new, by number.
        """
        identities = np.concatenate(list(map(identities_of, objects)))
        numbers = self._slots[self._slot_of(identities)]
        missed = np.flatnonzero(self._identities[numbers] != identities).astype(np.int64)
        if not len(missed):
            return numbers, missed
        different, first, index = np.unique(identities[missed], return_index=True, return_inverse=True)
        known = np.array([self._numbers.get(one, -1) for one in different.tolist()], np.int32)
        new = np.flatnonzero(known < 0)
        new = new[np.argsort(first[new])]
        known[new] = np.arange(len(self._numbers), len(self._numbers) + len(new))
        self._add(different[new])
        numbers[missed] = known[index]
        first_new: Numbers = missed[first[new]]
        return numbers, first_new

    def _add(self, identities: Numbers) -> None:
        first, last = len(self._numbers), len(self._numbers) + len(identities)
        self._numbers.update(zip(identities.tolist(), range(first, last), strict=True))
        if last > len(self._identities):
            self._identities = np.append(self._identities, np.full(2 * last, -1, np.int64))
        self._identities[first:last] = identities
        self._slots[self._slot_of(identities)] = np.arange(first, last)

    def _slot_of(self, identities: Numbers) -> Numbers:
        return identities >> _ALIGNMENT & (_SLOTS - 1)
