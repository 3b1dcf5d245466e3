"""Events of a session: what ended by itself, and what was started again."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.events.base import Event
from experiments.results.parts.programs import TrafficOutcome


@dataclass(frozen=True)
class ProcessEnded(Event):
    """A process of the fabric ended by itself: of the controller, of a switch, or the first one of a host."""

    process: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.process} has ended" + (f"; {self.remedy}" if self.remedy else "")


@dataclass(frozen=True)
class ProgramEnded(Event):
    """A program that a node ran in the background ended."""

    node: str
    command: str
    pid: int

    def __str__(self) -> str:
        return f"`{self.command}` of {self.node} (process {self.pid}) has ended"


@dataclass(frozen=True)
class ShellRenewed(Event):
    """The shell of a node ended and was started again in the same namespaces."""

    node: str

    def __str__(self) -> str:
        return f"the shell of {self.node} has ended and was started again; {self.node} keeps its interfaces"


@dataclass(frozen=True)
class PlanAwaited(Event):
    """A measurement waits for the controller.

    Attributes:
        elements: links and switches that its plan avoids or uses unlike what has failed.
    """

    elements: str

    def __str__(self) -> str:
        return f"the measurement waits for the controller, whose plan is not yet right for {self.elements}"


@dataclass(frozen=True)
class TrafficEnded(Event):
    """Background traffic ended without having been stopped."""

    reason: str

    def __str__(self) -> str:
        return f"background traffic has ended: {self.reason}"


@dataclass(frozen=True)
class TrafficStopped(Event):
    """Background traffic was stopped by the end of the session."""

    outcome: TrafficOutcome

    def __str__(self) -> str:
        result = self.outcome
        return (
            f"background traffic has ended with the session: {result.pattern} at {result.load:g} for "
            f"{result.seconds:.1f} s, {result.received_packets} of {result.sent_packets} packets arrived"
        )
