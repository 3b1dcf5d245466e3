"""Panels of the figures of sweeps: accepted above latency, a column for each pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.figures.style import (
    cross_out,
    legend_below,
    new_figure,
    plain_log_labels,
    printable,
    set_title,
)
from experiments.figures.sweeps.axes import Axis, curve_styles
from experiments.figures.sweeps.curves import (
    CURVE_INCHES,
    FEW_CURVES,
    LEVEL,
    PANEL_INCHES,
    PREDICTED,
    DrawnPoint,
    Quantity,
    draw_curve,
    draw_line,
    is_level,
    places,
)

_ACCEPTED = Quantity("accepted", "accepted_ci95")
AnyPoint = TypeVar("AnyPoint", bound=DrawnPoint)


@dataclass(frozen=True)
class Panels(Generic[AnyPoint]):
    """The panels of a figure, empty at first.

    Attributes:
        rows: the points.
        axis: what the horizontal axis shows.
        styles: marker and colour of each curve.
        figure: the figure.
    """

    rows: Sequence[AnyPoint]
    axis: Axis
    styles: Mapping[str, tuple[str, str]]
    figure: Figure

    def each(self, unit: str) -> Iterator[tuple[str, list[AnyPoint], Axes, Axes]]:
        """Yields pattern, points, and the panels of accepted load and latency, which are labelled afterwards.

        Args:
            unit: unit of the latencies.
        """
        panels: dict[str, list[AnyPoint]] = {}
        for row in self.rows:
            panels.setdefault(self.axis.panel(row), []).append(row)
        self.figure.set_size_inches(max(7.5, 1.2 + PANEL_INCHES * len(panels)), self.figure.get_figheight())
        axes = self.figure.subplots(2, len(panels), sharex=True, sharey="row", squeeze=False)
        for (pattern, own), accepted, latency in zip(panels.items(), axes[0], axes[1], strict=True):
            latency.set(xlabel=self.axis.label, yscale="log")
            yield pattern, own, accepted, latency
            if not self.axis.key:
                accepted.plot([0, 1], [0, 1], color="0.85", linewidth=0.8, zorder=0)
                accepted.set(xlim=(0, 1.03))
            accepted.set_title(printable(pattern), parse_math=False)
            accepted.set(ylim=(0, 1.03))
            plain_log_labels(latency.yaxis)
        axes[0][0].set_ylabel("accepted")
        axes[1][0].set_ylabel(f"mean latency in {unit}")

    def finish(self, handles: Sequence[Line2D], crossed: Sequence[Line2D], title: str) -> Figure:
        """Returns the figure with its legend and its title.

        Args:
            handles: entries of the legend.
            crossed: entries behind that of points without a place on the axis.
            title: the title.
        """
        levels = [Line2D([], [], color="0.3", **LEVEL, label=f"dashed: without {self.axis.key}")]
        shown = levels if any(is_level(row, self.axis) for row in self.rows) else []
        legend_below(self.figure, [*handles, *shown, *crossed], small=len(self.styles) > FEW_CURVES)
        set_title(self.figure, title)
        return self.figure


def new_panels(rows: Sequence[AnyPoint], axis_of: Callable[[Sequence[AnyPoint]], Axis]) -> Panels[AnyPoint]:
    """Returns empty panels for points.

    Args:
        rows: the points.
        axis_of: returns the axis of points.
    """
    axis = axis_of(rows)
    styles = curve_styles(axis.curve(row) for row in rows)
    height = 6.8 + CURVE_INCHES * max(0, len(styles) - FEW_CURVES)
    return Panels(rows, axis, styles, new_figure((7.5, height)))


def draw_points(
    panels: tuple[Axes, Axes],
    rows: Sequence[DrawnPoint],
    latency: Quantity,
    axis: Axis,
    look: tuple[str, str],
    crossed: Sequence[DrawnPoint],
) -> None:
    """Draws a curve of accepted load and latency with their intervals, and the fluid model's.

    Args:
        panels: panels of accepted load and latency.
        rows: the points.
        latency: their latency.
        axis: what the horizontal axis shows.
        look: marker and colour.
        crossed: those of the points that are crossed out.
    """
    marker, color = look
    for panel, quantity in zip(panels, (_ACCEPTED, latency), strict=True):
        draw_curve(panel, rows, quantity, axis, look)
        cross_out(panel, places(crossed, quantity.column, axis), marker, color)
    draw_line(panels[0], places(rows, "predicted_accepted", axis), {**PREDICTED, "color": color})


def curve_handles(styles: Mapping[str, tuple[str, str]], kind: str) -> list[Line2D]:
    """Returns entries of the legend for curves.

    Args:
        styles: marker and colour of each curve.
        kind: `measured` or `simulated`.
    """
    return [
        Line2D([], [], marker=marker, color=color, label=printable(f"{curve}, {kind}"))
        for curve, (marker, color) in styles.items()
    ]


def predicted_handle() -> Line2D:
    """Returns the entry of the legend for the fluid model."""
    return Line2D([], [], color="0.3", **PREDICTED, label="dotted, bars: fluid model")
