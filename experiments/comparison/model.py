"""Model of a comparison: settings and values of several results, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

from experiments.results.figures import Figures, LookOptions
from experiments.results.frames import Row as TableRow
from experiments.results.frames import Table, text_table
from experiments.results.metrics import METRICS, In
from experiments.results.text import readable, with_half

# A value of a manifest or a summary in JSON types: a number, a text, a list or a mapping.
JsonValue = Any
ValueRow = list[JsonValue]


@dataclass(frozen=True)
class ComparedPoint:
    """A point of several sweeps; each list has one entry per sweep, None if the sweep lacks the point.

    Attributes:
        routing, pattern, load: routing, traffic pattern and offered load of the point.
        values: column of `points.csv` -> values.
        differences: column with numbers -> each sweep's value minus the first sweep's value.
        varied: key of `--vary` -> its value at the point; may be empty.
        intervals: column -> half the width of 95 % confidence intervals, if known.
    """

    routing: str
    pattern: str
    load: float
    values: Mapping[str, ValueRow]
    differences: Mapping[str, list[float | None]]
    varied: Mapping[str, JsonValue] = field(default_factory=dict)
    intervals: Mapping[str, list[float | None]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the point in a table."""
        options = (f" {key}={readable(value)}" for key, value in self.varied.items() if "." not in key)
        return f"{self.routing} {self.pattern} {self.load:g}{''.join(options)}"


def rows_of(tables: Sequence[Mapping[str, JsonValue]]) -> dict[str, ValueRow]:
    """Merges tables into name -> values: one value per table, None if the table lacks the name."""
    names = dict.fromkeys(name for table in tables for name in table)
    return {name: [table.get(name) for table in tables] for name in names}


def compared_columns(points: Sequence[ComparedPoint]) -> list[str]:
    """Returns the columns of `points.csv` that measure quality and have a value at one of the points.

    Args:
        points: points of sweeps of one kind.
    """
    names = dict.fromkeys(one.key for one in METRICS if In.REPORT in one.places and one.better)
    return [
        name
        for name in names
        if any(value is not None for point in points for value in point.values.get(name, ()))
    ]


@dataclass(frozen=True, kw_only=True)
class Comparison(Table):
    """Results of the same kind side by side: differing settings, and values.

    `differing`, `results` and `intervals` have one value for each of `runs` under each name.

    Attributes:
        kind: kind of the results, in the plural: `runs`, `simulations`, `sweeps`, `failovers` etc.
        runs: names of the results.
        same: entries of the manifests that are equal in all results.
        differing: entries that differ; None if a manifest lacks the entry.
        results: measured values; None if a result lacks the value. Empty for sweeps, which have `points`.
        intervals: half the width of a mean's 95 % confidence interval; None for other values.
        collectives: list of (message size in bytes, bus bandwidth in bit/s) for each run; empty for other
            traffic.
        points: points of sweeps.

    Examples:
        With the results of two runs in results/tornado and results/uniform:

        >>> found = compare("results/tornado", "results/uniform")
        >>> found.runs, found.differing["pattern"], found.same["routing"]
        (('tornado', 'uniform'), ['tornado', 'uniform'], 'min')
        >>> found.results["accepted"], found.results["loss"]
        ([0.314286, 0.217715], [0.0, 0.0])
        >>> list(found.plot())
        ['comparison']
    """

    kind: str
    runs: tuple[str, ...]
    same: Mapping[str, JsonValue]
    differing: Mapping[str, ValueRow]
    results: Mapping[str, ValueRow] = field(default_factory=dict)
    intervals: Mapping[str, list[float | None]] = field(default_factory=dict)
    collectives: list[list[tuple[int, float]]] = field(default_factory=list)
    points: tuple[ComparedPoint, ...] = ()

    def rows(self) -> list[TableRow]:
        """Returns the table of differing settings and of values, one row per name."""
        if self.points:
            return [
                {"point": point.name, "value": name, **dict(zip(self.runs, values, strict=True))}
                for point in self.points
                for name, values in point.values.items()
            ]
        entries = {**self.differing, **self.results}
        return [{"value": name, **dict(zip(self.runs, entries[name], strict=True))} for name in entries]

    def __repr__(self) -> str:
        """Returns a line of equal settings, and tables of differing settings and of values with intervals."""
        equal = ", ".join(f"{name} {readable(value)}" for name, value in self.same.items())
        differing: list[TableRow] = [
            {"value": name, **dict(zip(self.runs, values, strict=True))}
            for name, values in self.differing.items()
        ]
        # Rows of sweeps are identified by point and name.
        halves = {("", name): row for name, row in self.intervals.items()}
        halves |= {(one.name, name): row for one in self.points for name, row in one.intervals.items()}
        rows = [
            self._with_halves(row, halves.get((row.get("point", ""), row["value"]))) for row in self.rows()
        ]
        tables: list[list[TableRow]] = [differing, rows] if self.points else [rows]
        return "\n".join([*([f"all: {equal}"] if equal else []), *(text_table(one) for one in tables if one)])

    def _with_halves(self, row: TableRow, halves: Sequence[float | None] | None) -> TableRow:
        """Returns a row in which each value is a text that ends with half the width of its interval."""
        if halves is None:
            return row
        cells = {run: with_half(row[run], half) for run, half in zip(self.runs, halves, strict=True)}
        return {**row, **cells}

    def plot(self, *, format: str | Sequence[str] | None = None, **look: Unpack[LookOptions]) -> Figures:
        """Returns the figure of all results, drawn in memory; a notebook shows it.

        Args:
            format: see `polarlab.plot`.
            look: see `polarlab.plot`.

        Raises:
            ParameterError: the results cannot be drawn side by side.
        """
        from experiments.figures.comparison import comparison_figure
        from experiments.figures.look import Look

        chosen = Look.of(format, **look)
        return Figures({"comparison": comparison_figure(self, chosen)}, formats=chosen.formats)

    def draw(self, path: Path | str, **look: Unpack[LookOptions]) -> None:
        """Draws all results to a new file.

        Args:
            path: the file, .png, .svg or .pdf.
            look: see `polarlab.plot`.

        Raises:
            UsageError: the file's extension is not supported, or the file exists.
            OSError: it cannot be written.
        """
        from experiments.figures.comparison import draw_comparison
        from experiments.figures.look import Look

        draw_comparison(self, Path(path), Look.of(**look))
