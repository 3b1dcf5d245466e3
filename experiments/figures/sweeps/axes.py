"""Axes and curves of sweeps: the quantity on the horizontal axis, and the curve of each point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from experiments.figures.look import current
from experiments.spec.options import SWEEP
from experiments.spec.variations import declaration, number, parameters_of
from topology.errors import ParameterError, UsageError
from topology.files.escaping import quoted
from topology.parameters import Value, join_parameters, split_parameters, value_text

OFFERED = "offered"
_LOAD = "load"  # name of the offered load among the keys


class SweptPoint(Protocol):
    """Point of a sweep: a row of its table or of a comparison."""

    @property
    def routing(self) -> str: ...  # noqa: D102

    @property
    def pattern(self) -> str: ...  # noqa: D102

    @property
    def load(self) -> float: ...  # noqa: D102

    @property
    def varied(self) -> Mapping[str, Value] | None: ...  # noqa: D102


@dataclass(frozen=True)
class Axis:
    """Quantity on the horizontal axis.

    Attributes:
        key: key of `--vary`; empty for the offered load.
        label: its label.
        span: range of all points on it; points without a value of the key are drawn as horizontal lines
            across it.
        loads: whether points have different loads; if a key is on the axis, each load has its own curve.
    """

    key: str = ""
    label: str = OFFERED
    span: tuple[float, float] = (0.0, 1.0)
    loads: bool = False

    def panel(self, point: SweptPoint) -> str:
        """Returns the name of a point's panel: its pattern, without the parameter on the axis."""
        return _without(point.pattern, self.key)

    def curve(self, point: SweptPoint) -> str:
        """Returns the name of a point's curve: its routing, and its options except the one on the axis."""
        options = [
            f"{key} {value_text(value)}"
            for key, value in (point.varied or {}).items()
            if "." not in key and key != self.key
        ]
        options += [f"{_LOAD} {point.load:g}"] if self.key and self.loads else []
        return ", ".join([_without(point.routing, self.key), *options])

    def place(self, point: SweptPoint, offered: float | None) -> float | None:
        """Returns the position of a point on the axis; None if the point has no value of the axis's key.

        Args:
            point: the point.
            offered: its offered load.
        """
        return number(self.key, (point.varied or {}).get(self.key)) if self.key else offered


def axis_of(points: Sequence[SweptPoint], kind: str = SWEEP) -> Axis:
    """Returns the horizontal axis: the look's choice, else the load if it varies, else the first numeric key.

    Args:
        points: the points.
        kind: SWEEP or SIMULATED_SWEEP, whose options vary.

    Raises:
        ParameterError: the look's axis is not a numeric key that varies.
    """
    loads = len({point.load for point in points}) > 1
    spans: dict[str, tuple[float, float]] = {}
    for key in dict.fromkeys(key for point in points for key in point.varied or {}):
        numbers = (number(key, (point.varied or {}).get(key)) for point in points)
        places = {place for place in numbers if place is not None}
        if len(places) > 1:
            spans[key] = (min(places), max(places))
    drawing = current()
    chosen, drawing.keys = drawing.look.x, [_LOAD, *spans]
    if chosen and chosen not in drawing.keys:
        raise ParameterError(f"x must be one of {', '.join(drawing.keys)}, got {quoted(chosen)}")
    key = chosen or (_LOAD if loads else next(iter(spans), _LOAD))
    return Axis() if key == _LOAD else Axis(key, _label(key, kind), spans[key], loads)


def _label(key: str, kind: str) -> str:
    """Returns the label of an axis: the key and its unit."""
    if key == "link-rate":
        return "link-rate in Mbit/s"
    try:
        unit = declaration(key, kind).unit
    except UsageError:  # the key is from another version
        unit = ""
    return f"{key} in {unit}" if unit else key


def _without(text: str, key: str) -> str:
    """Removes a parameter from the name of a routing or pattern; `key` is like `ugal.threshold`."""
    owner, _, name = key.rpartition(".")
    if not owner or text.partition(":")[0] != owner:
        return text
    declared = parameters_of(owner)
    try:
        _, given = split_parameters(text, declared)
    except UsageError:  # the name is from another version
        return text
    others = [parameter for parameter in declared if parameter.name != name]
    return join_parameters(owner, given, others)
