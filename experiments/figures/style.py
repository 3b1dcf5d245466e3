"""Style of all figures: formats, colours, markers of routings, headings."""

from __future__ import annotations

import colorsys
import io
import math
import textwrap
import warnings
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatter

from experiments.results.model import Summary
from experiments.results.simulation.model import SimulationSummary
from experiments.results.text import parameters
from experiments.spec.programs import OWN_PROGRAMS, SESSION
from topology.errors import UsageError
from topology.files.writing import check_new, open_folder, write_new

FORMATS = ("png", "svg")
DPI = 130
# A dark and a light colour that stay apart in grey.
DARK, LIGHT = "#1f3b57", "#a8bccf"
# Marker and colour of the curves of some routings, which figures have always had, or whose name gives those
# of another one. Curves differ in their
# markers, so that they can be told apart in grey. Every other routing, and a routing with parameters, has a
# marker and a colour by its name.
_CURVES = {
    "min": ("o", DARK),
    "valiant": ("D", "#7b5ea7"),
    "compact-valiant": ("v", "#8c6d1f"),
    "ugal": ("^", "#5b8c5a"),
    "ugal-pf": ("s", "#c2571a"),
    "four-color-valiant": ("P", "#2f7f93"),
}
_FURTHER_MARKERS, _HUES = "PX<>*dphH8", 24
# Up to so many decades an axis has labels between those of powers of ten as well: some, or all.
_LABELLED_DECADES = (2.5, 0.4)
_NARROW = 5000.0  # ratio of the ends of a horizontal axis up to which it has labels between them


def curve_style(routing: str) -> tuple[str, str]:
    """Returns the marker and the colour of a routing's curve, the same in every figure.

    Args:
        routing: name of any routing, with its parameters, as `ugal-pf:threshold=0.5`.
    """
    if routing in _CURVES:
        return _CURVES[routing]
    hue, place = divmod(zlib.crc32(routing.encode()), len(_FURTHER_MARKERS))
    return _FURTHER_MARKERS[place], to_hex(colorsys.hsv_to_rgb(hue % _HUES / _HUES, 0.65, 0.62))


