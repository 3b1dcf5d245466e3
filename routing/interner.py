"""Interning of plain data: equal values are represented by one object, which is built once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

Interned = TypeVar("Interned", bound=Hashable)
Representative = TypeVar("Representative")


class Interner(Generic[Interned, Representative]):
    """Maps equal values to the same representative: a number, or an object with facts about the value.

    Hashing a rule takes microseconds because its match and actions are hashed, too, and the switches of a
    fabric share most of their rules. Therefore an object that was interned before is recognised by its
    identity. This is safe because the interner keeps every object that it was given: an identity is reused
    only after its object is gone. The values must not change.
    """

    def __init__(
        self, make: Callable[[Interned], Representative], key: Callable[[Interned], Hashable] | None = None
    ) -> None:
        """Creates an empty interner.

        Args:
            make: value -> its representative; called once for equal values.
            key: value -> something that is equal for equal values only and is faster to hash than the value;
                None for the value itself.
        """
        self._make = make
        self._key = key
        self._by_key: dict[Hashable, Representative] = {}
        self._by_identity: dict[int, Representative] = {}
        self._kept: list[Interned] = []

    def __len__(self) -> int:
        """Returns the number of distinct values so far."""
        return len(self._by_key)

    def intern(self, values: Iterable[Interned]) -> list[Representative]:
        """Returns the representative of each value.

        Args:
            values: any values; the interner keeps them.

        Returns:
            One representative per value, in the order of `values`.
        """
        values = tuple(values)
        known = self._by_identity
        found = list(map(known.get, map(id, values)))
        # A representative may itself be None; it is then looked up again.
        return [
            self._represent(value) if representative is None else representative
            for value, representative in zip(values, found, strict=True)
        ]

    def one(self, value: Interned) -> Representative:
        """Returns the representative of a value.

        Args:
            value: any value; the interner keeps it.
        """
        found = self._by_identity.get(id(value))
        return self._represent(value) if found is None else found

    def _represent(self, value: Interned) -> Representative:
        known = self._by_identity
        return known[id(value)] if id(value) in known else self._add(value)

    def _add(self, value: Interned) -> Representative:
        key = value if self._key is None else self._key(value)
        if key not in self._by_key:
            self._by_key[key] = self._make(value)
        self._kept.append(value)
        representative = self._by_identity[id(value)] = self._by_key[key]
        return representative
