"""Computed items of papers: their values, their data, and the scale that they take."""

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
        interval: its 95 % confidence interval; None of a number that is not a matter of chance.
    """

    value: float
    interval: tuple[float, float] | None = None


class Scale(NamedTuple):
    """The scale for an item.

    Attributes:
        quick: whether fewer sizes and runs are enough, and smaller networks in simulations.
        seeds: the number of searches, runs or simulations of a point that the user asks for; None for that of
            the item.
        prices: the user's prices of routers and cables; None for those of the paper.
    """

    quick: bool = False
    seeds: int | None = None
    prices: Prices | None = None

    def number(self, full: int, quick: int) -> int:
        """Returns the number of searches or runs.

        Args:
            full: that of the whole item.
            quick: that of the quick one.
        """
        return self.seeds or (quick if self.quick else full)


@dataclass(frozen=True)
class Plot:
    """A drawing of rows: lines over a number, or bars over names.

    Attributes:
        x: column of the place on the horizontal axis.
        y: column of the height.
        x_label: label of the horizontal axis.
        y_label: label of the vertical axis.
        by: column of the name of a curve; empty for a single one.
        bars: whether a row is a bar, and not a point of a curve.
        log: the axes that are logarithmic: `xy`, `y` or none.
        wide: ratio of a panel's greatest and least places from which its horizontal axis is logarithmic, so
            that curves which end early are not drawn on top of each other.
        panels: column of the name of a panel, side by side; empty for a single one.
        error: column of half the width of the interval of the height; empty without.
        low, high: columns of the ends of the interval of the height, in the place of `error`; empty without.
        full: column that tells whether a point's marker is full, else it is hollow; empty where all are.
        top: end of the vertical axis, beyond which curves go on; None for the greatest height.
        also: columns of other heights -> their labels, a panel for each; not with `panels`.
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
    """A drawing of rows as a page of horizontal bars: a line for each row, a panel for each measure.

    Attributes:
        names: columns whose values name a line.
        measures: column of a measure -> title of its panel. Columns with its name and `_low` and `_high`
            have the ends of its interval where there is one.
        group: column of the heading of lines that belong together; empty without.
        condition: column of what a measure depends on, shown at the right end of a line, and its heading
            beside those of groups; None without.
    """

    names: Sequence[str]
    measures: Mapping[str, str]
    group: str = ""
    condition: tuple[str, str] | None = None


@dataclass(frozen=True)
class ItemResult:
    """The result of the computation of an item.

    Attributes:
        values: key of a claim -> the computed number; claims without a key here are not computed.
        rows: the data of the figure or the table; all rows have the same columns.
        remark: what the user should know about the way that was taken, in a sentence; empty for nothing.
    """

    values: Mapping[str, Value | float]
    rows: Sequence[Row]
    remark: str = ""


@dataclass(frozen=True)
class Item:
    """A figure, a table or a section of a paper that can be computed.

    Attributes:
        title: its content, in a phrase.
        compute: scale -> what it has found.
        plot: the drawing of its rows; None of a table.
        priced: whether its numbers follow from prices.
        by_chance: whether its numbers are a matter of chance, so that it has seeds.
    """

    title: str
    compute: Callable[[Scale], ItemResult]
    plot: Plot | BarChart | None = None
    priced: bool = False
    by_chance: bool = False
