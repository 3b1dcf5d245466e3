"""Table of simulated points in the folder of a paper; all figures of the paper share it.

Each point is identified by a digest of everything that determines its numbers (`digests.py`).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import msgspec

from experiments.papers.performance.model import CurvePoint
from experiments.results.run_directory import RunDirectory
from topology.errors import ParameterError
from topology.files.reading import RESULT_BYTES, read_bytes, read_lines

POINTS = "points.csv"
_OF_ONE_RUN = ("curve", "seconds")  # columns that may differ between two rows with one digest
_MAX_SHARE = 1.5  # largest valid load, as a share of full load: in a short window, it may exceed 1 by chance


@dataclass(frozen=True)
class StoredPoint(CurvePoint):
    """A row of the table of simulated points: a point of a curve with one seed.

    Attributes:
        digest: digest of everything that determines the numbers.
        curve: name of the curve.
        pattern: name of the pattern.
        seed: seed of the simulation.
        seconds: run time of the simulation.
    """

    digest: str
    curve: str
    pattern: str
    seed: int
    seconds: float

    def __post_init__(self) -> None:
        """Raises ValueError for a row that no simulation can have written."""
        measured = (self.seconds, self.latency_cycles, self.accepted_ci95, self.latency_ci95_cycles)
        if any(number is not None and number < 0 for number in measured):
            raise ValueError(f"times and intervals must not be negative, got {measured}")
        shares = (self.offered, self.accepted)
        if not 0 < self.load <= 1 or not all(0 <= share <= _MAX_SHARE for share in shares):
            raise ValueError(f"loads must be shares of full load, got {self.load}, {shares}")

    @property
    def point(self) -> CurvePoint:
        """The point of the curve, from this seed alone."""
        return CurvePoint(**{entry.name: getattr(self, entry.name) for entry in fields(CurvePoint)})


class _Digested(Protocol):
    """A dataclass whose instances are identified by a digest."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def digest(self) -> str: ...


RowT = TypeVar("RowT", bound=_Digested)


class RowStore(Generic[RowT]):
    """A table in a folder whose rows are identified by digests."""

    def __init__(self, directory: RunDirectory, name: str, kind: type[RowT]) -> None:
        """Reads the rows of the table, if the file exists.

        Args:
            directory: the folder.
            name: name of the file.
            kind: dataclass of a row.

        Raises:
            ParameterError: a row is damaged, or the file is another table.
        """
        self._directory, self._name = directory, name
        self._columns = tuple(kind.__dataclass_fields__)
        file, self._known = directory.path / name, {}
        if file.exists():
            _check_header(file, self._columns)
        directory.drop_torn_row(name)
        if file.exists():
            self._known = _by_digest(_read_rows(file, kind), file)

    def get(self, digest: str) -> RowT | None:
        """Returns the row with a digest; None if it has not been simulated.

        Args:
            digest: the digest.
        """
        return self._known.get(digest)

    def add(self, row: RowT) -> None:
        """Adds a row to the table and to its file.

        Args:
            row: the row.
        """
        self._known[row.digest] = row
        values = {name: getattr(row, name) for name in self._columns}
        written = {name: "" if value is None else value for name, value in values.items()}
        self._directory.append_row(self._name, self._columns, written)


def _check_header(file: Path, columns: Sequence[str]) -> None:
    """Raises ParameterError unless a table's first line, which may be truncated, has the columns' names.

    Called before anything is written, as the caller then drops a truncated row and appends new ones.
    """
    line, end, _ = read_bytes(file, RESULT_BYTES).partition(b"\n")
    first = line.decode("utf-8-sig", errors="replace").rstrip("\r")
    torn = not end and ",".join(columns).startswith(first)
    if not torn and {*first.split(",")} != {*columns}:
        raise ParameterError(
            f"{file} is damaged at line 1, or another table: its columns must be {', '.join(columns)}; "
            "correct the line, or move the file"
        )


def _by_digest(rows: Iterable[RowT], file: Path) -> dict[str, RowT]:
    """Returns digest -> row; raises ParameterError if rows with the same digest differ in their numbers."""
    found: dict[str, RowT] = {}
    for row in rows:
        first = found.setdefault(row.digest, row)
        if _numbers(first) != _numbers(row):
            raise ParameterError(
                f"{file} has two rows with the digest {row.digest} but different numbers; "
                "remove the wrong one to simulate it again"
            )
    return found


def _numbers(row: _Digested) -> list[object]:
    """Returns the values of a row that its digest determines: all but the curve's name and the run time."""
    return [value for name, value in vars(row).items() if name not in _OF_ONE_RUN]


def _read_rows(file: Path, kind: type[RowT]) -> list[RowT]:
    """Reads the rows of a table; raises ParameterError with the line number if one is damaged."""
    stored: list[RowT] = []
    line = 1
    try:
        reader = csv.DictReader(read_lines(file, RESULT_BYTES), strict=True)
        for row in reader:
            line = reader.line_num
            present = {key: value or None for key, value in row.items()}
            stored.append(msgspec.convert(present, kind, strict=False))
            if not all(math.isfinite(one) for one in vars(stored[-1]).values() if isinstance(one, float)):
                raise ValueError
    except (csv.Error, TypeError, ValueError):  # a FileError among them
        raise ParameterError(
            f"{file} is damaged at line {line} or the next; remove the wrong rows to simulate them again"
        ) from None
    return stored


class PointStore(RowStore[StoredPoint]):
    """The table of simulated points in the folder of a paper."""

    def __init__(self, directory: RunDirectory) -> None:
        """Reads the points in a folder's table, if the folder has one."""
        super().__init__(directory, POINTS, StoredPoint)
