"""Typed results of user programs, and of the lines and background traffic of a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.codec import omitted


@dataclass(frozen=True, kw_only=True)
class ProgramRecord:
    """User program that ran on the fabric.

    Attributes:
        host: name of the host or switch that it ran on.
        command: its command line.
        server: whether it started before all clients and was terminated when the traffic ended.
        status: exit status, or minus the number of the signal that killed it; None if PolarLab ended it.
        started_s: start in seconds since the start of traffic; negative for servers.
        ended_s: end in seconds since the start of traffic.
        output: file of its standard output, in the folder of the run.
        errors: file of its standard error, in the folder of the run.
        cut_off: whether one of these files was truncated.
        timed_out: whether it was terminated because it exceeded `exec_timeout_s`.
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
        """Whether the program exited with a status other than 0, or timed out."""
        return self.timed_out or self.status not in (0, None)

    @property
    def duration_s(self) -> float | None:
        """Duration in s; None if its end is not known."""
        return None if self.ended_s is None else round(self.ended_s - self.started_s, 4)

    @property
    def end_text(self) -> str:
        """The program's exit status as text, or the reason why it was terminated."""
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
        status: exit status of its command, 130 after Ctrl-C; None if a signal ended the whole session.
        started_s: start in seconds since the start of the session.
        ended_s: end in seconds since the start of the session.
    """

    line: str
    status: int | None
    started_s: float
    ended_s: float


@dataclass(frozen=True)
class TrafficOutcome:
    """Result of a session's background traffic.

    Attributes:
        pattern: name of its pattern, with parameters.
        load: requested load, as a fraction of the hosts' injection capacity.
        seconds: duration in s.
        sent_packets: packets that hosts sent.
        received_packets: packets that hosts sent and that arrived.
        loss: fraction of sent packets that did not arrive; None if none were sent.
        offered: load that hosts sent, as a fraction of their injection capacity.
        accepted: load that arrived, as a fraction of the hosts' injection capacity.
        latency_mean_ms: mean latency in ms of all packets that arrived; None if there are none.
        latency_p99_ms: 99th percentile of the same latencies in ms.
        hops: number of hops -> number of packets.
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