def new_figure(inches: tuple[float, float]) -> Figure:
    """Returns an empty figure of that width and height, laid out automatically.

    It has a canvas of its own: pyplot, and so the backend of a user's own figures, is left alone.
    """
    figure = Figure(figsize=inches, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


# The part of a figure's width that titles and legends may take.
_USABLE = 0.97


def set_title(figure: Figure, text: str) -> None:
    """Sets the title of a figure, in as many lines as its width needs."""
    title = figure.suptitle(printable(text), parse_math=False)
    lines = text.count("\n") + 1
    while title.get_window_extent().width > _USABLE * figure.bbox.width and lines < len(text):
        lines += 1
        # Lines of one length, so that the last is not a single word.
        wrapped = textwrap.wrap(printable(text), math.ceil(1.05 * len(text) / lines))
        title.set_text("\n".join(wrapped))


def legend_below(
    figure: Figure, handles: Sequence[Artist], most: int = 4, *, small: bool = False
) -> Legend | None:
    """Draws a legend below all axes of a figure, in as many rows as its width needs; None without entries.

    Args:
        figure: the figure.
        handles: labelled artists.
        most: columns at most.
        small: whether font and markers are smaller, for drawings of fabrics.
    """
    for columns in range(min(most, len(handles)), 0, -1):
        legend = figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=columns,
            fontsize=8 if small else None,
            markerscale=0.6 if small else 1,
            frameon=False,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
        if columns == 1 or legend.get_window_extent().width <= _USABLE * figure.bbox.width:
            return legend
        legend.remove()
    return None


def legend_above(axes: Axes, columns: int = 1, handles: Sequence[Artist] | None = None) -> Legend:
    """Draws the legend of some axes above them, where it covers nothing.

    Args:
        axes: the axes; they have no title.
        columns: columns of the legend.
        handles: labelled artists; None for all of the axes'.
    """
    chosen = axes.get_legend_handles_labels()[0] if handles is None else handles
    legend = axes.legend(
        handles=chosen,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=columns,
        borderaxespad=0.3,
        fontsize=8,
        frameon=False,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend


INVALID = "result not valid"
_CROSS: dict[str, Any] = {"marker": "x", "color": "black", "linestyle": "none", "markersize": 8, "zorder": 6}


def cross_out(axes: Axes, points: Sequence[tuple[float, float]], marker: str, color: str) -> None:
    """Draws points whose results are not valid: hollow markers, crossed out.

    Args:
        axes: axes to draw on.
        points: their places.
        marker: marker of their curve.
        color: colour of their curve.
    """
    if points:
        x, y = zip(*points, strict=True)
        hollow: dict[str, Any] = {
            "markerfacecolor": "white",
            "linestyle": "none",
            "markersize": 5,
            "zorder": 5,
        }
        axes.plot(x, y, marker=marker, color=color, **hollow)
        axes.plot(x, y, **_CROSS)


def invalid_handle() -> Line2D:
    """Returns the entry of a legend for points that are crossed out as not valid."""
    return crossed_handle(INVALID)


def crossed_handle(reason: str) -> Line2D:
    """Returns the entry of a legend for points that are crossed out.

    Args:
        reason: the reason, as `result not valid`.
    """
    return Line2D([], [], **_CROSS, label=f"crossed out: {reason}")


class _PlainLogFormatter(LogFormatter):
    """Labels with 480, not with 4.8 x 10^2; beside each other there is room for few of them."""

    def __init__(self, *, horizontal: bool) -> None:
        super().__init__(minor_thresholds=_LABELLED_DECADES)
        self._horizontal = horizontal

    def __call__(self, x: float, pos: int | None = None) -> str:
        shown = self._has_room(x) if self._horizontal else bool(super().__call__(x, pos))
        return f"{x:g}" if shown else ""

    def _has_room(self, x: float) -> bool:
        """Returns whether a label is shown of a horizontal axis: those of 1, 2 and 5, or only of 1."""
        low, high = self.axis.get_view_interval() if self.axis is not None else (1.0, 1.0)
        digits = "125" if 0 < low < high <= low * _NARROW else "1"
        return f"{x:.0e}"[0] in digits


def plain_log_labels(axis: Axis) -> None:
    """Labels a logarithmic axis with 480, not with 4.8 x 10^2."""
    horizontal = isinstance(axis, XAxis)
    axis.set_major_formatter(_PlainLogFormatter(horizontal=horizontal))
    axis.set_minor_formatter(_PlainLogFormatter(horizontal=horizontal))


def save_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Writes a figure in every format and returns the files."""
    opened = open_folder(folder)
    for format_ in FORMATS:
        opened.write(f"{name}.{format_}", _content(figure, format_))
    return [folder / f"{name}.{format_}" for format_ in FORMATS]


def save_figures(figures: Mapping[str, Figure], folder: Path) -> list[Path]:
    """Writes figures in every format and returns the files.

    Args:
        figures: figures by their names, paths within the folder without an ending.
        folder: the folder.

    Raises:
        OSError: a figure cannot be written.
    """
    return [path for name, figure in figures.items() for path in save_figure(figure, folder, name)]


def save_new_figure(figure: Figure, path: Path, format_: str) -> None:
    """Writes a figure into a file that does not exist yet.

    Args:
        figure: the figure.
        path: the new file.
        format_: one of FORMATS.

    Raises:
        UsageError: the file exists, or its folder does not.
        OSError: it cannot be written.
    """
    write_new(path, _content(figure, format_))


def _content(figure: Figure, format_: str) -> bytes:
    content = io.BytesIO()
    with warnings.catch_warnings():
        # Names of a foreign file may be longer than a figure.
        warnings.filterwarnings("ignore", "constrained_layout not applied", UserWarning)
        if engine := figure.get_layout_engine():
            # Once and for good: with an engine, even one without effect, each file is drawn twice.
            figure.set_dpi(DPI)
            engine.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(content, format=format_, dpi=DPI)
    return content.getvalue()


def check_figure(path: Path) -> str:
    """Returns the format of a figure by its file's ending.

    Raises:
        UsageError: another ending, the file exists, or its folder does not.
    """
    format_ = path.suffix.removeprefix(".").lower()
    if format_ not in FORMATS:
        endings = " or ".join(f".{name}" for name in FORMATS)
        raise UsageError(f"a figure's name must end with {endings}, got {path}")
    check_new(path)
    return format_


def printable(text: str) -> str:
    """Returns a text for a figure, without characters of file names that cannot be drawn."""
    return text.encode(errors="replace").decode()


def number_text(value: float) -> str:
    """Returns a number with three digits or, from 100 on, without a fraction."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


# Runs without generated traffic, by their pattern.
_NOT_GENERATED = {OWN_PROGRAMS: "own programs", SESSION: "a session"}


UNSTABLE = "not stable"


def heading(summary: Summary | SimulationSummary) -> str:
    """Returns the heading of the figures of a run or a simulation: fabric, traffic and routing in a line."""
    if isinstance(summary, SimulationSummary):
        return _simulation_heading(summary)
    fabric = f"{summary.name} ({parameters(summary.params)}), {summary.endpoints} hosts"
    traffic = (
        f"{summary.pattern} traffic"
        if summary.generated
        else _NOT_GENERATED.get(summary.pattern, summary.pattern)
    )
    text = (
        f"{fabric}, {summary.link_rate_bps / 1e6:g} Mbit/s links: {traffic} under {summary.routing} routing"
    )
    if summary.repeat:
        text += f", means over {len(summary.repeat.seeds)} seeds"
    elif summary.seed != 1:
        text += f", seed {summary.seed}"
    text += _failures_text(summary)
    return printable(text if summary.fidelity.valid else f"{text} ({INVALID}{summary.remedy})")


def _failures_text(summary: Summary | SimulationSummary) -> str:
    failures = [f for f in summary.faults.done if not f.fault.startswith("restore")] if summary.faults else []
    return f", {len(failures)} fault{'s' * (len(failures) > 1)}" if failures else ""


def _simulation_heading(summary: SimulationSummary) -> str:
    routers = summary.routers
    traffic = summary.pattern if summary.load is None else f"{summary.pattern} traffic at {summary.load:g}"
    text = (
        f"{summary.name} ({parameters(summary.params)}), {summary.endpoints} hosts, simulated "
        f"({routers.flow_control}): {traffic} under {summary.routing} routing"
    )
    if summary.seed != 1:
        text += f", seed {summary.seed}"
    text += _failures_text(summary)
    if summary.deadlock or summary.stable is False:
        text += f" ({'deadlock' if summary.deadlock else UNSTABLE})"
    return printable(text)
