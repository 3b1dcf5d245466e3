"""Coverage: the share of the measurement window that the monitors observed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

# Largest share of the window that a monitor may miss.
MAX_MISSED = 0.05

Span = tuple[float, float]


class Coverage(NamedTuple):
    """Time of the measurement window that a monitor observed.

    Attributes:
        subject: noun for what was observed, such as `processors`; the reason for doubt begins with it.
        seconds: time of the window that the observations cover, in s.
        window_s: length of the window in s.
        ended: clause that says why the monitor missed the rest, such as how it ended; empty if not known.
        max_missed: largest share of the window that may be missed.
    """

    subject: str
    seconds: float
    window_s: float
    ended: str = ""
    max_missed: float = MAX_MISSED

    @property
    def share(self) -> float:
        """The covered share of the window, 0 to 1."""
        return self.seconds / self.window_s if self.window_s > 0 else 1.0

    @property
    def lacking(self) -> bool:
        """Whether too much of the window was missed to judge it."""
        return self.share < 1 - self.max_missed

    @property
    def reason(self) -> str:
        """The reason to doubt a result because too little of its window was observed, as a sentence."""
        why = f": {self.ended}" if self.ended else ""
        return f"{self.subject} observed for {self.seconds:.1f} of {self.window_s:.3g} s{why}"


def covered_s(observed: Iterable[Span], window: Span, reach_s: float) -> float:
    """Returns the time of a window that observations cover, in s.

    Args:
        observed: (start, end) of each observation, ascending.
        window: (start, end) of the window, on the same clock.
        reach_s: each observation also covers this time in s before its start and after its end.
    """
    total, covered_until = 0.0, window[0]
    for begin_s, end_s in observed:
        until_s = min(end_s + reach_s, window[1])
        total += max(0.0, until_s - max(begin_s - reach_s, covered_until))
        covered_until = max(covered_until, until_s)
    return total


def note_time(spans: list[Span], time_s: float, longest_s: float) -> None:
    """Extends the spans of regular readings by the time of a reading.

    Args:
        spans: the spans, ascending; the last one is extended, or a new one starts.
        time_s: time of the reading.
        longest_s: longest time between two readings of one span.
    """
    begin_s, end_s = spans[-1] if spans else (time_s, time_s)
    if spans and time_s - end_s <= longest_s:
        spans[-1] = begin_s, time_s
    else:
        spans.append((time_s, time_s))
