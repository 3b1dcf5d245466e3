"""Rows of the tables of sweeps, a point each: read back as typed records, whatever the sweep's engine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec

from experiments.results.tables import read_csv
from experiments.spec.sweep import Point
from experiments.spec.variations.values import read_value, values_at
from topology.errors import ParameterError
from topology.parameters import Value, value_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
else:
    DataclassInstance = object

POINTS = "points.csv"
POINTS_FOLDER = "points"
# Columns behind which those of the varied keys stand.
_POINT_COLUMNS = 3


class SweptRow(DataclassInstance):
    """Part that the rows of all sweeps share: the point, and the cells of the table.

    Attributes:
        words: columns of true or false, `yes` or `no` in the table.
        later: columns that results of older versions lack.
    """

    words: ClassVar[tuple[str, ...]] = ()
    later: ClassVar[tuple[str, ...]] = ()
    if TYPE_CHECKING:
        routing: str
        pattern: str
        load: float
        varied: Mapping[str, Value] | None

    @property
    def point(self) -> Point:
        """The point."""
        options = ((name, value) for name, value in (self.varied or {}).items() if "." not in name)
        return Point(self.routing, self.pattern, self.load, tuple(sorted(options)))

    def by_column(self) -> dict[str, Value | None]:
        """Returns the row's values by column, those of varied keys behind the point's other names."""
        values = {name: getattr(self, name) for name in own_columns(type(self))}
        point = {name: values[name] for name in list(values)[:_POINT_COLUMNS]}
        return {**point, **(self.varied or {}), **values}

    def cells(self) -> dict[str, str]:
        """Returns the row's cells as text, by column."""
        varied = {key: value_text(value) for key, value in (self.varied or {}).items()}
        cells = {name: _cell(value) for name, value in self.by_column().items()}
        return cells | {"load": f"{self.load:g}"} | varied


AnyRow = TypeVar("AnyRow", bound=SweptRow)


def own_columns(kind: type[SweptRow]) -> tuple[str, ...]:
    """Returns the columns of a kind of rows, without those of varied keys."""
    return tuple(field.name for field in fields(kind) if field.name != "varied")


def columns_with(kind: type[SweptRow], keys: Iterable[str]) -> tuple[str, ...]:
    """Returns the columns of the table of a sweep that varies some keys.

    Args:
        kind: kind of the rows.
        keys: the keys, as of `--vary`.
    """
    columns = own_columns(kind)
    varied = (key for key in keys if key not in columns)
    return (*columns[:_POINT_COLUMNS], *varied, *columns[_POINT_COLUMNS:])


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def varied_at(point: Point, keys: Iterable[str]) -> Mapping[str, Value] | None:
    """Returns the values of varied keys at a point; None if the sweep varies none.

    Args:
        point: the point.
        keys: keys that the sweep varies.
    """
    keys = tuple(keys)
    return values_at(point.routing, point.pattern, dict(point.options), keys) if keys else None


def read_rows(folder: Path, kind: type[AnyRow], keys: Sequence[str], engine: str) -> dict[Point, AnyRow]:
    """Returns the points of a folder, in their order.

    Args:
        folder: folder of the sweep.
        kind: kind of its rows.
        keys: keys that it varies.
        engine: SWEEP or SIMULATED_SWEEP, whose options these are.

    Raises:
        ParameterError: the table is missing or damaged.
    """
    later = (*kind.later, *(key for key in keys if "." in key))
    table = read_csv(folder / POINTS, columns_with(kind, keys), later)
    try:
        rows = [
            _row(dict(zip(table, cells, strict=True)), kind, keys, engine)
            for cells in zip(*table.values(), strict=True)
        ]
    except ValueError as error:  # msgspec's errors are ValueErrors, too
        raise ParameterError(f"{folder / POINTS} is damaged: {error}") from None
    return {row.point: row for row in sorted(rows, key=lambda row: row.point.order)}


def _row(cells: dict[str, str], kind: type[AnyRow], keys: Sequence[str], engine: str) -> AnyRow:
    """Returns a row by its cells; raises ValueError if one of them does not fit."""
    options = sorted((key, read_value(key, cells[key], engine)) for key in keys if "." not in key)
    values: dict[str, Any] = {name: cells[name] or None for name in own_columns(kind)}
    words = {name: {"yes": True, "no": False}.get(cells[name], cells[name] or None) for name in kind.words}
    row = msgspec.convert({**values, **words}, kind, strict=False)
    for name, value in vars(row).items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} must be finite, got {value}")
    return replace(row, varied=varied_at(Point(row.routing, row.pattern, row.load, tuple(options)), keys))
