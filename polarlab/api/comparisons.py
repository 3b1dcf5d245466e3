"""Comparisons: results of one kind side by side, as an object that draws and tabulates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Unpack

from experiments.comparison.compare import compare as compare_folders
from experiments.comparison.model import Comparison as _Comparison
from experiments.results.text import readable, with_half
from polarlab.api.figures import Figures, LookOptions
from polarlab.api.frames import Row, Table, text_table
from polarlab.api.results import Results, folder_of

_Folder = Path | str


class Comparison(Table, _Comparison):
    """Results of one kind side by side: settings in which they differ, and their results.

    Every mapping has, under each name, one value for each of `runs`; of sweeps, `points` has the results.
    """

    def rows(self) -> list[Row]:
        """Returns the table of differing settings and of results, a row for each name."""
        if self.points:
            return [
                {"point": point.name, "value": name, **dict(zip(self.runs, values, strict=True))}
                for point in self.points
                for name, values in point.values.items()
            ]
        entries = {**self.differing, **self.results}
        return [{"value": name, **dict(zip(self.runs, entries[name], strict=True))} for name in entries]

    def __repr__(self) -> str:
        """Returns the equal settings in a line, the differing ones, and the results with their intervals."""
        equal = ", ".join(f"{name} {readable(value)}" for name, value in self.same.items())
        differing: list[Row] = [
            {"value": name, **dict(zip(self.runs, values, strict=True))}
            for name, values in self.differing.items()
        ]
        # A row of a point is named by the point as well.
        halves = {("", name): row for name, row in self.intervals.items()}
        halves |= {(one.name, name): row for one in self.points for name, row in one.intervals.items()}
        rows = [
            self._with_halves(row, halves.get((row.get("point", ""), row["value"]))) for row in self.rows()
        ]
        tables: list[list[Row]] = [differing, rows] if self.points else [rows]
        return "\n".join([*([f"all: {equal}"] if equal else []), *(text_table(one) for one in tables if one)])

    def _with_halves(self, row: Row, halves: Sequence[float | None] | None) -> Row:
        """Returns a row of the table with half the widths of intervals behind its values."""
        if halves is None:
            return row
        cells = {run: with_half(row[run], half) for run, half in zip(self.runs, halves, strict=True)}
        return {**row, **cells}

    def plot(self, *, format: str | Sequence[str] | None = None, **look: Unpack[LookOptions]) -> Figures:
        """Returns the figure of all results, drawn in memory; a notebook shows it.

        Args:
            format: as of `polarlab.plot`.
            look: as of `polarlab.plot`.

        Raises:
            ParameterError: the results cannot be drawn side by side.
        """
        from experiments.figures.comparison import comparison_figure
        from experiments.figures.look import Look

        chosen = Look.of(format, **look)
        return Figures({"comparison": comparison_figure(self, chosen)}, formats=chosen.formats)

    def draw(self, path: _Folder, **look: Unpack[LookOptions]) -> None:
        """Writes the figure of all results to a new file.

        Args:
            path: the file, .png, .svg or .pdf.
            look: as of `polarlab.plot`.

        Raises:
            UsageError: the file has another ending, or exists.
            OSError: it cannot be written.
        """
        from experiments.figures.comparison import draw_comparison
        from experiments.figures.look import Look

        draw_comparison(self, Path(path), Look.of(**look))


def compare(*results: Results | _Folder) -> Comparison:
    """Returns the results of runs, of simulations, of sweeps or of failovers side by side.

    Args:
        results: at least two results of one kind, or their folders.

    Raises:
        ParameterError: there are fewer than two, one is named twice, one is not complete, or they are of
            different kinds.
    """
    found = compare_folders([folder_of(one) for one in results])
    return Comparison(**{field.name: getattr(found, field.name) for field in fields(found)})
