"""Events of sweeps and demonstrations, and of results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from experiments.events.base import Event, Ongoing


@dataclass(frozen=True)
class SweepResumed(Event):
    """The folder of a sweep holds points already."""

    folder: Path
    measured: int
    missing: int

    def __str__(self) -> str:
        return f"{self.folder} holds {self.measured} points; {self.missing} of those asked for are missing"


@dataclass(frozen=True)
class SweepInterrupted(Event):
    """Ctrl-C or a signal ended a sweep."""

    folder: Path
    points: int
    missing: int

    def __str__(self) -> str:
        rest = f"the same command goes on with the other {self.missing}"
        return f"{self.folder} holds {self.points} points; {rest}"


@dataclass(frozen=True)
class RoutingStarted(Event):
    """A sweep turns to a routing."""

    routing: str
    summary: str

    def __str__(self) -> str:
        return f"routing {self.routing}: {self.summary}"


@dataclass(frozen=True)
class PointStarted(Event):
    """A sweep turns to a point: number `number` of `points` that are to be measured."""

    number: int
    points: int
    name: str

    def __str__(self) -> str:
        return f"point {self.number} of {self.points}: {self.name}"


@dataclass(frozen=True)
class FailoverStarted(Event):
    """Probes begin; after `fail_s` seconds the named elements fail."""

    seconds: float
    failing: str
    fail_s: float

    def __str__(self) -> str:
        return f"{self.seconds:g} s of probes; {self.failing} fails after {self.fail_s:g} s"


@dataclass(frozen=True)
class FailoverRepeated(Event):
    """The next failover of a series begins."""

    seed: int
    number: int
    failovers: int

    def __str__(self) -> str:
        return f"seed {self.seed}, failover {self.number} of {self.failovers}"


@dataclass(frozen=True)
class FailoverEnded(Event):
    """A failover of a series has ended, and the fabric is whole again.

    Attributes:
        failed: the elements that failed, or were to fail.
        gap_ms: longest silence in ms.
        lost: probes that were lost.
        happened: whether it was not interrupted before the failure.
    """

    failed: str
    gap_ms: float
    lost: int
    happened: bool = True

    def __str__(self) -> str:
        if not self.happened:
            return f"interrupted before the failure of {self.failed}"
        return f"{self.failed}: longest silence {self.gap_ms:g} ms, {self.lost} probes lost"


@dataclass(frozen=True)
class ProbesSent(Ongoing):
    """Time for which probes have been sent so far, of all the time."""

    seconds: float
    total_s: float

    @property
    def fraction(self) -> float:
        """The part of the time."""
        return min(1.0, self.seconds / self.total_s)

    def __str__(self) -> str:
        return f"probes: {self.seconds:.1f} of {self.total_s:g} s"


@dataclass(frozen=True)
class ResultsWritten(Event):
    """The results are in their folder."""

    folder: Path
    interrupted: bool

    def __str__(self) -> str:
        hint = f"; `polarlab plot {self.folder}` draws it" if self.interrupted else ""
        return f"written to {self.folder}{hint}"


@dataclass(frozen=True)
class ResultsNotWritten(Event):
    """The disk did not take all results; the summary is told here instead, as JSON."""

    summary: str

    def __str__(self) -> str:
        return f"the result could not be written in full; it was {self.summary}"


@dataclass(frozen=True)
class ResultInvalid(Event):
    """A reason why a result is not valid, and what to do where the machine was too slow."""

    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"result not valid: {self.reason}{self.remedy}"


@dataclass(frozen=True)
class ResultNegative(Event):
    """A demonstration's negative result."""

    reason: str

    def __str__(self) -> str:
        return f"negative result: {self.reason}"


@dataclass(frozen=True)
class PointsMeasured(Event):
    """A sweep is complete."""

    measured: int
    folder: Path

    def __str__(self) -> str:
        return f"{self.measured} points measured; all are in {self.folder}"


@dataclass(frozen=True)
class PointsInvalid(Event):
    """Points of a sweep that are not valid."""

    invalid: int
    points: int
    folder: Path
    remedy: str = ""

    def __str__(self) -> str:
        reasons = f"{self.folder}/points has the reasons"
        return f"{self.invalid} of {self.points} points are not valid; {reasons}{self.remedy}"


@dataclass(frozen=True)
class FiguresDrawn(Event):
    """Figures were drawn, each as PNG and SVG."""

    paths: tuple[Path, ...]

    def __str__(self) -> str:
        names = (f"{path}, {path.with_suffix('.svg').name}" for path in self.paths if path.suffix == ".png")
        return f"drawn: {'; '.join(names)}"


@dataclass(frozen=True)
class CommandFailed(Event):
    """A line of `--exec`, a file or a pipe failed."""

    line: str
    status: int
    reason: str = ""

    def __str__(self) -> str:
        return f"`{self.line}` failed" + (
            f": {self.reason}" if self.reason else f" with status {self.status}"
        )


@dataclass(frozen=True)
class PromptOpened(Event):
    """The prompt is open."""

    def __str__(self) -> str:
        return "the prompt: `help` lists its commands, `exit` takes the fabric down"
