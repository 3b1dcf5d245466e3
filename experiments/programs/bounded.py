"""Lists that grow with what users do, bounded by number and by length, so that results stay readable."""

from __future__ import annotations

from typing import Generic, TypeVar

MAX_RECORDS = 20_000
MAX_CHARACTERS = 4 << 20  # of all records together; results of up to 128 MiB can be read

_Record = TypeVar("_Record")


class Bounded(Generic[_Record]):
    """The first records of a kind, up to both limits; further ones are counted.

    Attributes:
        more: number of records that did not fit.
    """

    def __init__(self, max_records: int = MAX_RECORDS, max_characters: int = MAX_CHARACTERS) -> None:
        """Creates an empty list; see the limits above."""
        self._records: list[_Record] = []
        self._room, self._max_records = max_characters, max_records
        self.more = 0

    def add(self, record: _Record, *texts: str) -> None:
        """Adds a record with the given texts, or counts it. After one that did not fit, no other is added."""
        length = sum(map(len, texts))
        if self.more or length > self._room or len(self._records) == self._max_records:
            self.more += 1
            return
        self._room -= length
        self._records.append(record)

    @property
    def records(self) -> tuple[_Record, ...]:
        """The records, in the order in which they were added."""
        return tuple(self._records)
