"""Events that others look at: what began, ended, or was written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from experiments.events.base import Event


@dataclass(frozen=True)
class ProcessEnded(Event):
    """A process of the fabric ended by itself: of the controller, of a switch, or the first one of a host."""

    process: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.process} has ended" + (f"; {self.remedy}" if self.remedy else "")


@dataclass(frozen=True)
class TrafficStarted(Event):
    """Traffic of a pattern begins; `seconds` with the warm-up, an upper bound where that ends by itself."""

    pattern: str
    load: float
    seconds: float
    steady: bool

    def __str__(self) -> str:
        bound = "at most " if self.steady else ""
        return f"{self.pattern} traffic at {self.load:g} of the injection capacity, {bound}{self.seconds:g} s"


@dataclass(frozen=True)
class CollectiveStarted(Event):
    """A collective begins."""

    pattern: str
    ranks: int
    placement: str

    def __str__(self) -> str:
        return f"{self.pattern} of {self.ranks} ranks, {self.placement} placement"


@dataclass(frozen=True)
class Interrupted(Event):
    """The run was interrupted; the measurements until then are kept."""

    def __str__(self) -> str:
        return "interrupted; keeping what was measured"


@dataclass(frozen=True)
class ResultsWritten(Event):
    """The results are in their folder."""

    folder: Path
    interrupted: bool

    def __str__(self) -> str:
        hint = f"; `polarlab plot {self.folder}` draws it" if self.interrupted else ""
        return f"written to {self.folder}{hint}"


@dataclass(frozen=True)
class PointsMeasured(Event):
    """A sweep is complete."""

    measured: int
    folder: Path

    def __str__(self) -> str:
        return f"{self.measured} points measured; all are in {self.folder}"
