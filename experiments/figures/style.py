"""What all figures have in common: files, formats, greys, headings."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # files, not windows

from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from experiments.results.new_files import check_new, write_new
from experiments.results.run_directory import give_to_caller
from experiments.results.text import parameters
from topology.errors import UsageError

FORMATS = ("png", "svg")
DPI = 130
# A dark and a light colour that stay apart in grey.
DARK, LIGHT = "#1f3b57", "#a8bccf"


def new_figure(inches: tuple[float, float]) -> Figure:
    """Returns an empty figure that lays itself out."""
    return Figure(figsize=inches, layout="constrained")


class _PlainLogFormatter(LogFormatter):
    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:g}" if super().__call__(x, pos) else ""


def plain_log_labels(axis: Axis) -> None:
    """Labels a logarithmic axis with 480, not with 4.8 x 10^2."""
    axis.set_major_formatter(_PlainLogFormatter())
    axis.set_minor_formatter(_PlainLogFormatter())


def save_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Writes a figure in every format and returns the files."""
    paths = [folder / f"{name}.{format_}" for format_ in FORMATS]
    for path in paths:
        figure.savefig(path, dpi=DPI)
        figure.set_layout_engine("none")  # it stays as it is; to lay it out takes half of the time to draw it
    give_to_caller(paths)
    return paths


def save_new_figure(figure: Figure, path: Path, format_: str) -> None:
    """Writes a figure into a file that does not exist yet; errors as `write_new`."""
    content = io.BytesIO()
    figure.savefig(content, format=format_, dpi=DPI)
    write_new(path, content.getvalue())


def check_figure(path: Path) -> str:
    """Returns the format of a figure by its file's ending.

    Raises:
        UsageError: another ending, the file exists, or its folder does not.
    """
    format_ = path.suffix.removeprefix(".").lower()
    if format_ not in FORMATS:
        raise UsageError(f"{path} is to end with " + " or ".join(f".{name}" for name in FORMATS))
    check_new(path)
    return format_


def printable(text: str) -> str:
    """Returns a text for a figure, with a file's name in it perhaps; it is not to be parsed as math."""
    return text.encode(errors="replace").decode()


def number_text(value: float) -> str:
    """Returns a number with three digits or, from 100 on, without a fraction."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def heading(summary: dict[str, Any]) -> str:
    """Returns what a run's figures are about, in a line."""
    params = parameters(summary["params"])
    return printable(
        f"{summary['name']} ({params}), {summary['endpoints']} hosts, "
        f"{summary['link_rate_bps'] / 1e6:g} Mbit/s links: {summary['pattern']} traffic "
        f"under {summary['routing']} routing"
    )
