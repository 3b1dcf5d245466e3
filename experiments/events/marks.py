"""Events that mark the start, the end or the results of an activity; other modules react to them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from experiments.events.base import Event


@dataclass(frozen=True)
class ProcessEnded(Event):
    """A process of the fabric ended by itself: the controller, a switch program or a host's first process."""

    process: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.process} has ended" + (f"; {self.remedy}" if self.remedy else "")


@dataclass(frozen=True)
class TrafficStarted(Event):
    """Traffic of a pattern starts.

    Attributes:
        pattern: name of the pattern.
        load: offered load, as a fraction of the injection capacity.
        seconds: length including the warm-up, in s; an upper bound if `steady`.
        steady: whether the warm-up ends once the traffic is in a steady state.
    """

    pattern: str
    load: float
    seconds: float
    steady: bool

    def __str__(self) -> str:
        bound = "at most " if self.steady else ""
        return f"{self.pattern} traffic at {self.load:g} of the injection capacity, {bound}{self.seconds:g} s"


@dataclass(frozen=True)
class CollectiveStarted(Event):
    """A collective starts."""

    pattern: str
    ranks: int
    placement: str

    def __str__(self) -> str:
        return f"{self.pattern} of {self.ranks} ranks, {self.placement} placement"


@dataclass(frozen=True)
class Interrupted(Event):
    """The run was interrupted; the measurements up to then are kept."""

    def __str__(self) -> str:
        return "interrupted; keeping the measurements so far"


@dataclass(frozen=True)
class ResultsWritten(Event):
    """The results are in their folder."""

    folder: Path
    interrupted: bool

    def __str__(self) -> str:
        hint = f"; `polarlab plot {quote(str(self.folder))}` draws it" if self.interrupted else ""
        return f"written to {self.folder}{hint}"


@dataclass(frozen=True)
class PointsMeasured(Event):
    """A sweep is complete."""

    measured: int
    folder: Path

    def __str__(self) -> str:
        return f"{self.measured} points measured; all are in {self.folder}"
