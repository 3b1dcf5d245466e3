"""Points of sweeps of both engines: the row of each in `points.csv`, and what a folder holds of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec

from experiments.codec import described, omitted, read_record
from experiments.results.link_loads import LINK_LOADS
from experiments.results.manifest import SweepManifest, SweepSettings
from experiments.results.metrics import Engine, In, metrics, with_fields
from experiments.results.model import Summary
from experiments.results.run_directory import MANIFEST, seed_folder
from experiments.results.simulation.model import SimulationSummary
from experiments.results.tables import read_csv
from experiments.spec.options import SIMULATED_SWEEP, SWEEP
from experiments.spec.sweep import Point
from experiments.spec.variations import read_value, values_at
from topology.errors import ParameterError
from topology.parameters import Value, value_text

POINTS = "points.csv"
POINTS_FOLDER = "points"
_POINT = ("routing", "pattern", "load")


@dataclass(frozen=True, kw_only=True)
class SweptRow:
    """Result of a point, as a row of `points.csv`; a value that does not apply is None, an empty cell.

    Attributes:
        routing: name of the routing, with its parameters.
        pattern: traffic pattern, with its parameters.
        load: load that hosts were asked to send, 0 to 1 of the injection capacity.
        varied: key of `--vary` -> its value at this point, if it has one; in the table a column for each key
            (`seed` has its own already). Absent if the sweep varies nothing else than routings, patterns and
            loads.
    """

    engine: ClassVar[Engine]

    routing: str
    pattern: str
    load: float
    varied: Mapping[str, Value] | None = omitted()
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @property
    def point(self) -> Point:
        """The point."""
        options = ((name, value) for name, value in (self.varied or {}).items() if "." not in name)
        return Point(self.routing, self.pattern, self.load, tuple(sorted(options)))

    @property
    def sound(self) -> bool:
        """Whether the result is valid, or stable if it was simulated."""
        return bool(getattr(self, self.engine.value))

    def by_column(self) -> dict[str, Value | None]:
        """Returns the row's values by column, those of varied keys behind the point's other names."""
        values = {name: getattr(self, name) for name in columns_of((), type(self))}
        return {**{name: values[name] for name in _POINT}, **(self.varied or {}), **values}

    def cells(self) -> dict[str, str]:
        """Returns the row's cells as text, by column."""
        varied = {key: value_text(value) for key, value in (self.varied or {}).items()}
        cells = {name: _cell(value) for name, value in self.by_column().items()}
        return cells | {"load": f"{self.load:g}"} | varied


def _declared(engine: Engine) -> Iterator[tuple[str, Any, Any]]:
    """Yields a field for each column of an engine's metrics."""
    for one in metrics(engine, In.POINTS):
        required = one.required and one.kind is bool
        yield one.key, one.kind if required else one.kind | None, described(one.meaning)
        if In.HALVES in one.places:
            text = f"half the width of the 95 % confidence interval of `{one.key}`"
            yield one.half, float | None, described(text)


@dataclass(frozen=True, kw_only=True)
@with_fields(_declared(Engine.EMULATION))
class PointRow(SweptRow):
    """Result of a point that was measured."""

    engine = Engine.EMULATION


@dataclass(frozen=True, kw_only=True)
@with_fields(_declared(Engine.SIMULATION))
class SimulatedPointRow(SweptRow):
    """Result of a point that was simulated."""

    engine = Engine.SIMULATION


AnyRow = TypeVar("AnyRow", bound=SweptRow)


def columns_of(keys: Iterable[str], kind: type[SweptRow] = PointRow) -> tuple[str, ...]:
    """Returns the columns of the table of a sweep that varies some keys.

    Args:
        keys: the keys, as of `--vary`.
        kind: kind of the rows.
    """
    own = [entry.name for entry in fields(kind) if entry.name not in (*_POINT, "varied")]
    return (*_POINT, *(key for key in keys if key not in own), *own)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


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
    kind = PointRow if isinstance(summary, Summary) else SimulatedPointRow
    return kind(
        routing=point.routing,
        pattern=point.pattern,
        load=point.load,
        varied=_varied_at(point, tuple(keys)),
        **values,
    )


def _varied_at(point: Point, keys: Sequence[str]) -> Mapping[str, Value] | None:
    """Returns the values of varied keys at a point; None if the sweep varies none."""
    return values_at(point.routing, point.pattern, dict(point.options), keys) if keys else None


