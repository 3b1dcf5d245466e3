"""Events of a user's own programs."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.events.base import Event, Ongoing


@dataclass(frozen=True)
class ServerNotListening(Event):
    """A server runs and waits for no packets; the others start all the same."""

    line: str

    def __str__(self) -> str:
        return f"`{self.line}` does not listen yet; the other programs start without it"


@dataclass(frozen=True)
class ProgramsStarted(Event):
    """All programs were started, servers among them."""

    programs: int

    def __str__(self) -> str:
        return f"{self.programs} programs started" if self.programs != 1 else "1 program started"


@dataclass(frozen=True)
class ProgramsProgress(Ongoing):
    """Programs that are waited for, some seconds after the start of the traffic."""

    seconds: float
    running: int
    timeout_s: float

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s: {self.running} programs run, {self.timeout_s:g} s at the longest"


@dataclass(frozen=True)
class ProgramFailed(Event):
    """A program failed."""

    failure: str

    def __str__(self) -> str:
        return self.failure
