"""The look of figures, from options of `polarlab plot`: formats, width, title, order, horizontal axis."""

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
from topology.files.escaping import quoted
from topology.parameters import one_of

FORMATS = ("png", "svg", "pdf")
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
_BETWEEN_NAMES = re.compile(r",(?! |[\w.-]+=)")
_WIDTH = re.compile(rf"(\d+(?:\.\d+)?)({'|'.join(_INCHES)})")
_MIN_INCHES, _MAX_INCHES = 2.0, 40.0
# In figures of a chosen width, text and lines are scaled down: to this share at 3.3 inches (a column of a
# paper, where text then has 7.5 points), and not at all from 6.9 inches.
_COLUMN_INCHES, _COLUMN_SCALE, _SCALE_PER_INCH = 3.3, 0.75, 0.07
_LETTER = 0.55  # mean width of a letter / font size
_TICK_SIZES = ("size", "width")
_SCALED = (
    *("font.size", "lines.linewidth", "lines.markersize", "axes.linewidth", "axes.labelpad", "axes.titlepad"),
    *(f"{axis}tick.{rank}.{part}" for axis in "xy" for rank in ("major", "minor") for part in _TICK_SIZES),
)


@dataclass(frozen=True)
class Look:
    """Look of figures.

    Attributes:
        formats: file formats, some of FORMATS.
        width: width in inches; None for the default of each kind of figure.
        title: whether figures have titles.
        order: names of panels and curves to draw first.
        x: horizontal axis of sweeps: a key of `--vary`, or `load`; empty for the load if it varies, otherwise
            the first numeric key.
        booksim: whether sweeps include results of the PolarFly authors' simulator, if available.
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
        """Returns the look for options.

        Args:
            format: formats as a list or comma-separated string; None for PNG and SVG.
            width: width in inches, or a string with a unit, such as `3.3in` or `84mm`.
            order: names of panels and curves as a list or comma-separated string.
            more: the other attributes.

        Raises:
            ParameterError: a value is outside its domain.
        """
        formats = cls.formats if format is None else _listed(format)
        for one in formats:
            if one not in FORMATS:
                raise ParameterError(f"format must be {one_of(FORMATS)}, got {quoted(one)}")
        inches = None if width is None else _inches(width)
        return cls(formats=formats, width=inches, order=_names(order), **more)


def _names(value: str | Sequence[str]) -> tuple[str, ...]:
    """Splits a list of names, which may contain commas: `ugal-pf:buckets=8,threshold=0.5, queue 8`."""
    return tuple(dict.fromkeys(_BETWEEN_NAMES.split(value) if isinstance(value, str) else value))


def _listed(value: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value.split(",") if isinstance(value, str) else value))


def _inches(value: str | float) -> float:
    matched = _WIDTH.fullmatch(value) if isinstance(value, str) else None
    inches = float(matched[1]) * _INCHES[matched[2]] if matched else value
    if not isinstance(inches, int | float) or not _MIN_INCHES <= inches <= _MAX_INCHES:
        domain = f"{_MIN_INCHES:g}in to {_MAX_INCHES:g}in, such as 3.3in, 8.4cm, 84mm or 240pt"
        raise ParameterError(f"width must be {domain}, got {quoted(value)}")
    return inches


PLAIN = Look()


@dataclass
class Drawing:
    """Figures in progress, and the names to which options of the look can apply.

    Attributes:
        look: the look.
        figures: the figures.
        names: names of their panels and curves, as keys.
        keys: possible keys for the horizontal axis; None if no figure has a choice.
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
    """Applies a look to all figures created in the block.

    Args:
        look: the look.

    Raises:
        ParameterError: an option of the look applies to none of the figures.
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
    """Scales a size of text, lines or markers in points to the width of figures."""
    return size * _scale(current().look)


def ordered(names: Iterable[str]) -> list[str]:
    """Returns names of panels or curves in the order of the look.

    A name without parameters stands for all that start with it: `ugal-pf` for `ugal-pf:threshold=0.5`.
    """
    drawing = current()
    listed = [*dict.fromkeys(names)]
    drawing.names |= dict.fromkeys(listed)
    order = drawing.look.order

    def place(name: str) -> int:
        return next((number for number, one in enumerate(order) if _matches(one, name)), len(order))

    return sorted(listed, key=place)


def _matches(word: str, name: str) -> bool:
    return name == word or name.startswith((f"{word}:", f"{word},"))


def _scale(look: Look) -> float:
    if look.width is None:
        return 1.0
    return min(1.0, max(_COLUMN_SCALE, _COLUMN_SCALE + _SCALE_PER_INCH * (look.width - _COLUMN_INCHES)))


def _settings(look: Look) -> Any:
    """Returns matplotlib's sizes of text, lines and ticks, scaled for the look: setting -> value."""
    scale = _scale(look)
    settings: Any = rcParams  # stubs allow only literal names
    return {} if scale == 1 else {name: scale * settings[name] for name in _SCALED}


def _fit(figure: Figure) -> None:
    """Wraps long labels, and sets the sizes even of ticks that are created when the figure is written."""
    settings: Any = rcParams
    letters = 72 / (_LETTER * settings["font.size"])  # letters per inch
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
        if not any(_matches(word, name) for name in drawing.names):
            names = one_of(drawing.names)
            domain = f"be {names}" if names else "be left out for these results"
            raise ParameterError(f"order must {domain}, got {quoted(word)}")
    if look.x and drawing.keys is None:
        raise ParameterError(f"x applies only to sweeps, got {quoted(look.x)}; leave it out")
