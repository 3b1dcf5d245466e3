"""Typed results of a user's programs, and of the lines of a session at the prompt."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ProgramRecord:
    """Program of a user that ran on the fabric.

    Attributes:
        host: the host, or the switch, that it ran on.
        command: its command line.
        server: whether it was started before the others and ended at the end.
        status: exit status, or minus the number of the signal that ended it; None if PolarLab ended it.
        started_s: its start, in seconds after the start of the traffic; servers start before.
        ended_s: its end, in the same seconds.
        output: file of its standard output, in the folder of the run.
        errors: file of its standard error, in the folder of the run.
        cut_off: whether one of these files lacks the rest of what it wrote.
        timed_out: whether it was ended because it took longer than `exec_timeout_s`.
    """

    host: str
    command: str
    server: bool = False
    status: int | None
    started_s: float
    ended_s: float | None
    output: str
    errors: str
    cut_off: bool = False
    timed_out: bool = False

    @property
    def failed(self) -> bool:
        """Whether it ended by itself with another status than 0, or did not end in time."""
        return self.timed_out or self.status not in (0, None)

    @property
    def line(self) -> str:
        """The program as on the command line."""
        return f"{self.host} {self.command}" + (" &" if self.server else "")


@dataclass(frozen=True)
class PromptLine:
    """Line that ran at the prompt of a session.

    Attributes:
        line: the line.
        status: exit status of its command, 130 if Ctrl-C ended it; None if a signal ended the whole session.
        started_s: its start, in seconds after the start of the session.
        ended_s: its end, in the same seconds.
    """

    line: str
    status: int | None
    started_s: float
    ended_s: float
