"""Base class of all events of experiments, and the type of callbacks that receive them.

The caller of an experiment passes a callback for events: the console prints them, a page draws them, and a
program can wait for one. An event carries its values as fields; `str(event)` describes it in one line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable


class Event(ABC):
    """Report of an experiment.

    Attributes:
        key: key of a notice (`experiments.events.notices`); empty for events with a class of their own.
    """

    key: str = ""

    @abstractmethod
    def __str__(self) -> str:
        pass


class Ongoing(Event):
    """Report on an ongoing activity; each report replaces the previous one."""

    @property
    def fraction(self) -> float | None:
        """The fraction done, 0 to 1; None if the total is not known."""
        return None


OnEvent = Callable[[Event], object]


def ignore(_event: Event) -> None:
    """Ignores an event."""


def time_left(seconds: float | None, about: str = "about") -> str:
    """Returns the remaining time as a suffix of a progress line, like `; about 12 min left`.

    Args:
        seconds: the remaining time in s; None or 0 for an empty suffix.
        about: precision, like `about` or `at most`.
    """
    return f"; {about} {duration(seconds)} left" if seconds else ""


def duration(seconds: float) -> str:
    """Returns a time in a readable unit, like `40 s`, `12 min` or `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
