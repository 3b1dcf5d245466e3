"""Curves of sweeps over an axis: lines with intervals, levels without a place, and their styles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from matplotlib.axes import Axes

from experiments.figures.sweeps.axes import Axis, SweptPoint

# The bar marks a single load, through which no line goes.
PREDICTED: dict[str, Any] = {"linestyle": ":", "linewidth": 1.2, "marker": "_", "markersize": 11}
LEVEL: dict[str, Any] = {"linestyle": "--", "linewidth": 1.2}
PANEL_INCHES = 3.1
FEW_CURVES, CURVE_INCHES = 6, 0.12  # each further curve makes the legend, and the figure, longer

Curve = list[tuple[float, float]]


class DrawnPoint(SweptPoint, Protocol):
    """Point of a sweep with its offered load."""

    @property
    def offered(self) -> float | None: ...  # noqa: D102


class Quantity(NamedTuple):
    """Quantity of a point's row: its column, and that of half the width of its interval."""

    column: str
    half: str


def places(rows: Sequence[DrawnPoint], column: str, axis: Axis) -> Curve:
    """Returns (place on the axis, value) of the points that have both, in the order of their places.

    Args:
        rows: rows of the points.
        column: column of the value.
        axis: the axis.
    """
    points = [(axis.place(row, row.offered), getattr(row, column)) for row in rows]
    return sorted((x, y) for x, y in points if x is not None and y is not None)


def is_level(row: DrawnPoint, axis: Axis) -> bool:
    """Returns whether a point has no place on the x axis: its routing and pattern do not have the key.

    Args:
        row: row of the point.
        axis: the axis.
    """
    return bool(axis.key) and axis.place(row, row.offered) is None


def draw_curve(
    axes: Axes, rows: Sequence[DrawnPoint], quantity: Quantity, axis: Axis, look: tuple[str, str]
) -> None:
    """Draws a quantity of some points with its intervals.

    Args:
        axes: axes to draw on.
        rows: rows of the points.
        quantity: the quantity.
        axis: the x axis.
        look: marker and colour.
    """
    marker, color = look
    curve = places(rows, quantity.column, axis)
    draw_line(axes, curve, {"marker": marker, "linestyle": "-", "color": color, "markersize": 5})
    halves = dict(places(rows, quantity.half, axis))
    for x, y in curve:
        if x in halves:
            axes.errorbar(x, y, yerr=halves[x], color=color, capsize=2, linewidth=1)
    for row in rows:  # those that do not depend on what is on the axis
        level = getattr(row, quantity.column)
        if level is not None and is_level(row, axis):
            axes.plot(axis.span, (level, level), color=color, **LEVEL)


def draw_line(axes: Axes, curve: Sequence[tuple[float, float]], style: dict[str, Any]) -> None:
    """Draws a line through points, if there are any.

    Args:
        axes: axes to draw on.
        curve: the points.
        style: its style.
    """
    if curve:
        axes.plot([x for x, _ in curve], [y for _, y in curve], **style)
