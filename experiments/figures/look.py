"""The look of figures, by the options of `polarlab plot`: formats, width, title, order, horizontal axis."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from matplotlib import rc_context, rcParams
from matplotlib.figure import Figure

from topology.errors import ParameterError
from topology.files.shown import quoted

FORMATS = ("png", "svg", "pdf")
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
_WIDTH = re.compile(rf"(\d+(?:\.\d+)?)({'|'.join(_INCHES)})")
_LEAST_INCHES, _MOST_INCHES = 2.0, 40.0
# Texts and lines are smaller in a figure of a chosen width: to this share at 3.3 inches, a column of a
# paper, in which texts then have 7.5 points, and not at all from 6.9 inches on.
_COLUMN_INCHES, _COLUMN_SCALE, _SCALE_PER_INCH = 3.3, 0.75, 0.07
_LETTER = 0.55  # width of a letter to the size of its font
_TICK_SIZES = ("size", "width")
_SCALED = (
    *("font.size", "lines.linewidth", "lines.markersize", "axes.linewidth", "axes.labelpad", "axes.titlepad"),
    *(f"{axis}tick.{rank}.{part}" for axis in "xy" for rank in ("major", "minor") for part in _TICK_SIZES),
)


@dataclass(frozen=True)
class Look:
    """How figures are drawn.

    Attributes:
        formats: formats of their files, some of FORMATS.
        width: width in inches; None for the width of each kind of figure.
        title: whether they have titles.
        order: panels and curves that come first, in this order.
        x: key of `--vary` on the horizontal axis of sweeps, or `load`; empty for the load if it varies, and
            else the first key with numbers.
        booksim: whether sweeps have the points of the PolarFly authors' simulator where there are any.
    """

    formats: tuple[str, ...] = ("png", "svg")
    width: float | None = None
    title: bool = True
    order: tuple[str, ...] = ()
    x: str = ""
    booksim: bool = False

    @classmethod
    def of(
        cls,
        format: str | Sequence[str] | None = None,
        width: str | float | None = None,
        order: str | Sequence[str] = (),
        **more: Any,
    ) -> Look:
        """Returns the look that options name.

        Args:
            format: formats as a list, or as text with commas; None for PNG and SVG.
            width: width in inches, or as text with a unit, as `3.3in` or `84mm`.
            order: names of panels and curves as a list, or as text with commas.
            more: the other attributes.

        Raises:
            ParameterError: a value is outside its domain.
        """
        formats = cls.formats if format is None else _listed(format)
        for one in formats:
            if one not in FORMATS:
                raise ParameterError(f"format must be some of {', '.join(FORMATS)}, got {quoted(one)}")
        inches = None if width is None else _inches(width)
        return cls(formats=formats, width=inches, order=_listed(order), **more)


def _listed(value: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value.split(",") if isinstance(value, str) else value))


def _inches(value: str | float) -> float:
    matched = _WIDTH.fullmatch(value) if isinstance(value, str) else None
    inches = float(matched[1]) * _INCHES[matched[2]] if matched else value
    if not isinstance(inches, int | float) or not _LEAST_INCHES <= inches <= _MOST_INCHES:
        domain = f"a length of {_LEAST_INCHES:g}in to {_MOST_INCHES:g}in, as 3.3in, 8.4cm, 84mm or 240pt"
        raise ParameterError(f"width must be {domain}, got {quoted(value)}")
    return inches


PLAIN = Look()


@dataclass
class Drawing:
    """Figures in progress, and what the options of their look can apply to.

    Attributes:
        look: the look.
        figures: the figures.
        names: names of their panels and curves.
        keys: keys for the horizontal axis; None if no figure has a choice.
    """

    look: Look = field(default_factory=Look)
    figures: list[Figure] = field(default_factory=list)
    names: dict[str, None] = field(default_factory=dict)
    keys: list[str] | None = None


_DRAWING: ContextVar[Drawing | None] = ContextVar("drawing", default=None)


def current() -> Drawing:
    """Returns the drawing in progress; outside of `drawn_as`, a new one with the default look."""
    return _DRAWING.get() or Drawing()


@contextmanager
def drawn_as(look: Look) -> Iterator[None]:
    """Applies a look to the figures that its block makes.

    Args:
        look: the look.

    Raises:
        ParameterError: an option of the look applies to none of these figures.
    """
    drawing = Drawing(look)
    token = _DRAWING.set(drawing)
    try:
        with rc_context(_settings(look)):
            yield
            for figure in drawing.figures if look.width else ():
                _fit(figure)
    finally:
        _DRAWING.reset(token)
    _check(drawing)


def scaled(size: float) -> float:
    """Returns the size of a text, a line or a marker in points, smaller in figures of a small width."""
    return size * _scale(current().look)


def ordered(names: Iterable[str]) -> list[str]:
    """Returns names of panels or curves in the order of the look.

    A name without parameters stands for all that begin with it, as `ugal-pf` for `ugal-pf:threshold=0.5`.
    """
    drawing = current()
    listed = [*dict.fromkeys(names)]
    drawing.names |= dict.fromkeys(listed)
    order = drawing.look.order

    def place(name: str) -> int:
        return next((number for number, one in enumerate(order) if _stands_for(one, name)), len(order))

    return sorted(listed, key=place)


def _stands_for(word: str, name: str) -> bool:
    return name == word or name.startswith((f"{word}:", f"{word},"))


def _scale(look: Look) -> float:
    if look.width is None:
        return 1.0
    return min(1.0, max(_COLUMN_SCALE, _COLUMN_SCALE + _SCALE_PER_INCH * (look.width - _COLUMN_INCHES)))


def _settings(look: Look) -> Any:
    """Returns settings of matplotlib, whose stubs list their names."""
    scale = _scale(look)
    settings: Any = rcParams
    return {} if scale == 1 else {name: scale * settings[name] for name in _SCALED}


def _fit(figure: Figure) -> None:
    """Breaks long labels, and sets the sizes of ticks, some of which are made when a figure is written."""
    settings: Any = rcParams
    letters = 72 / (_LETTER * settings["font.size"])  # of an inch
    for axes in figure.axes:
        place = axes.get_position()
        for axis, inches in (
            (axes.xaxis, 0.9 * place.width * figure.get_figwidth()),
            (axes.yaxis, place.height * figure.get_figheight()),
        ):
            axis.set_label_text(textwrap.fill(axis.get_label_text(), max(8, int(letters * inches))))
        for axis, name in ((axes.xaxis, "xtick"), (axes.yaxis, "ytick")):
            for rank in ("major", "minor"):
                length, width = (settings[f"{name}.{rank}.{part}"] for part in _TICK_SIZES)
                axis.set_tick_params(which=rank, length=length, width=width)
            axis.set_tick_params(which="both", labelsize=settings["font.size"])


def _check(drawing: Drawing) -> None:
    """Raises ParameterError if an option of the look applies to no figure."""
    look = drawing.look
    for word in look.order:
        if not any(_stands_for(word, name) for name in drawing.names):
            names = ", ".join(drawing.names)
            domain = f"be some of {names}" if names else "be left out of these results"
            raise ParameterError(f"order must {domain}, got {quoted(word)}")
    if look.x and drawing.keys is None:
        raise ParameterError(f"x is for sweeps, got {quoted(look.x)}; leave it out")
