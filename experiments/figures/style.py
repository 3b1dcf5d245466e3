"""Style of all figures: sizes, colours, markers of routings, legends, headings, files."""

from __future__ import annotations

import colorsys
import io
import math
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context, rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatter

from experiments.figures.look import FORMATS, PLAIN, current, scaled
from experiments.results.text import parameters
from topology.errors import UsageError
from topology.files.writing import check_new, make_folder, write_new

if TYPE_CHECKING:
    from experiments.results.model import Summary
    from experiments.results.simulation.model import SimulationSummary

_DPI, _PRINT_DPI = 130, 300
# TrueType fonts, which publishers require; no date, so that equal figures give equal files.
_FILE_SETTINGS: Any = {"pdf.fonttype": 42, "svg.hashsalt": "polarlab"}
_NO_DATE = {"png": None, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
# Colours of all figures; all differ in lightness, so that they are distinct in grey.
DARK, LIGHT = "#1f3b57", "#a8bccf"
ORANGE, PURPLE, GREEN, BROWN, BLUE, RED = "#dd8122", "#7647a2", "#86bf6f", "#6b4410", "#2f9ab3", "#c8405c"
PALETTE = (DARK, ORANGE, PURPLE, GREEN, BROWN, BLUE, RED, LIGHT)
MARKERS = "osD^vP*X<>"
INTERVAL = "95 % confidence interval"
# Fixed markers and colours of some routings in all figures.
_ROUTINGS = {
    "min": ("o", DARK),
    "valiant": ("D", PURPLE),
    "compact-valiant": ("v", BROWN),
    "ugal": ("^", GREEN),
    "ugal-pf": ("s", ORANGE),
    "four-color-valiant": ("P", BLUE),
}
_LOOKS = tuple((marker, color) for marker in MARKERS for color in PALETTE)
_DARKEST, _LIGHTEST = 0.2, 0.75  # lightness range for several curves of one routing
# A log axis has some, or all, labels between powers of ten if it spans at most this many decades.
_LABELLED_DECADES = (2.5, 0.4)
_LINE = 1.2  # distance of labels above one another / font size
_NARROW = 5000.0  # a horizontal axis has labels between powers of ten up to this ratio of its ends
# Narrow figures: minimum panel width (inches), minimum height (inches), height / width, title (inches).
_MIN_PANEL, _MIN_HEIGHT, _FLATNESS, _TITLE = 2.1, 1.5, 0.62, 0.4


def curve_styles(curves: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Returns curve -> (marker, colour), distinct for up to about 80 curves.

    A known routing looks the same in every figure. Several curves of one routing are shades of one colour.

    Args:
        curves: names of curves, starting with the routing, such as `ugal-pf:threshold=0.5, queue 8`.
    """
    by_routing: dict[str, list[str]] = {}
    for curve in dict.fromkeys(curves):
        by_routing.setdefault(_routing_of(curve), []).append(curve)
    taken = {_ROUTINGS[routing] for routing in by_routing if routing in _ROUTINGS}
    used = Counter(part for pair in taken for part in pair)

    def free() -> tuple[str, str]:
        left = [one for one in _LOOKS if one not in taken] or _LOOKS
        marker, color = min(left, key=lambda one: (used[one[0]], used[one[1]]))
        taken.add((marker, color))
        used.update((marker, color))
        return marker, color

    styles: dict[str, tuple[str, str]] = {}
    for routing, own in by_routing.items():
        marker, color = _ROUTINGS.get(routing) or free()
        for place, curve in enumerate(own):
            shade = color if len(own) == 1 else _shade(color, place / (len(own) - 1))
            styles[curve] = (free()[0] if place else marker, shade)
    return styles


def _routing_of(curve: str) -> str:
    """Returns the routing in a curve's name, without parameters and options.

    For a pair such as `min / hierarchical` (`experiments.comparison.sweeps`), returns the first known one.
    """
    pair = [name.partition(":")[0].partition(",")[0] for name in curve.split(" / ")]
    return next((name for name in pair if name in _ROUTINGS), pair[0])


def _shade(color: str, share: float) -> str:
    """Returns a shade of a colour, from 0 (dark) to 1 (light)."""
    hue, _, saturation = colorsys.rgb_to_hls(*to_rgb(color))
    return to_hex(colorsys.hls_to_rgb(hue, _DARKEST + share * (_LIGHTEST - _DARKEST), saturation))


def new_figure(inches: tuple[float, float]) -> Figure:
    """Returns an empty figure with automatic layout.

    It has its own canvas, so that pyplot and the backend of a user's own figures are not affected.

    Args:
        inches: width and height; `Look.width` overrides the width.
    """
    width, height = inches
    look = current().look
    if look.width is not None:
        title = _TITLE if look.title else 0.0
        width, height = look.width, max(_FLATNESS, height / width) * look.width + title
    dpi = _DPI if look.width is None else _PRINT_DPI
    figure = Figure(figsize=(width, height), dpi=dpi, layout="constrained")
    FigureCanvasAgg(figure)
    current().figures.append(figure)
    return figure


def new_panels(
    inches: tuple[float, float],
    ratios: Sequence[float] = (1, 1),
    *,
    below: float = 0.0,
    least: float = _MIN_PANEL,
    sharey: bool = False,
) -> tuple[Figure, list[Axes]]:
    """Returns a figure with panels side by side, or in several rows if its width is too small.

    Args:
        inches: width and height, without a list below the panels.
        ratios: relative widths of panels side by side.
        below: height in inches of the list below the panels.
        least: minimum width of a panel in inches.
        sharey: whether the panels share the vertical axis.
    """
    count, look = len(ratios), current().look
    columns = count if look.width is None else max(1, min(count, int(look.width / least)))
    figure = new_figure((inches[0], inches[1] + below))
    if look.width is not None:
        height = min(inches[1], max(_MIN_HEIGHT, _FLATNESS * look.width / columns))
        figure.set_figheight(height * -(-count // columns) + below + _TITLE * look.title)
    if columns == count:
        grid = figure.subplots(1, count, width_ratios=ratios, sharey=sharey, squeeze=False)
    else:
        grid = figure.subplots(-(-count // columns), columns, sharey=sharey, squeeze=False)
    axes: list[Axes] = list(np.ravel(grid))
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


# Share of a figure's width available for titles and legends.
_USABLE = 0.97


def set_title(figure: Figure, text: str) -> None:
    """Sets the title of a figure, wrapped to its width; does nothing if the look has no titles."""
    if not current().look.title:
        return
    title = figure.suptitle(printable(text), parse_math=False)
    lines = text.count("\n") + 1
    while title.get_window_extent().width > _USABLE * figure.bbox.width and lines < len(text):
        lines += 1
        # Balance the lines, so that the last one is not a single word.
        wrapped = textwrap.wrap(printable(text), math.ceil(1.05 * len(text) / lines))
        title.set_text("\n".join(wrapped))


def legend_below(
    figure: Figure, handles: Sequence[Artist], max_columns: int = 4, *, small: bool = False
) -> Legend | None:
    """Draws a legend below all axes of a figure, in as many rows as needed; returns None without entries.

    Args:
        figure: the figure.
        handles: labelled artists.
        max_columns: maximum number of columns.
        small: whether font and markers are smaller, for drawings of fabrics.
    """
    for columns in range(min(max_columns, len(handles)), 0, -1):
        legend = figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=columns,
            fontsize=scaled(8) if small else None,
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
    """Draws a legend above axes, where it covers no data.

    Args:
        axes: axes without a title.
        columns: columns of the legend.
        handles: labelled artists; None for all artists of the axes.
    """
    chosen = axes.get_legend_handles_labels()[0] if handles is None else handles
    legend = axes.legend(
        handles=chosen,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=columns if current().look.width is None else 1,
        borderaxespad=0.3,
        fontsize=scaled(8),
        frameon=False,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend


_CROSS: dict[str, Any] = {"marker": "x", "color": "black", "linestyle": "none", "zorder": 6}


def cross_out(axes: Axes, points: Sequence[tuple[float, float]], marker: str, color: str) -> None:
    """Draws points of doubtful results as hollow markers, crossed out.

    Args:
        axes: axes to draw on.
        points: their coordinates.
        marker: marker of their curve.
        color: colour of their curve.
    """
    if points:
        x, y = zip(*points, strict=True)
        hollow: dict[str, Any] = {
            "markerfacecolor": "white",
            "linestyle": "none",
            "markersize": scaled(5),
            "zorder": 5,
        }
        axes.plot(x, y, marker=marker, color=color, **hollow)
        axes.plot(x, y, **_CROSS, markersize=scaled(8))


def crossed_handle(reason: str) -> Line2D:
    """Returns the legend entry for crossed-out points.

    Args:
        reason: the reason, such as `result not valid`.
    """
    return Line2D([], [], **_CROSS, markersize=scaled(8), label=f"crossed out: {reason}")


def interval_handle() -> Line2D:
    """Returns the legend entry for error bars over seeds or batches."""
    style: dict[str, Any] = {"marker": "|", "markersize": scaled(11), "linestyle": "none"}
    return Line2D([], [], color="0.3", **style, label=INTERVAL)


class _PlainLogFormatter(LogFormatter):
    """Labels logarithmic axes with numbers like 480, not 4.8 x 10^2; with `few`, leaves most of them out."""

    def __init__(self, *, few: bool) -> None:
        super().__init__(minor_thresholds=_LABELLED_DECADES)
        self._few = few

    def __call__(self, x: float, pos: int | None = None) -> str:
        shown = self._has_room(x) if self._few else bool(super().__call__(x, pos))
        return f"{x:g}" if shown else ""

    def _has_room(self, x: float) -> bool:
        """Returns whether `x` is labelled: its first digit is 1, 2 or 5 (on long axes, only 1)."""
        low, high = self.axis.get_view_interval() if self.axis is not None else (1.0, 1.0)
        return f"{x:.0e}"[0] in ("125" if 0 < low < high <= low * self._widest_ratio() else "1")

    def _widest_ratio(self) -> float:
        """Returns the largest ratio of an axis's limits at which it has room for labels at 1, 2 and 5."""
        axis: Any = self.axis
        if axis is None or isinstance(axis, XAxis):
            return _NARROW
        lines = axis.axes.bbox.height / axis.axes.figure.dpi * 72 / (_LINE * rcParams["font.size"])
        return float(2**lines)  # neighbouring labels are a factor of at least 2 apart


def plain_log_labels(axis: Axis) -> None:
    """Labels a logarithmic axis with numbers like 480 instead of 4.8 x 10^2."""
    few = isinstance(axis, XAxis) or current().look.width is not None
    axis.set_major_formatter(_PlainLogFormatter(few=few))
    axis.set_minor_formatter(_PlainLogFormatter(few=few))


def save_figures(
    figures: Mapping[str, Figure], folder: Path, formats: Sequence[str] = PLAIN.formats
) -> list[Path]:
    """Writes figures in all formats and returns the files.

    Args:
        figures: name -> figure; names are paths within the folder without suffix.
        folder: the folder.
        formats: some of FORMATS.

    Raises:
        OSError: a figure cannot be written.
    """
    opened, files = make_folder(folder), []
    for name, figure in figures.items():
        for format_ in formats:
            opened.write(f"{name}.{format_}", image(figure, format_))
            figure.set_layout_engine("none")  # computing the layout again takes half of the time
            files.append(folder / f"{name}.{format_}")
    return files


def save_new_figure(figure: Figure, path: Path, format_: str) -> None:
    """Writes a figure to a new file.

    Args:
        figure: the figure.
        path: the new file.
        format_: one of FORMATS.

    Raises:
        UsageError: the file exists, or its folder does not exist.
        OSError: it cannot be written.
    """
    write_new(path, image(figure, format_))


def image(figure: Figure, format_: str) -> bytes:
    """Renders a figure and returns the content of its file.

    Args:
        figure: the figure.
        format_: one of FORMATS.
    """
    content = io.BytesIO()
    with warnings.catch_warnings(), rc_context(_FILE_SETTINGS):
        # Names from another user's file may be wider than the figure.
        warnings.filterwarnings("ignore", "constrained_layout not applied", UserWarning)
        if engine := figure.get_layout_engine():
            # Remove the engine afterwards: with any engine, matplotlib draws each file twice.
            engine.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(content, format=format_, metadata=_NO_DATE[format_])
    return content.getvalue()


def check_figure(path: Path) -> str:
    """Returns the format of a figure from its file's suffix.

    Raises:
        UsageError: the suffix is unknown, the file exists, or its folder does not exist.
    """
    format_ = path.suffix.removeprefix(".").lower()
    if format_ not in FORMATS:
        endings = " or ".join([", ".join(f".{name}" for name in FORMATS[:-1]), f".{FORMATS[-1]}"])
        raise UsageError(f"a figure's name must end with {endings}, got {path}")
    check_new(path)
    return format_


def printable(text: str) -> str:
    """Replaces characters that cannot be drawn, such as undecodable bytes of file names."""
    return text.encode(errors="replace").decode()


def number_text(value: float) -> str:
    """Formats a number with three digits or, from 100, without fraction."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def heading(summary: Summary | SimulationSummary) -> str:
    """Returns the title of figures of a run or simulation: fabric, traffic and routing."""
    text = (
        f"{summary.name} ({parameters(summary.params)}), {summary.endpoints} hosts, {summary.medium}: "
        f"{summary.traffic} under {summary.routing} routing"
    )
    if summary.repeat:
        text += f", means over {len(summary.repeat.seeds)} seeds"
    elif summary.seed != 1:
        text += f", seed {summary.seed}"
    failures = [f for f in summary.faults.done if not f.fault.startswith("restore")] if summary.faults else []
    text += f", {len(failures)} fault{'s' * (len(failures) > 1)}" if failures else ""
    return printable(f"{text} ({summary.doubt})" if summary.doubt else text)
