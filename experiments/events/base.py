"""Base of all events of experiments, and the callable that takes them.

Whoever starts an experiment passes a callable that takes events: the console prints them, a page can draw
them, a program can wait for one. An event carries its values as fields; `str(event)` is the same in one line
for people.
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
    """Report that replaces the one before it, of something that goes on."""

    @property
    def fraction(self) -> float | None:
        """The part that is done, 0 to 1; None where the end is not known."""
        return None


Notify = Callable[[Event], object]


def ignore(_event: Event) -> None:
    """Takes an event and does nothing."""


def time_left(seconds: float | None, about: str = "about") -> str:
    """Returns the end of a line on what goes on: the time that remains.

    Args:
        seconds: the time; None or 0 for no words.
        about: how exact it is.
    """
    return f"; {about} {duration(seconds)} left" if seconds else ""


def duration(seconds: float) -> str:
    """Returns a time in the unit that people would use, as `40 s`, `12 min` or `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
