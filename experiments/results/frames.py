"""Tables as text, as HTML for notebooks, and as pandas data frames."""

from __future__ import annotations

import html
import io
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from topology.errors import MachineError
from topology.files.reading import RESULT_BYTES, read_bytes

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Any]
Item = TypeVar("Item")

_GAP = "  "


class Table(ABC):
    """Collection that prints as a table, also in notebooks, with one row per entry."""

    __slots__ = ()

    @abstractmethod
    def rows(self) -> list[Row]:
        """Returns the table's rows as column -> value."""

    def to_frame(self) -> pd.DataFrame:
        """Returns the table as a pandas data frame.

        Raises:
            MachineError: pandas is not installed.
        """
        return frame(self.rows())

    def __repr__(self) -> str:
        return text_table(self.rows())

    def _repr_html_(self) -> str:
        return html_table(self.rows())


class Rows(Table, tuple[Item, ...]):
    """Sequence of dataclass instances of one type."""

    __slots__ = ()

    def rows(self) -> list[Row]:
        """Returns the table's rows as column -> value."""
        return [vars(item) for item in self]


def pandas() -> Any:
    """Returns the module pandas.

    Raises:
        MachineError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        from experiments.doctor.features import pandas_installation

        raise MachineError(f"pandas is not installed; `{pandas_installation()}` installs it") from None
    return pd


def frame(rows: Iterable[Row]) -> pd.DataFrame:
    """Returns rows as a pandas data frame; absent values are NaN.

    Args:
        rows: the rows as column -> value.

    Raises:
        MachineError: pandas is not installed.
    """
    return pandas().DataFrame([dict(row) for row in rows])


def read_frame(path: Path) -> pd.DataFrame:
    """Returns a CSV file as a pandas data frame.

    Args:
        path: the file.

    Raises:
        FileError: the file cannot be read.
        MachineError: pandas is not installed.
    """
    words: dict[str, list[str]] = {"true_values": ["yes"], "false_values": ["no"]}  # before version 0.3
    return pandas().read_csv(io.BytesIO(read_bytes(path, RESULT_BYTES)), **words)


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flattens nested mappings; keys are joined by a dot, as in `latency_ms.p99`.

    Args:
        value: the mappings.
        prefix: prefix of all keys.
    """
    entries: dict[str, Any] = {}
    for name, entry in value.items():
        if isinstance(entry, Mapping):
            entries |= flat(entry, f"{prefix}{name}.")
        else:
            entries[f"{prefix}{name}"] = entry
    return entries


def text_table(rows: Sequence[Row]) -> str:
    """Returns rows as text: a line of column names, then one line per row.

    Args:
        rows: rows with the same columns.
    """
    if not rows:
        return "(none)"
    lines = [list(rows[0]), *([cell(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = ([text.ljust(width) for text, width in zip(line, widths, strict=True)] for line in lines)
    return "\n".join(_GAP.join(line).rstrip() for line in padded)


def html_table(rows: Sequence[Row]) -> str:
    """Returns rows as an HTML table.

    Args:
        rows: rows with the same columns.
    """
    head = "".join(f"<th>{html.escape(name)}</th>" for name in (rows[0] if rows else ()))
    lines = ("".join(f"<td>{html.escape(cell(value))}</td>" for value in row.values()) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def cell(value: object) -> str:
    """Returns a value as the text of a table's cell."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple | list):
        return ", ".join(map(cell, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {cell(entry)}" for name, entry in value.items())
    return str(value)
