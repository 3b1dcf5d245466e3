"""Coverage of the measured window by the observers on whose observations its judgement rests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

# Largest share of the window that an observer may have missed.
MOST_MISSED = 0.05

Span = tuple[float, float]


class Coverage(NamedTuple):
    """Time of the measured window for which something was observed.

    Attributes:
        subject: what was observed, in the plural.
        seconds: time of the window that the observations cover, in s.
        window_s: length of the window in s.
        ended: why some of it was missed, as how the observer ended before its time, a clause; empty if not
            known.
        most_missed: largest share of the window that may be missed.
    """

    subject: str
    seconds: float
    window_s: float
    ended: str = ""
    most_missed: float = MOST_MISSED

    @property
    def share(self) -> float:
        """The covered share of the window, 0 to 1."""
        return self.seconds / self.window_s if self.window_s > 0 else 1.0

    @property
    def lacking(self) -> bool:
        """Whether too much of the window was missed for its judgement."""
        return self.share < 1 - self.most_missed

    @property
    def reason(self) -> str:
        """The reason for doubt, a sentence."""
        why = f": {self.ended}" if self.ended else ""
        return f"{self.subject} observed for {self.seconds:.1f} of {self.window_s:.3g} s{why}"


def covered_s(observed: Iterable[Span], window: Span, reach_s: float) -> float:
    """Returns the time of a window that observations cover, in s.

    Args:
        observed: begin and end of each observation, ascending.
        window: begin and end of the window, on the same clock.
        reach_s: time before and after an observation for which it stands, too.
    """
    total, covered_until = 0.0, window[0]
    for begin_s, end_s in observed:
        until_s = min(end_s + reach_s, window[1])
        total += max(0.0, until_s - max(begin_s - reach_s, covered_until))
        covered_until = max(covered_until, until_s)
    return total


def note_time(spans: list[Span], time_s: float, longest_s: float) -> None:
    """Adds a time at which something was read to the spans in which it was read again and again.

    Args:
        spans: the spans, ascending; the last one is prolonged.
        time_s: the time.
        longest_s: longest time between two readings of one span.
    """
    begin_s, end_s = spans[-1] if spans else (time_s, time_s)
    if spans and time_s - end_s <= longest_s:
        spans[-1] = begin_s, time_s
    else:
        spans.append((time_s, time_s))
