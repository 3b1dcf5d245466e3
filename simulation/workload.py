"""Workload of a simulation: who sends to whom, and how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from topology.errors import ParameterError
from traffic.workload.patterns import Pattern
from traffic.workload.schedule import Schedule

Arrivals = Literal["bernoulli", "poisson", "constant"]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Packets of a pattern: every host that sends injects at the same mean rate.

    Attributes:
        pattern: destinations of every host's packets.
        load: mean rate of a host that sends, as a share of its link's rate, over 0 and at most 1.
        arrivals: process of the births of a host's packets: `bernoulli` (one or none in a cycle), `poisson`,
            or `constant` gaps with a random phase.
        schedule: packets with their times; None to draw them. Only routers whose queues drop take one.
        frame_ns: time of a packet on a link, in nanoseconds of the schedule; 0 without one.

    Raises:
        ParameterError: the load is outside its domain, or a schedule comes without the time of a packet.
    """

    pattern: Pattern
    load: float
    arrivals: Arrivals = "bernoulli"
    schedule: Schedule | None = None
    frame_ns: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.load <= 1:
            raise ParameterError(f"load must be over 0 and at most 1, got {self.load}")
        if self.schedule is not None and self.frame_ns < 1:
            raise ParameterError(f"frame_ns of a schedule must be 1 or more, got {self.frame_ns}")
