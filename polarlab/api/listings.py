"""Listings: named entries, as of families or routings, to look up and to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from polarlab.api.frames import Table


class Named(Protocol):
    """Entry of a listing, a dataclass with a name."""

    @property
    def name(self) -> str:
        """The name."""


Entry = TypeVar("Entry", bound=Named)


def row_with_parameters(entry: Any) -> dict[str, Any]:
    """Returns the row of an entry that has parameters: their names, in brackets where they have a default."""
    names = tuple(one.name if one.required else f"[{one.name}]" for one in entry.parameters)
    return {name: value for name, value in vars(entry).items() if name != "plan_parameters"} | {
        "parameters": names
    }


@dataclass(frozen=True, repr=False)
class Listing(Table, Mapping[str, Entry], Generic[Entry]):
    """Entries by their names, in their order.

    Attributes:
        entries: the entries.
        row: the columns of an entry's row.
    """

    entries: tuple[Entry, ...]
    row: Callable[[Entry], Mapping[str, Any]] = vars

    def __getitem__(self, name: str) -> Entry:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(entry.name for entry in self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def rows(self) -> list[Mapping[str, Any]]:
        """Returns the table, a mapping from columns to values for each entry."""
        return [self.row(entry) for entry in self.entries]
