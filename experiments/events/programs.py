"""Events of a user's own programs."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.events.base import Event, Ongoing

_MOST_NAMED = 3


@dataclass(frozen=True)
class ServerNotListening(Event):
    """A server runs and waits for no packets; the others start all the same."""

    line: str

    def __str__(self) -> str:
        return f"`{self.line}` does not listen yet; the other programs start without it"


@dataclass(frozen=True)
class ServerEnded(Event):
    """A server ended before the other programs started; its last line of output follows behind a colon."""

    line: str
    status: int
    last: str

    def __str__(self) -> str:
        return f"`{self.line}` ended before the other programs started, with status {self.status}{self.last}"


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
    lines: tuple[str, ...]
    timeout_s: float

    def __str__(self) -> str:
        # The host and the name of the program, as in `h1_1 iperf3`.
        names = [" ".join(line.split()[:2]) for line in self.lines]
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        named = ", ".join(names[:_MOST_NAMED]) + more
        return f"{self.seconds:.1f} s of at most {self.timeout_s:g} s: {named}"


@dataclass(frozen=True)
class ProgramFailed(Event):
    """A program failed."""

    failure: str

    def __str__(self) -> str:
        return self.failure
