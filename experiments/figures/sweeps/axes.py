"""Axes and curves of sweeps: the quantity on the x axis, and the points that one curve joins."""

from __future__ import annotations

import colorsys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from matplotlib.colors import to_hex, to_rgb

from experiments.figures.style import curve_style
from experiments.spec.options import SWEEP
from experiments.spec.variations.keys import declaration, parameters_of
from experiments.spec.variations.values import number
from topology.errors import UsageError
from topology.parameters import Value, join_parameters, split_parameters, value_text

OFFERED = "offered"
_MARKERS = "osD^vPX<>*"


class SweptPoint(Protocol):
    """Point of a sweep, as a row of its table or of a comparison."""

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
    """Quantity on the x axis.

    Attributes:
        key: key of `--vary`; empty for the offered load.
        label: its label.
        span: least and greatest place of all points on it, for points that do not depend on the key.
    """

    key: str = ""
    label: str = OFFERED
    span: tuple[float, float] = (0.0, 1.0)

    def panel(self, point: SweptPoint) -> str:
        """Returns the panel of a point: its pattern, without a parameter that is on the axis."""
        return _without(point.pattern, self.key)

    def curve(self, point: SweptPoint) -> str:
        """Returns the name of a point's curve: its routing, and options that are not on the axis."""
        options = [
            f"{key} {value_text(value)}"
            for key, value in (point.varied or {}).items()
            if "." not in key and key != self.key
        ]
        return ", ".join([_without(point.routing, self.key), *options])

    def place(self, point: SweptPoint, offered: float | None) -> float | None:
        """Returns the place of a point on the axis; None if it has none, as it does not depend on it.

        Args:
            point: the point.
            offered: its offered load.
        """
        return number(self.key, (point.varied or {}).get(self.key)) if self.key else offered


def axis_of(points: Sequence[SweptPoint], kind: str = SWEEP) -> Axis:
    """Returns the x axis of some points: the first number that varies if they have one load, else the load.

    Args:
        points: the points.
        kind: SWEEP or SIMULATED_SWEEP, whose options vary.
    """
    if len({point.load for point in points}) > 1:
        return Axis()
    for key in dict.fromkeys(key for point in points for key in point.varied or {}):
        numbers = (number(key, (point.varied or {}).get(key)) for point in points)
        places = {place for place in numbers if place is not None}
        if len(places) > 1:
            return Axis(key, _label(key, kind), (min(places), max(places)))
    return Axis()


def _label(key: str, kind: str) -> str:
    """Returns the label of an axis: the key and its unit."""
    if key == "link-rate":
        return "link-rate in Mbit/s"
    try:
        unit = declaration(key, kind).unit
    except UsageError:  # of another version
        unit = ""
    return f"{key} in {unit}" if unit else key


def _without(text: str, key: str) -> str:
    """Returns a name with parameters without that of a key."""
    owner, _, name = key.rpartition(".")
    if not owner or text.partition(":")[0] != owner:
        return text
    declared = parameters_of(owner)
    try:
        _, given = split_parameters(text, declared)
    except UsageError:  # of another version
        return text
    others = [parameter for parameter in declared if parameter.name != name]
    return join_parameters(owner, given, others)


def curve_styles(curves: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Returns marker and colour of each curve: the first of a routing has the routing's own.

    Its further ones are lighter and have other markers, so that all can be told apart in grey.

    Args:
        curves: names of the curves, which begin with the routing's.
    """
    by_routing: dict[str, list[str]] = {}
    for curve in dict.fromkeys(curves):
        by_routing.setdefault(curve.partition(":")[0].partition(",")[0], []).append(curve)
    used = {curve_style(routing)[0] for routing in by_routing}
    free = [marker for marker in _MARKERS if marker not in used] or list(_MARKERS)
    styles: dict[str, tuple[str, str]] = {}
    for routing, own in by_routing.items():
        marker, color = curve_style(routing)
        for place, curve in enumerate(own):
            if place:
                marker = free[0]
                free.append(free.pop(0))
            styles[curve] = (marker, _lighter(color, place / len(own)))
    return styles


def _lighter(color: str, share: float) -> str:
    """Returns a colour with a share of 0 to 1 of the way to a light one of the same hue."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*to_rgb(color))
    return to_hex(colorsys.hls_to_rgb(hue, lightness + share * max(0.0, 0.72 - lightness), saturation))
