"""Kinds of results: what results of all kinds can do, and what a kind declares for it."""

from __future__ import annotations

import html
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from experiments.results.figures import Figures, LookOptions
from experiments.results.frames import Row, frame, pandas, read_frame
from experiments.results.tables import damage_named, read_csv
from topology.errors import ParameterError
from topology.parameters import Value

if TYPE_CHECKING:
    import pandas as pd

# A summary, flows of a pair of hosts if known, and the options that a sweep varies: name and value.
Packets = tuple[Any, int | None, tuple[tuple[str, Value], ...]]


@dataclass(frozen=True)
class Kind:
    """A kind of results, by the functions that draw, report and compare it.

    Functions are places, as `experiments.figures.run:draw_run`, that are imported when they are called.

    Attributes:
        name: its name in messages, as `run`.
        plural: its name in comparisons, as `runs`.
        draw: takes results; returns figures by their names.
        page: takes results; returns the page of a report.
        compare: takes a list of results; returns them side by side.
        draw_compared: takes what `compare` returns; returns the figure of it.
        draw_seed: takes results of a kind with replications that have one seed; returns figures by their
            names.
        recorded: whether results have their fabric's states over time, which the live page shows.
    """

    name: str
    plural: str
    draw: str
    page: str
    compare: str
    draw_compared: str
    draw_seed: str = ""
    recorded: bool = False

    def load(self) -> None:
        """Imports what draws results, with matplotlib, which takes a while."""
        for place in filter(None, (self.draw, self.draw_seed)):
            resolve_name(place)


@dataclass(frozen=True)
class Results:
    """Results in a folder, read when they are asked for.

    Attributes:
        folder: the folder.
        kind: their kind.
    """

    folder: Path

    kind: ClassVar[Kind]

    @classmethod
    def held_by(cls, folder: Path) -> bool:
        """Returns whether a folder holds results of this kind, unless it is of a kind before it.

        Args:
            folder: the folder.

        Raises:
            ParameterError: what decides it is missing or damaged.
        """
        raise NotImplementedError

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the CSV tables in the folder, for `to_frame`."""
        return tuple(sorted(path.stem for path in self.folder.glob("*.csv")))

    def table(self, name: str, columns: Collection[str], later: Sequence[str] = ()) -> dict[str, list[str]]:
        """Returns the columns of one of the folder's CSV files, as text.

        Args:
            name: name of the file, as `throughput.csv`.
            columns: names of the columns.
            later: of these, the columns that results of older versions lack; there they are empty.

        Raises:
            ParameterError: the file is missing or damaged.
        """
        return read_csv(self.folder / name, columns, later)

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Returns a table as a frame of pandas.

        Args:
            table: one of `tables`, whose columns docs/reference/keys.md describes; None for the results: a
                row for each run, point or failover, columns by the keys of the summary, as `latency_ms.p99`.

        Raises:
            ParameterError: the table is unknown, or the results are damaged.
            MachineError: pandas is not installed.
        """
        if table is None:
            return frame(self._rows())
        pandas()
        if table not in self.tables:
            raise ParameterError(f"table must be one of {', '.join(self.tables)}, got {table!r}")
        return read_frame(self.folder / f"{table}.csv")

    def plot(
        self, *names: str, format: str | Sequence[str] | None = None, **look: Unpack[LookOptions]
    ) -> Figures:
        """Returns the figures of `polarlab plot`, drawn in memory; a notebook shows them.

        Args:
            names: names of figures, as `throughput`; none for all.
            format: as of `polarlab.plot`.
            look: as of `polarlab.plot`.

        Raises:
            ParameterError: the results are damaged, or have no figure of a name.
        """
        from experiments.figures.look import Look, drawn_as

        chosen, draw = Look.of(format, **look), resolve_name(self.kind.draw)
        with drawn_as(chosen), damage_named(self.folder):
            drawn = draw(self)
        for name in names:
            if name not in drawn:
                raise ParameterError(f"figure must be one of {', '.join(drawn)}, got {name!r}")
        return Figures({name: drawn[name] for name in names or drawn}, self.folder, chosen.formats)

    def report(self, path: Path | str | None = None, **look: Unpack[LookOptions]) -> Path:
        """Writes one page of HTML with figures and tables, and returns the file.

        Args:
            path: new file; by default `report.html` in the folder, which may be replaced.
            look: as of `polarlab.plot`.

        Raises:
            UsageError: the results are damaged, or the file exists.
            MachineError: the folder may not be written.
            OSError: the file cannot be written.
        """
        from experiments.figures.look import Look
        from experiments.report.page import write_report

        return write_report(self, None if path is None else Path(path), Look.of(**look))

    def packets(self) -> Iterator[Packets]:
        """Yields the packets that were sent, as their summaries have them, for a cross-check.

        Raises:
            ParameterError: results of this kind have none of their own.
        """
        raise ParameterError(f"results to compare must be those of a run or a sweep, got {self.folder}")

    def _rows(self) -> Sequence[Row]:
        """Returns the results as a table, a row for each run, point or failover."""
        raise NotImplementedError

    def _short(self) -> Mapping[str, Any]:
        """Returns the values that tell most, for a glance."""
        raise NotImplementedError

    def __repr__(self) -> str:
        words = ", ".join(f"{name}={value}" for name, value in self._short().items())
        return f"<{type(self).__name__} {self.folder}: {words}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>"
            for name, value in {type(self).__name__.lower(): self.folder, **self._short()}.items()
        )
        return f"<table>{rows}</table>"


def folder_of(results: Results | str | os.PathLike[str]) -> Path:
    """Returns the folder of results.

    Args:
        results: results, or their folder.
    """
    return results.folder if isinstance(results, Results) else Path(results)
