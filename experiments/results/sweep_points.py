"""Points of sweeps of both engines: rows of `points.csv`, and file names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec

from experiments.codec import described, omitted
from experiments.results.link_loads import LINK_LOADS
from experiments.results.metrics import Engine, In, metrics, with_fields
from experiments.results.model import Summary
from experiments.results.run_directory import RunDirectory, local_time, seed_folder
from experiments.results.simulation.model import SimulationSummary
from experiments.results.tables import BOOLEANS, csv_cell, read_csv
from experiments.results.text import readable
from experiments.spec.sweep import Point
from experiments.spec.variations import read_value, values_at
from topology.errors import ParameterError
from topology.parameters import Value, value_text

POINTS = "points.csv"
POINTS_FOLDER = "points"
_POINT, _ENDED = ("routing", "pattern", "load"), "ended"


@dataclass(frozen=True, kw_only=True)
class SweptRow:
    """Result of a point, a row of `points.csv`; a value that does not apply is None, an empty cell.

    Attributes:
        routing: name of the routing, with its parameters.
        pattern: traffic pattern, with its parameters.
        load: requested load, 0 to 1 of the injection capacity.
        varied: key of `--vary` -> its value at this point, if it applies; in the table, one column per key
            (`seed` always has a column). Absent if the sweep varies only routings, patterns and loads.
        ended: local time at which the point was complete, with UTC offset, ISO 8601; absent in results of
            older versions.
    """

    engine: ClassVar[Engine]

    routing: str
    pattern: str
    load: float
    varied: Mapping[str, Value] | None = omitted()
    ended: str | None = omitted(compare=False)
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @property
    def point(self) -> Point:
        """The point that the row describes."""
        options = ((name, value) for name, value in (self.varied or {}).items() if "." not in name)
        return Point(self.routing, self.pattern, self.load, tuple(sorted(options)))

    @property
    def sound(self) -> bool:
        """Whether the result is valid (measured) or stable (simulated)."""
        return bool(getattr(self, self.engine.value))

    def by_column(self) -> dict[str, Value | None]:
        """Returns column -> value; varied keys follow routing, pattern and load."""
        values = {name: getattr(self, name) for name in columns_of((), type(self))}
        found = {**{name: values[name] for name in _POINT}, **(self.varied or {}), **values}
        return found if self.ended is None else {**found, _ENDED: self.ended}

    def cells(self) -> dict[str, str]:
        """Returns column -> text of the row's cell in a file."""
        varied = {key: value_text(value) for key, value in (self.varied or {}).items()}
        cells = {name: csv_cell(value) for name, value in self.by_column().items()}
        return cells | {"load": f"{self.load:g}"} | varied

    def shown(self) -> dict[str, str]:
        """Returns column -> text for readers; booleans are `yes` and `no`."""
        values = {name: value for name, value in vars(self).items() if isinstance(value, bool)}
        return self.cells() | {name: readable(value) for name, value in values.items()}


def _declared(engine: Engine) -> Iterator[tuple[str, Any, Any]]:
    """Yields (name, type, default) of a dataclass field for each column of an engine's metrics."""
    for one in metrics(engine, In.POINTS):
        required = one.required and one.kind is bool
        yield one.key, one.kind if required else one.kind | None, described(one.meaning)
        if In.HALVES in one.places:
            text = f"half the width of the 95 % confidence interval of `{one.key}`"
            yield one.half, float | None, described(text)


@dataclass(frozen=True, kw_only=True)
@with_fields(_declared(Engine.EMULATION))
class PointRow(SweptRow):
    """Result of a measured point."""

    engine = Engine.EMULATION


@dataclass(frozen=True, kw_only=True)
@with_fields(_declared(Engine.SIMULATION))
class SimulatedPointRow(SweptRow):
    """Result of a simulated point."""

    engine = Engine.SIMULATION


_ROWS = {kind.engine: kind for kind in (PointRow, SimulatedPointRow)}
AnyRow = TypeVar("AnyRow", bound=SweptRow)


def columns_of(keys: Iterable[str], kind: type[SweptRow] = PointRow) -> tuple[str, ...]:
    """Returns the columns of a sweep's table of points.

    Args:
        keys: keys of `--vary`.
        kind: kind of the rows.
    """
    own = [entry.name for entry in fields(kind) if entry.name not in (*_POINT, "varied", _ENDED)]
    return (*_POINT, *(key for key in keys if key not in own), *own)


