"""Typed results of a user's programs, and of the lines and the background traffic of a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.codec import omitted


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
    def duration_s(self) -> float | None:
        """Time in s for which it ran; None if its end is not known."""
        return None if self.ended_s is None else round(self.ended_s - self.started_s, 4)

    @property
    def end_text(self) -> str:
        """Its exit status, or who ended it."""
        if self.status is not None:
            return str(self.status)
        return "timed out" if self.timed_out else "ended by PolarLab"

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


@dataclass(frozen=True)
class TrafficOutcome:
    """Background traffic of a session that has ended.

    Attributes:
        pattern: name of its pattern, with the argument where it has one.
        load: the load that it was started at, as a fraction of the hosts' injection capacity.
        seconds: its duration.
        sent_packets: packets that hosts sent.
        received_packets: those of them that arrived.
        loss: fraction of the packets sent that did not arrive; None if none was sent.
        offered: load that hosts sent, as a fraction of their injection capacity.
        accepted: load that arrived, as a fraction of the hosts' injection capacity.
        latency_mean_ms: mean latency in ms of all packets that arrived; None if none did.
        latency_p99_ms: 99th percentile in ms of the same latencies.
        hops: hops -> packets.
        failed: reason why it ended early, a sentence; absent if it did not.
    """

    pattern: str
    load: float
    seconds: float
    sent_packets: int
    received_packets: int
    loss: float | None
    offered: float
    accepted: float
    latency_mean_ms: float | None
    latency_p99_ms: float | None
    hops: Mapping[int, int]
    failed: str | None = omitted()
