"""Figures of a folder of `polarlab paper`, redrawn from the data there without computing anything."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.codec import read_record
from experiments.figures.look import PLAIN, Look, drawn_as
from experiments.papers.figure import draw_item
from experiments.papers.model import Row
from experiments.papers.registry import item_of
from experiments.papers.reproduction import ComputedItem, is_as_computed
from experiments.results.open import CLAIMS
from topology.errors import ParameterError
from topology.files.reading import RESULT_BYTES, FileError, read_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def kept_figures(folder: Path, look: Look = PLAIN) -> dict[str, Figure]:
    """Returns name of a data file -> figure drawn from it, for all figures of a folder.

    Tables and sections have no figure and are left out.

    Args:
        folder: folder of `polarlab paper`, or of the gallery in the docs.
        look: the style of the figures.

    Raises:
        UsageError: a record comes from a later version of PolarLab.
        ParameterError: a record or its data are damaged.
    """
    with drawn_as(look):
        return _drawn(folder)


def _drawn(folder: Path) -> dict[str, Figure]:
    figures = {}
    for file in sorted(folder.glob(f"*{CLAIMS}")):
        name = file.name.removesuffix(CLAIMS)
        record = read_record(folder / f"{name}.json", ComputedItem)
        item = item_of(record.paper, record.item)
        if item.plot is None:
            continue
        data = folder / f"{name}.csv"
        if not is_as_computed(data, record):
            raise ParameterError(_damaged(data, record))
        try:
            figures[name] = draw_item(item.title, item.plot, _rows(data))
        except FileError:
            raise
        except (csv.Error, KeyError, TypeError, ValueError):
            raise ParameterError(_damaged(data, record)) from None
    return figures


def _damaged(data: Path, record: ComputedItem) -> str:
    """Returns the error for a data file that cannot be drawn, or that has changed since it was computed."""
    command = f"polarlab paper {record.paper} {record.item}"
    return f"{data} is damaged or not from PolarLab; run `{command}` with the folder's options to replace it"


def _rows(file: Path) -> list[Row]:
    """Returns the rows of a CSV file, each as column -> value."""
    rows = csv.DictReader(read_lines(file, RESULT_BYTES))
    return [{name: _cell(text) for name, text in row.items()} for row in rows]


def _cell(text: str) -> str | float:
    """Converts the text of a cell to a bool or a number if it is one; otherwise returns the text."""
    if text in ("True", "False"):
        return text == "True"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
