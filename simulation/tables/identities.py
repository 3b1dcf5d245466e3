"""Numbers the objects of a plan by their identities, many objects at a time.

A plan of a large fabric refers to rules four million times and to buckets thirty million times. Visiting the
objects one by one would take most of the time, because they are scattered over memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]


def identities_of(objects: tuple[object, ...]) -> Numbers:
    """Returns the identity (`id`) of each object of a tuple.

    Args:
        objects: the objects.
    """
    count = len(objects)
    if not count:
        return np.empty(0, np.int64)
    # In CPython, an identity is an address, and a tuple is a header followed by the addresses of its items.
    items = (ctypes.c_ssize_t * count).from_address(id(objects) + tuple.__basicsize__)
    if (items[0], items[count - 1]) == (id(objects[0]), id(objects[-1])):
        addresses: Numbers = np.ctypeslib.as_array(items).astype(np.int64)
        return addresses
    return np.fromiter(map(id, objects), np.int64, count)


_SLOTS = 1 << 22
_ALIGNMENT = 4  # low bits of an address, which are always 0


class IdentityTable:
    """Numbers objects by identity, in the order of their first lookup.

    A hash table with one slot per hash answers most lookups directly; collisions are resolved one by one in a
    dictionary. Callers must keep the objects alive, or their identities could be reused.
    """

    def __init__(self) -> None:
        """Creates an empty table."""
        self._numbers: dict[int, int] = {}
        # By number; longer than the number of objects, to grow rarely.
        self._identities = np.full(1024, -1, np.int64)
        self._slots = np.zeros(_SLOTS, np.int32)

    def numbers_of(self, objects: Sequence[tuple[object, ...]]) -> tuple[Int32, Numbers]:
        """Returns the numbers of the objects of several tuples.

        Args:
            objects: the tuples, at least one.

        Returns:
            The number of each object, from 0; and the index of the first occurrence of each new object, by
            number.
        """
        identities = np.concatenate(list(map(identities_of, objects)))
        numbers = self._slots[self._slot_of(identities)]
        missed = np.flatnonzero(self._identities[numbers] != identities).astype(np.int64)
        if not len(missed):
            return numbers, missed
        distinct, first, index = np.unique(identities[missed], return_index=True, return_inverse=True)
        known = np.array([self._numbers.get(one, -1) for one in distinct.tolist()], np.int32)
        new = np.flatnonzero(known < 0)
        new = new[np.argsort(first[new])]
        known[new] = np.arange(len(self._numbers), len(self._numbers) + len(new))
        self._add(distinct[new])
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
