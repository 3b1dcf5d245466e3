"""Model of a report: sections with values, tables and figures, from which the page is rendered."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.codec import plain
from experiments.figures.style import image
from experiments.results.manifest import Origin
from topology.files.reading import RESULT_BYTES, read_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn


@dataclass(frozen=True)
class PageFigure:
    """Figure on a page: its name, and its SVG in base64."""

    name: str
    content: str


@dataclass(frozen=True)
class PageRow:
    """Row of a table: column -> text, and whether the result is valid."""

    cells: Mapping[str, str]
    valid: bool = True


@dataclass(frozen=True)
class PageTable:
    """Table on a page.

    Attributes:
        columns: names of the columns.
        rows: the rows.
        texts: columns with text instead of numbers.
        sortable: whether clicking a heading sorts the rows.
        titles: column -> explanation, shown as a tooltip of the heading.
    """

    columns: tuple[str, ...]
    rows: tuple[PageRow, ...]
    texts: tuple[str, ...] = ()
    sortable: bool = False
    titles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Detail:
    """Collapsible part of a section, closed at first: its heading, name -> value, and a table."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)
    table: PageTable | None = None


@dataclass(frozen=True)
class Section:
    """Section of a page.

    Attributes:
        heading: its heading; empty for none.
        note: first paragraph.
        table: a table, before the figures.
        figures: figures.
        values: name -> value, after the figures.
        details: collapsible parts, at its end.
    """

    heading: str = ""
    note: str = ""
    table: PageTable | None = None
    figures: tuple[PageFigure, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    details: tuple[Detail, ...] = ()


@dataclass(frozen=True)
class Page:
    """Content of a page: title and sections."""

    title: str
    sections: tuple[Section, ...]


def figures_of(folder: Path, figures: Mapping[str, Drawn]) -> tuple[PageFigure, ...]:
    """Converts figures of results for a page.

    Args:
        folder: folder of the results.
        figures: name -> figure; names are paths within the folder, without file extensions.
    """
    return tuple(_figure(folder / name, image(figure, "svg")) for name, figure in figures.items())


def kept_figure(path: Path) -> PageFigure:
    """Reads an SVG file as a figure for a page."""
    return _figure(path.with_suffix(""), read_bytes(path, RESULT_BYTES))


def _figure(place: Path, content: bytes) -> PageFigure:
    return PageFigure(f"{place.parent.name} {place.name}", base64.b64encode(content).decode())


def table_of(rows: Sequence[Mapping[str, str]], texts: Sequence[str]) -> PageTable | None:
    """Returns a table of rows with the same columns; None if there are no rows.

    Args:
        rows: rows as column -> text.
        texts: columns with text instead of numbers.
    """
    if not rows:
        return None
    return PageTable(tuple(rows[0]), tuple(map(PageRow, rows)), tuple(texts))


def manifest_sections(manifest: Origin) -> tuple[Section, ...]:
    """Returns the last sections of each page: settings, and origin of the measurement."""
    content = plain(manifest)
    settings = content.pop("traffic", None) or content.pop("sweep", None) or {}
    return Section("Settings", values=settings), Section("Origin of the measurement", values=content)
