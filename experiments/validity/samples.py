"""Observations of the machine while traffic runs, second by second.

A switch holds a frame from the frame's arrival at a port until the switch reads it (`held_reader`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from experiments.validity.coverage import Coverage, Span, covered_s, note_time

# A switch with fewer frames is judged as if it had this many: with only a few frames, one sample that happens
# to see a waiting frame would dominate the mean.
MIN_FRAMES = 30
# Between two seconds the counters of all ports are read, which takes time in large fabrics.
_BETWEEN_SECONDS_S = 0.25


@dataclass
class CpuSamples:
    """Idle time and steal time of all cores, second by second.

    Attributes:
        times_s: end of each second, on time.monotonic's clock.
        idle: share of idle time in that second, 0 to 1.
        stolen: share of steal time in that second, 0 to 1.
        span_s: length of a sample in s.
    """

    times_s: list[float] = field(default_factory=list)
    idle: list[float] = field(default_factory=list)
    stolen: list[float] = field(default_factory=list)
    span_s: float = 1.0

    def idle_between(self, begin_s: float, end_s: float) -> list[float]:
        """Returns the idle shares of the samples that lie entirely within a time span."""
        return [self.idle[place] for place in self._within(begin_s, end_s)]

    def stolen_between(self, begin_s: float, end_s: float) -> list[float]:
        """Returns the shares of steal time of the samples that lie entirely within a time span."""
        return [self.stolen[place] for place in self._within(begin_s, end_s)]

    def coverage(self, window: Span) -> Coverage:
        """Returns the time of a window that the samples cover."""
        spans: list[Span] = []
        for time_s in self.times_s:
            if not spans or time_s - spans[-1][1] > 2 * self.span_s:
                spans.append((time_s - self.span_s, time_s))
            note_time(spans, time_s, 2 * self.span_s)
        seconds = covered_s(spans, window, self.span_s)
        return Coverage("processors", seconds, window[1] - window[0])

    def _within(self, begin_s: float, end_s: float) -> list[int]:
        return [
            place
            for place, time_s in enumerate(self.times_s)
            if begin_s <= time_s - self.span_s and time_s <= end_s
        ]


@dataclass
class ControllerSamples:
    """Time spans in which the controller was stopped although PolarLab had not stopped it.

    Attributes:
        stops: the spans on time.monotonic's clock in s, ascending, each from the last check before a stop to
            the first one after it.
    """

    stops: list[Span] = field(default_factory=list)

    def coverage(self, window: Span) -> Coverage:
        """Returns for how long the controller ran in a window; a run with any stop is not valid."""
        stopped_s, window_s = covered_s(self.stops, window, 0.0), window[1] - window[0]
        ended = f"it was stopped for {stopped_s:.2g} s" if stopped_s else ""
        return Coverage("a running controller", window_s - stopped_s, window_s, ended, max_missed=0.0)


class SwitchSample(NamedTuple):
    """Frames that reached a switch in one second, and how many of them it had not read yet.

    Attributes:
        frames: frames that reached the switch.
        waiting: mean number n of frames that the switch had not yet read from its ports.
        pairs: mean of n (n - 1), the ordered pairs of such frames.
    """

    frames: int
    waiting: float
    pairs: float = 0.0


@dataclass(frozen=True)
class HeldSecond:
    """Frames that waited to be read by each switch in one second.

    Attributes:
        begin_s, end_s: its start and end on time.monotonic's clock.
        switches: name of the switch -> its sample.
        stood_still_s: mean time in s for which a frame was held because the whole machine stalled, as
            late samples show.
        stood_still_square: mean square of that time, in s^2.
    """

    begin_s: float
    end_s: float
    switches: Mapping[str, SwitchSample]
    stood_still_s: float = 0.0
    stood_still_square: float = 0.0

    def held_s(self, switch: str) -> float:
        """Returns the mean time in s for which a switch held a frame before reading it.

        By Little's law, it is the mean number of waiting frames divided by the arrival rate, whatever the
        traffic.
        """
        return self.switches[switch].waiting / self._rate(switch) + self.stood_still_s

    def held_rms_s(self, switch: str) -> float:
        """Returns the root mean square of the time in s for which a switch held a frame.

        Of two switches with the same mean, it is larger for the one that holds frames rarely but long, and
        then sends them in a burst.
        """
        square = self.switches[switch].pairs / self._rate(switch) ** 2 + self.stood_still_square
        return math.sqrt(square)

    def _rate(self, switch: str) -> float:
        """Returns the frames per second that reached a switch, at least MIN_FRAMES."""
        seconds = self.end_s - self.begin_s
        return max(self.switches[switch].frames, MIN_FRAMES * min(1.0, seconds)) / seconds


class Held(NamedTuple):
    """The longest time for which a switch held frames in one second: its mean or root mean square.

    Attributes:
        frame_times: that time, in units of the time that a frame takes on a link.
        second: start of that second in s since the start of the traffic; arbitrary in live reports.
        switch: name of the switch.
    """

    frame_times: float
    second: float
    switch: str


class HeldLately(NamedTuple):
    """The longest times for which switches held frames in the last second of an ongoing run.

    Attributes:
        mean: the switch whose mean time was longest.
        rms: the switch whose root mean square of that time was largest.
    """

    mean: Held
    rms: Held


@dataclass
class HeldSamples:
    """Frames that waited to be read by switches, second by second.

    Attributes:
        seconds: the seconds that were observed.
        ended: clause that says how the monitoring process ended early; empty if it did not.
    """

    seconds: list[HeldSecond] = field(default_factory=list)
    ended: str = ""

    def lately(self, packet_s: float, now_s: float = -math.inf) -> HeldLately | None:
        """Returns the longest times for which switches held frames in the last second; None if not observed.

        Args:
            packet_s: time of a frame on a link, in s.
            now_s: the current time on the same clock; a second that ended long before it does not count.
        """
        last = [one for one in self.seconds[-1:] if now_s < one.end_s + 2 * (one.end_s - one.begin_s) + 1]
        mean = worst_held(last, packet_s)
        rms = worst_held(last, packet_s, measure=HeldSecond.held_rms_s)
        return HeldLately(mean, rms) if mean and rms else None

    def coverage(self, window: Span) -> Coverage:
        """Returns for how long frames held by switches were sampled in a window."""
        spans = [(second.begin_s, second.end_s) for second in self.seconds]
        seconds = covered_s(spans, window, _BETWEEN_SECONDS_S)
        return Coverage("held frames", seconds, window[1] - window[0], self.ended)

    def between(self, begin_s: float, end_s: float) -> list[HeldSecond]:
        """Returns the seconds that overlap a time span."""
        return [second for second in self.seconds if second.end_s > begin_s and second.begin_s < end_s]


def worst_held(
    seconds: list[HeldSecond],
    packet_s: float,
    start_s: float = 0.0,
    excepted: Mapping[str, list[tuple[float, float]]] | None = None,
    measure: Callable[[HeldSecond, str], float] = HeldSecond.held_s,
) -> Held | None:
    """Returns the longest time for which a switch held frames in a second; None if no second is to be judged.

    Args:
        seconds: the seconds to judge.
        packet_s: time of a frame on a link, in s.
        start_s: start of the traffic on the clock of the seconds.
        excepted: name of a switch -> time spans (start, end) on that clock in which it is not judged, because
            an injected fault stopped it.
        measure: (second, name of a switch) -> time in s that is compared.
    """
    excepted = excepted or {}
    found = [
        # "+ 0.0" turns -0.0 into 0.0.
        Held(measure(second, switch) / packet_s, round(second.begin_s - start_s, 1) + 0.0, switch)
        for second in seconds
        for switch in second.switches
        if not any(
            begin_s < second.end_s and second.begin_s < end_s for begin_s, end_s in excepted.get(switch, ())
        )
    ]
    return max(found, default=None)


def mean_held(seconds: list[HeldSecond], packet_s: float) -> float | None:
    """Returns the mean time for which a switch held a frame, in frame times; None without frames.

    Args:
        seconds: the seconds; every frame has the same weight.
        packet_s: time of a frame on a link, in s.
    """
    frames = sum(sample.frames for second in seconds for sample in second.switches.values())
    if not frames:
        return None
    held_s = sum(
        sample.waiting * (second.end_s - second.begin_s) + sample.frames * second.stood_still_s
        for second in seconds
        for sample in second.switches.values()
    )
    return held_s / frames / packet_s
