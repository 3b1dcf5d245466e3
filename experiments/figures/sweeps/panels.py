"""Panels of sweep figures: accepted load, with latency below it, side by side for each pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.figures.look import current, ordered, scaled
from experiments.figures.style import (
    cross_out,
    crossed_handle,
    curve_styles,
    interval_handle,
    legend_below,
    new_figure,
    plain_log_labels,
    printable,
    set_title,
)
from experiments.figures.sweeps.axes import Axis, SweptPoint, axis_of
from experiments.results.metrics import Engine, Metric, metric_of

LINES = ("-", "--", ":", "-.")  # line styles of several sweeps in one figure
_PREDICTED: dict[str, Any] = {"linestyle": ":"}
_ALONE: dict[str, Any] = {"marker": "d", "markerfacecolor": "none"}
_LEVEL: dict[str, Any] = {"linestyle": "--"}
_PANEL, _MIN_PANEL, _HEIGHT = 3.1, 1.55, 3.4  # width, least width and height of a panel in inches
_FEW_CURVES, _CURVE = 6, 0.12  # each curve beyond 6 adds this height in inches for the legend
_NARROW_HEIGHT = 1.25  # height in inches of a panel in narrow figures
_HIDDEN = 0.005  # largest distance of accepted loads whose lines hide one another
_SIMILAR = 2.0  # ratio up to which latencies count as nearly equal

Curve = list[tuple[float, float]]


@dataclass
class SweepPanels:
    """The panels of a figure of sweeps.

    Attributes:
        axis: the horizontal axis.
        styles: curve -> (marker, colour).
        figure: the figure.
        pairs: pattern -> (panel of accepted load, panel of latency).
        engine: engine of the sweeps.
        latencies: all latencies drawn so far.
        shown: kinds of elements drawn so far, for the legend.
    """

    axis: Axis
    styles: Mapping[str, tuple[str, str]]
    figure: Figure
    pairs: Mapping[str, tuple[Axes, Axes]]
    engine: Engine
    latencies: list[float] = field(default_factory=list)
    shown: set[str] = field(default_factory=set)

    def draw(self, rows: Sequence[SweptPoint], number: int = 0, *, predicted: bool = True) -> None:
        """Draws a sweep: curves with intervals, crosses on doubtful points, and the fluid model.

        Args:
            rows: its points, with the columns of `points.csv`.
            number: its index in a figure of several sweeps; selects line style and marker fill.
            predicted: whether to draw the fluid model.
        """
        sound, quantities = self.engine.value, _quantities(self.engine)
        for pattern, pair in self.pairs.items():
            for curve, (marker, color) in self.styles.items():
                chosen = [
                    row for row in rows if (self.axis.panel(row), self.axis.curve(row)) == (pattern, curve)
                ]
                doubtful = [row for row in chosen if not getattr(row, sound)]
                for axes, quantity in zip(pair, quantities, strict=True):
                    self._draw_curve(axes, chosen, quantity, (marker, color), number)
                    crossed = self.places(doubtful, quantity.key)
                    cross_out(axes, crossed, marker, color)
                    self.shown |= {"doubt"} if crossed else set()
                self.latencies += [y for _, y in self.places(chosen, quantities[1].key) if y > 0]
                if predicted:
                    self._draw_predicted(pair[0], chosen, color)

    def places(self, rows: Sequence[SweptPoint], column: str) -> Curve:
        """Returns (position on the axis, value) of the points that have both, sorted.

        Args:
            rows: the points.
            column: column of the value.
        """
        found = [(self._place(row), getattr(row, column)) for row in rows]
        return sorted((x, y) for x, y in found if x is not None and y is not None)

    def _place(self, row: SweptPoint) -> float | None:
        return self.axis.place(row, getattr(row, "offered"))  # noqa: B009  (points of all kinds have it)

    def _draw_curve(
        self,
        axes: Axes,
        rows: Sequence[SweptPoint],
        quantity: Metric,
        look: tuple[str, str],
        number: int,
    ) -> None:
        marker, color = look
        curve, halves = self.places(rows, quantity.key), dict(self.places(rows, quantity.half))
        style = self.sweep_style(number)
        if curve:
            axes.plot(*zip(*curve, strict=True), marker=marker, color=color, markersize=scaled(5), **style)
        if halves:
            x, y = zip(*((x, y) for x, y in curve if x in halves), strict=True)
            reach = [halves[place] for place in x]
            axes.errorbar(x, y, reach, fmt="none", ecolor=color, capsize=scaled(3), elinewidth=scaled(1.2))
            self.shown.add("interval")
        for row in rows:  # points that lack the key on the axis
            level = getattr(row, quantity.key)
            if level is not None and self.axis.key and self._place(row) is None:
                line = _LEVEL if number == 0 else {"linestyle": style["linestyle"]}
                axes.plot(self.axis.span, (level, level), color=color, linewidth=scaled(1.2), **line)
                self.shown.add("level")

    def _draw_predicted(self, axes: Axes, rows: Sequence[SweptPoint], color: str) -> None:
        """Draws values of the fluid model: a dotted line, or a diamond for a single value.

        A line hidden behind the curve of the accepted load gets no entry in the legend.
        """
        curve, drawn = self.places(rows, "predicted_accepted"), dict(self.places(rows, "accepted"))
        if len(curve) == 1:
            axes.plot(
                *zip(*curve, strict=True), color=color, linestyle="none", **_ALONE, markersize=scaled(7)
            )
            self.shown.add("predicted alone")
        elif curve:
            axes.plot(*zip(*curve, strict=True), color=color, linewidth=scaled(1.2), **_PREDICTED)
            if any(abs(y - drawn.get(x, 2.0)) > _HIDDEN for x, y in curve):
                self.shown.add("predicted")

    def _limit_latencies(self) -> None:
        """Starts the latency axis at half of the minimum latency, even if an interval extends below that.

        Nearly equal latencies are centred on an axis that is long enough to show them as nearly equal.
        """
        if self.latencies:
            [_, axes], *_ = self.pairs.values()
            least, most = min(self.latencies), max(self.latencies)
            if most < _SIMILAR * least:
                axes.set_ylim(least / 2, 2 * most)
            elif axes.get_ylim()[0] < least / 2:
                axes.set_ylim(bottom=least / 2)

    @staticmethod
    def sweep_style(number: int) -> dict[str, Any]:
        """Returns line style and marker fill of a sweep's curves in a figure of several sweeps."""
        return {"linestyle": LINES[number % len(LINES)], **({"markerfacecolor": "white"} if number else {})}

    def finish(self, handles: Sequence[Artist], title: str, model: str = "fluid model") -> Figure:
        """Adds legend and title, and returns the figure.

        Args:
            handles: legend entries of curves and additional elements.
            title: the title.
            model: label of the fluid model.
        """
        self._limit_latencies()
        more: list[Artist] = []
        if "interval" in self.shown:
            more.append(interval_handle())
        if "predicted" in self.shown:
            more.append(Line2D([], [], color="0.3", **_PREDICTED, label=f"dotted: {model}"))
        if "predicted alone" in self.shown:
            more.append(Line2D([], [], color="0.3", linestyle="none", **_ALONE, label=f"diamond: {model}"))
        if "level" in self.shown:
            more.append(Line2D([], [], color="0.3", **_LEVEL, label=f"dashed: without {self.axis.key}"))
        if "doubt" in self.shown:
            more.append(crossed_handle(self.engine.doubt))
        narrow = current().look.width is not None
        legend = legend_below(self.figure, [*handles, *more], small=narrow or len(self.styles) > _FEW_CURVES)
        if narrow and legend:
            inches = legend.get_window_extent().height / self.figure.dpi
            self.figure.set_figheight(self.figure.get_figheight() + inches)
        set_title(self.figure, title)
        return self.figure


