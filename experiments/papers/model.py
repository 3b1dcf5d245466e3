"""Figures and tables of papers that can be computed: their values, their data, and the scale of the work."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from topology.costs.prices import Prices

Row = Mapping[str, Any]


class Value(NamedTuple):
    """A computed number.

    Attributes:
        value: the number.
        interval: its 95 % confidence interval; None if the number does not depend on chance.
    """

    value: float
    interval: tuple[float, float] | None = None


class Scale(NamedTuple):
    """Sizes, number of runs and prices for the computation of a figure or table.

    Attributes:
        quick: whether to use fewer sizes and runs, and smaller networks in simulations.
        seeds: requested number of searches, runs or simulations per point; None for the default of the
            figure or table.
        prices: the user's prices of routers and cables; None for the paper's prices.
    """

    quick: bool = False
    seeds: int | None = None
    prices: Prices | None = None

    def number(self, full: int, quick: int) -> int:
        """Returns the requested number of searches or runs, by default that of the scale.

        Args:
            full: the number at full scale.
            quick: the number at quick scale.
        """
        return self.seeds or (quick if self.quick else full)


@dataclass(frozen=True)
class Plot:
    """A drawing of rows: curves over a numeric axis, or a bar for each name.

    Attributes:
        x: column of the horizontal axis.
        y: column of the vertical axis.
        x_label: label of the horizontal axis.
        y_label: label of the vertical axis.
        by: column with the name of the curve; empty for a single curve.
        bars: whether each row is a bar instead of a point of a curve.
        log: the axes that are logarithmic: `xy`, `y` or none.
        wide: a panel's horizontal axis is logarithmic if its largest x is at least this many times its
            smallest, so that curves that end early do not overlap.
        panels: column with the name of the panel; panels are side by side; empty for a single panel.
        error: column with half the width of the interval of y; empty for none.
        low, high: columns with the ends of the interval of y, instead of `error`; empty for none.
        full: column that says whether a point has a full marker or a hollow one; empty if all are full.
        top: end of the vertical axis, where higher curves are cut off; None for the largest y.
        also: further columns for y -> their labels, one panel each; not combined with `panels`.
    """

    x: str
    y: str
    x_label: str
    y_label: str
    by: str = ""
    bars: bool = False
    log: Literal["xy", "y", ""] = ""
    wide: float = math.inf
    panels: str = ""
    error: str = ""
    low: str = ""
    high: str = ""
    full: str = ""
    top: float | None = None
    also: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class BarChart:
    """A drawing of rows as horizontal bars: one line per row, one panel per measure.

    Attributes:
        names: columns whose values name a line.
        measures: column of a measure -> title of its panel. The columns NAME_low and NAME_high contain the
            ends of its interval, if it has one.
        group: column with the heading of lines that belong together; empty for no headings.
        condition: (column, heading) of a condition that applies to a line's measures, shown at its right
            end; None for none.
    """

    names: Sequence[str]
    measures: Mapping[str, str]
    group: str = ""
    condition: tuple[str, str] | None = None


@dataclass(frozen=True)
class ItemResult:
    """The computed numbers of a figure or table.

    Attributes:
        values: key of a claim -> the computed number; claims whose key is missing are not computed.
        rows: the data of the figure or table; all rows have the same columns.
        remark: note for the user on the method, in a sentence; empty for none.
    """

    values: Mapping[str, Value | float]
    rows: Sequence[Row]
    remark: str = ""


@dataclass(frozen=True)
class Item:
    """A figure, table or section of a paper that is computed without simulations.

    Attributes:
        title: its content, in a phrase.
        compute: scale -> result.
        plot: the drawing of its rows; None for a table.
        priced: whether its numbers depend on prices.
        by_chance: whether its numbers depend on chance, so that a number of seeds can be chosen.
    """

    title: str
    compute: Callable[[Scale], ItemResult]
    plot: Plot | BarChart | None = None
    priced: bool = False
    by_chance: bool = False
