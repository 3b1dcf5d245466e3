"""Result of a collective, key by key."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.codec import omitted


@dataclass(frozen=True)
class CollectiveSize:
    """Completion and bandwidth of a collective for one message size, over the iterations that count.

    Attributes:
        message_bytes: size of the message.
        iterations: iterations that were completed.
        completion_ms, completion_ms_min, completion_ms_max: time until the last rank has its result.
        algorithm_bandwidth_bps: message size over the mean completion time.
        bus_bandwidth_bps: that times the share of its message that each rank has to send (NCCL tests).
    """

    message_bytes: int
    iterations: int
    completion_ms: float | None = None
    completion_ms_min: float | None = None
    completion_ms_max: float | None = None
    algorithm_bandwidth_bps: int | None = None
    bus_bandwidth_bps: int | None = None


@dataclass(frozen=True)
class Acknowledgements:
    """Frames of a collective that carry acknowledgements only."""

    sent: int
    received: int


@dataclass(frozen=True, kw_only=True)
class CollectiveSummary:
    """Result of a collective; the figures beside `sizes` are those of the largest message.

    Attributes:
        name, algorithm: the collective.
        ranks: number of ranks.
        message_bytes, iterations, completion_ms, completion_ms_min, completion_ms_max: see CollectiveSize.
        algorithm_bandwidth_bps, bus_bandwidth_bps: see CollectiveSize.
        sizes: the result for each message size.
        wrong_results: ranks with a wrong result, summed over iterations.
        resent: segments that were sent again.
        acknowledgements: frames without data.
        failed: reason why it ended early; absent if it did not.
    """

    name: str
    algorithm: str
    ranks: int
    message_bytes: int
    iterations: int
    completion_ms: float | None = None
    completion_ms_min: float | None = None
    completion_ms_max: float | None = None
    algorithm_bandwidth_bps: int | None = None
    bus_bandwidth_bps: int | None = None
    sizes: tuple[CollectiveSize, ...] = ()
    wrong_results: int = 0
    resent: int | None = None
    acknowledgements: Acknowledgements | None = None
    failed: str | None = omitted()
