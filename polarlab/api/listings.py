"""Listings of named entries, such as families or routings."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from experiments.results.frames import Table, cell


class Named:
    """Entry of a listing, a dataclass with a name; prints as lines, in notebooks as a table.

    Attributes:
        name: its name.
    """

    name: str

    def _shown(self) -> dict[str, str]:
        """Returns attribute -> text, for all attributes but the name and the parameters."""
        hidden = ("name", "parameters", "plan_parameters")
        return {name: cell(value) for name, value in vars(self).items() if name not in hidden}

    def _parameters(self) -> dict[str, str]:
        """Returns name of a parameter -> its description."""
        return {one.name: one.described for one in getattr(self, "parameters", ())}

    def __repr__(self) -> str:
        parts = [_lines(self._shown(), "  ")]
        if self._parameters():
            parts += [["  parameters"], _lines(self._parameters(), "    ")]
        return "\n".join([self.name, *(line for part in parts for line in part)])

    def _repr_html_(self) -> str:
        parameters = {f"parameter {name}": text for name, text in self._parameters().items()}
        rows = {"name": self.name, **self._shown(), **parameters}
        cells = (
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>"
            for name, text in rows.items()
        )
        return f"<table>{''.join(cells)}</table>"


def _lines(texts: Mapping[str, str], indent: str) -> list[str]:
    """Returns a line for each entry of a mapping: the name, padded to equal width, and the text."""
    width = max(map(len, texts), default=0)
    return [f"{indent}{name.ljust(width)}  {text}" for name, text in texts.items()]


Entry = TypeVar("Entry", bound=Named)


def row_with_parameters(entry: Any) -> dict[str, Any]:
    """Returns an entry as column -> value; names of parameters with a default are in brackets."""
    names = tuple(one.name if one.required else f"[{one.name}]" for one in entry.parameters)
    return {name: value for name, value in vars(entry).items() if name != "plan_parameters"} | {
        "parameters": names
    }


@dataclass(frozen=True, repr=False)
class Listing(Table, Mapping[str, Entry], Generic[Entry]):
    """Entries by name, in a fixed order.

    Attributes:
        entries: the entries.
        row: entry -> its row in the table, as column -> value.

    Examples:
        >>> found = routings()
        >>> found["min"].summary, len(found) == len(found.rows())
        ('the shortest path', True)
        >>> "tornado" in patterns()
        True
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
        """Returns a row for each entry, as column -> value."""
        return [self.row(entry) for entry in self.entries]