def row_of(point: Point, summary: Summary | SimulationSummary, keys: Iterable[str] = ()) -> SweptRow:
    """Returns the row of a point.

    Args:
        point: the point.
        summary: its result.
        keys: keys that the sweep varies.
    """
    values = {}
    for one in metrics(summary.engine, In.POINTS):
        values[one.key] = one.of(summary)
        if In.HALVES in one.places:
            values[one.half] = one.half_of(summary)
    return _ROWS[summary.engine](
        routing=point.routing,
        pattern=point.pattern,
        load=point.load,
        varied=_varied_at(point, tuple(keys)),
        **values,
    )


def append_point(
    directory: RunDirectory, point: Point, summary: Summary | SimulationSummary, keys: Iterable[str]
) -> None:
    """Appends the row of a point to a sweep's table of points.

    Args:
        directory: folder of the sweep.
        point: the point.
        summary: its result.
        keys: keys that the sweep varies.
    """
    row = replace(row_of(point, summary, keys), ended=local_time())
    directory.append_row(POINTS, (*columns_of(keys, type(row)), _ENDED), row.cells())


def _varied_at(point: Point, keys: Sequence[str]) -> Mapping[str, Value] | None:
    """Returns key of `--vary` -> its value at a point; None if the sweep has no such keys."""
    return values_at(point.routing, point.pattern, dict(point.options), keys) if keys else None


def read_rows(folder: Path, kind: type[AnyRow], keys: Sequence[str]) -> dict[Point, AnyRow]:
    """Returns point -> row for the points of a folder, sorted.

    Args:
        folder: folder of the sweep.
        kind: class of the rows.
        keys: keys that the sweep varies.

    Raises:
        ParameterError: the table is missing or damaged.
    """
    required = [one.key for one in metrics(kind.engine, In.POINTS) if one.required]
    columns = columns_of(keys, kind)
    # Older versions lack some columns; parameters of routings that are not in the sweep have none.
    later = [
        name for name in columns if name not in (*_POINT, *required) and (name not in keys or "." in name)
    ]
    table = read_csv(folder / POINTS, (*columns, _ENDED), [*later, _ENDED])
    try:
        rows = [
            _row(dict(zip(table, cells, strict=True)), kind, keys)
            for cells in zip(*table.values(), strict=True)
        ]
    except ValueError as error:  # includes errors of msgspec
        raise ParameterError(f"{folder / POINTS} is damaged: {error}") from None
    return {row.point: row for row in sorted(rows, key=lambda row: row.point.order)}


def _row(cells: dict[str, str], kind: type[AnyRow], keys: Sequence[str]) -> AnyRow:
    """Converts a row, column -> text, to a dataclass of a kind; raises ValueError if a cell is invalid."""
    varied = sorted((key, read_value(key, cells[key], kind.engine.sweep)) for key in keys if "." not in key)
    words = {one.key for one in metrics(kind.engine, In.POINTS) if one.kind is bool}
    values: dict[str, Any] = {name: cells[name] or None for name in (*columns_of((), kind), _ENDED)}
    values |= {name: BOOLEANS.get(cells[name], values[name]) for name in words}
    row = msgspec.convert(values, kind, strict=False)
    for name, value in vars(row).items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} must be finite, got {value}")
    point = Point(row.routing, row.pattern, row.load, tuple(varied))
    return replace(row, varied=_varied_at(point, keys))


def point_links(point: Point, seed: int | None = None) -> str:
    """Returns the name of the table of a point's link loads, in the folder of its sweep.

    Args:
        point: the point.
        seed: seed of one replication; None for the combined table.
    """
    return f"{_stem(point, seed)}-{LINK_LOADS}"


def point_summary(point: Point, seed: int | None = None) -> str:
    """Returns the file name of a point's summary in its sweep's folder; arguments as for `point_links`."""
    return f"{_stem(point, seed)}.json"


def point_folder(folder: Path, point: Point) -> Path:
    """Returns the folder of a simulated point.

    Args:
        folder: folder of the sweep.
        point: the point.
    """
    return folder / POINTS_FOLDER / point.name


def _stem(point: Point, seed: int | None) -> str:
    return f"{POINTS_FOLDER}/{point.name}" + ("" if seed is None else f"-{seed_folder(seed)}")