def read_rows(folder: Path, kind: type[AnyRow], keys: Sequence[str]) -> dict[Point, AnyRow]:
    """Returns the points of a folder, in their order.

    Args:
        folder: folder of the sweep.
        kind: kind of its rows.
        keys: keys that it varies.

    Raises:
        ParameterError: the table is missing or damaged.
    """
    required = [one.key for one in metrics(kind.engine, In.POINTS) if one.required]
    columns = columns_of(keys, kind)
    # Older versions lack some, and points of another routing the parameters of one.
    later = [
        name for name in columns if name not in (*_POINT, *required) and (name not in keys or "." in name)
    ]
    table = read_csv(folder / POINTS, columns, later)
    try:
        rows = [
            _row(dict(zip(table, cells, strict=True)), kind, keys)
            for cells in zip(*table.values(), strict=True)
        ]
    except ValueError as error:  # msgspec's errors are ValueErrors, too
        raise ParameterError(f"{folder / POINTS} is damaged: {error}") from None
    return {row.point: row for row in sorted(rows, key=lambda row: row.point.order)}


def _row(cells: dict[str, str], kind: type[AnyRow], keys: Sequence[str]) -> AnyRow:
    """Returns a row by its cells; raises ValueError if one of them does not fit."""
    options = SWEEP if kind.engine is Engine.EMULATION else SIMULATED_SWEEP
    varied = sorted((key, read_value(key, cells[key], options)) for key in keys if "." not in key)
    words = {one.key for one in metrics(kind.engine, In.POINTS) if one.kind is bool}
    values: dict[str, Any] = {name: cells[name] or None for name in columns_of((), kind)}
    values |= {name: {"yes": True, "no": False}.get(cells[name], values[name]) for name in words}
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
        seed: seed of one of its replications; None for all of them.
    """
    return f"{_stem(point, seed)}-{LINK_LOADS}"


def point_summary(point: Point, seed: int | None = None) -> str:
    """Returns the name of the summary of a point, as of `point_links`."""
    return f"{_stem(point, seed)}.json"


def _stem(point: Point, seed: int | None) -> str:
    return f"{POINTS_FOLDER}/{point.name}" + ("" if seed is None else f"-{seed_folder(seed)}")


def held_settings(folder: Path) -> SweepSettings | None:
    """Returns the settings of the sweep that a folder holds, None if it is empty.

    Raises:
        ParameterError: the folder holds something else, or a damaged sweep.
    """
    # A manifest whose writer was ended before its last byte does not count.
    if all(path.name.endswith(".partial") for path in folder.iterdir()):
        return None
    try:
        return read_sweep_manifest(folder).sweep
    except ParameterError as error:
        raise ParameterError(f"{error}; choose another --out") from None


def read_sweep_manifest(folder: Path) -> SweepManifest:
    """Returns the manifest of a sweep.

    Raises:
        ParameterError: the folder does not hold a sweep, or its manifest is damaged.
    """
    path = folder / MANIFEST
    content = read_record(path, dict[str, object])
    if "sweep" not in content:
        raise ParameterError(f"{folder} does not hold a sweep")
    return read_record(path, SweepManifest)


def point_rows(folder: Path) -> dict[Point, PointRow]:
    """Returns the points of a folder, in their order.

    Raises:
        ParameterError: the table is missing or damaged.
    """
    return read_rows(folder, PointRow, _varied_keys(folder))


def _varied_keys(folder: Path) -> tuple[str, ...]:
    """Returns the keys that the sweep of a folder varies; none where it has no manifest."""
    return tuple(read_sweep_manifest(folder).sweep.varied) if (folder / MANIFEST).exists() else ()


def measured_points(folder: Path) -> frozenset[Point]:
    """Returns the points that a folder holds; none if it has no table yet.

    Raises:
        ParameterError: the table is damaged.
    """
    return frozenset(point_rows(folder)) if (folder / POINTS).exists() else frozenset()


def rows_of(folder: Path, points: Iterable[Point]) -> list[PointRow]:
    """Returns the rows of some points of a folder, in their order.

    Args:
        folder: folder of the sweep.
        points: points that it holds.

    Raises:
        ParameterError: the table is missing or damaged.
    """
    held = point_rows(folder)
    return [held[point] for point in points]