def _quantities(engine: Engine) -> tuple[Metric, Metric]:
    """Returns the metrics of upper and lower panels: accepted load, and mean latency."""
    return metric_of(engine, "accepted"), metric_of(engine, f"latency_mean_{engine.unit}")


def new_sweep_panels(rows: Sequence[SweptPoint], engine: Engine) -> SweepPanels:
    """Creates empty panels for the points of sweeps.

    Args:
        rows: the points.
        engine: engine of the sweeps.

    Raises:
        ParameterError: the look's horizontal axis does not apply to these points.
    """
    axis = axis_of(rows, engine.sweep)
    styles = curve_styles(ordered(axis.curve(row) for row in rows))
    patterns = ordered(axis.panel(row) for row in rows)
    width = current().look.width
    columns = len(patterns) if width is None else max(1, min(len(patterns), int(width / _MIN_PANEL)))
    blocks = -(-len(patterns) // columns)
    longer = _CURVE * max(0, len(styles) - _FEW_CURVES)
    figure = new_figure((max(7.5, 1.2 + _PANEL * columns), 2 * _HEIGHT * blocks + longer))
    if width is not None:
        figure.set_figheight(2 * _NARROW_HEIGHT * blocks + (0.9 if current().look.title else 0.5))
    grid = figure.add_gridspec(2 * blocks, columns)
    rows_of_panels: list[list[Axes]] = []
    for rank in range(2):  # all panels of accepted load, then all of latency
        own: list[Axes] = []
        for number in range(len(patterns)):
            block, column = divmod(number, columns)
            first = (rows_of_panels or [own])[0][:1]
            sharing = {"sharex": first[0] if first else None, "sharey": own[0] if own else None}
            axes = figure.add_subplot(grid[2 * block + rank, column], **sharing)
            last = rank == 1 and number + columns >= len(patterns)
            axes.tick_params(which="both", labelleft=column == 0, labelbottom=last)
            axes.set_ylabel(("accepted", _quantities(engine)[1].label)[rank] if column == 0 else "")
            axes.set_xlabel(axis.label if last else "")
            own.append(axes)
        rows_of_panels.append(own)
    pairs = dict(zip(patterns, zip(*rows_of_panels, strict=True), strict=True))
    for pattern, pair in pairs.items():
        _label(pair, pattern, axis)
    return SweepPanels(axis, styles, figure, pairs, engine)


def _label(pair: tuple[Axes, Axes], pattern: str, axis: Axis) -> None:
    """Sets limits, scales and title of both panels of a pattern."""
    accepted, latency = pair
    if not axis.key:
        accepted.plot([0, 1], [0, 1], color="0.85", linewidth=0.8, zorder=0)
        accepted.set(xlim=(0, 1.03))
    accepted.set(ylim=(0, 1.03))
    accepted.set_title(printable(pattern), parse_math=False)
    latency.set(yscale="log")
    plain_log_labels(latency.yaxis)


def curve_handles(styles: Mapping[str, tuple[str, str]], kind: str = "") -> list[Line2D]:
    """Returns the legend entries of curves.

    Args:
        styles: curve -> (marker, colour).
        kind: `measured` or `simulated`; empty if line styles distinguish several sweeps.
    """
    style: dict[str, Any] = {"markersize": scaled(6), "linestyle": "-" if kind else "none"}
    return [
        Line2D(
            [],
            [],
            marker=marker,
            color=color,
            label=printable(f"{curve}, {kind}" if kind else curve),
            **style,
        )
        for curve, (marker, color) in styles.items()
    ]
