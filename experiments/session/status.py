"""Status of a fabric's controller and of its background traffic, as a session tells them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ControllerStatus:
    """The state of the controller.

    Attributes:
        running: whether its process runs.
        pid: its process; None if it does not run.
        killed: whether the session killed it; if neither this nor `running`, it ended by itself.
        planned_failure: name of the failure that its present plan is for; `none` for the whole fabric.
        planned_drain: name of the elements that its present plan drains; `none` for none.
    """

    running: bool
    pid: int | None
    killed: bool
    planned_failure: str
    planned_drain: str = "none"


@dataclass(frozen=True)
class TrafficStatus:
    """Background traffic that flows.

    Attributes:
        pattern, load: as it was started.
        seconds: since its start.
        offered, accepted: over about the last second, as fractions of the hosts' injection capacity.
        loss: fraction of the packets that had time to arrive and did not; None before the first.
        latency_p50_ms, latency_p99_ms: percentiles of recent latencies; None before the first packet.
        out_of_order: share of the packets of the last second that arrived after a later one of their flow.
    """

    pattern: str
    load: float
    seconds: float
    offered: float
    accepted: float
    loss: float | None
    latency_p50_ms: float | None
    latency_p99_ms: float | None
    out_of_order: float | None = None
