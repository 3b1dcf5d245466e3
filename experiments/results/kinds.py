"""Kinds of results: the interface that all results share, and the declaration of a kind."""

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
from experiments.results.tables import read_csv, reporting_corruption
from topology.errors import ParameterError
from topology.parameters import Value

if TYPE_CHECKING:
    import pandas as pd

# A measurement to cross-check: summary, flows per host pair if known, and (name, value) of varied options.
Packets = tuple[Any, int | None, tuple[tuple[str, Value], ...]]


@dataclass(frozen=True)
class Kind:
    """A kind of results, with the functions that draw, report and compare results of this kind.

    Functions are given as text, such as `experiments.figures.run:draw_run`, and imported when needed.

    Attributes:
        name: its name in messages, such as `run`.
        plural: its name in comparisons, such as `runs`.
        draw: results -> (name -> figure).
        page: results -> page of a report.
        compare: list of results -> comparison.
        draw_compared: comparison -> figure.
        draw_seed: results of a single seed -> (name -> figure); only for kinds with replications.
        recorded: whether results contain the fabric's states over time, which the live page can replay.
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
        """Imports the drawing functions and matplotlib, which takes a while."""
        for place in filter(None, (self.draw, self.draw_seed)):
            resolve_name(place)


@dataclass(frozen=True)
class Results:
    """Results in a folder, read on first access.

    Attributes:
        folder: the folder.
        kind: their kind.
    """

    folder: Path

    kind: ClassVar[Kind]

    @classmethod
    def held_by(cls, folder: Path) -> bool:
        """Returns whether a folder contains results of this kind; earlier entries of KINDS take precedence.

        Args:
            folder: the folder.

        Raises:
            ParameterError: a file needed to decide is missing or damaged.
        """
        raise NotImplementedError

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the CSV tables in the folder, for `to_frame`."""
        return tuple(sorted(path.stem for path in self.folder.glob("*.csv")))

    def table(self, name: str, columns: Collection[str], later: Sequence[str] = ()) -> dict[str, list[str]]:
        """Returns the columns of one of the folder's CSV files, as text.

        Args:
            name: name of the file, such as `throughput.csv`.
            columns: names of the columns.
            later: columns that results of older versions may lack; these are returned empty.

        Raises:
            ParameterError: the file is missing or damaged.
        """
        return read_csv(self.folder / name, columns, later)

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Returns a table as a pandas data frame.

        Args:
            table: one of `tables` (docs/reference/keys.md describes their columns); None for the results: one
                row per run, point or failover, with keys of the summary as columns, such as `latency_ms.p99`.

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
            names: names of figures, such as `throughput`; none for all.
            format: see `polarlab.plot`.
            look: see `polarlab.plot`.

        Raises:
            ParameterError: the results are damaged, or have no figure with a given name.
        """
        from experiments.figures.look import Look, drawn_as

        chosen, draw = Look.of(format, **look), resolve_name(self.kind.draw)
        with drawn_as(chosen), reporting_corruption(self.folder):
            drawn = draw(self)
        for name in names:
            if name not in drawn:
                raise ParameterError(f"figure must be one of {', '.join(drawn)}, got {name!r}")
        return Figures({name: drawn[name] for name in names or drawn}, self.folder, chosen.formats)

    def report(self, path: Path | str | None = None, **look: Unpack[LookOptions]) -> Path:
        """Writes one HTML page with figures and tables, and returns its path.

        Args:
            path: new file; by default `report.html` in the folder, which is overwritten.
            look: see `polarlab.plot`.

        Raises:
            UsageError: the results are damaged, or the file exists.
            MachineError: the folder is not writable.
            OSError: the file cannot be written.
        """
        from experiments.figures.look import Look
        from experiments.report.page import write_report

        return write_report(self, None if path is None else Path(path), Look.of(**look))

    def packets(self) -> Iterator[Packets]:
        """Yields all measurements of packets, one per point and seed, for a cross-check with the simulator.

        Raises:
            ParameterError: results of this kind cannot be cross-checked.
        """
        raise ParameterError(f"results must be a run or a sweep, got {self.folder}")

    def _rows(self) -> Sequence[Row]:
        """Returns one row per run, point or failover."""
        raise NotImplementedError

    def _short(self) -> Mapping[str, Any]:
        """Returns label -> value for the few values that `repr` and notebooks show."""
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
