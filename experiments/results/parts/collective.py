"""Result of a collective, key by key."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.codec import omitted


@dataclass(frozen=True)
class CollectiveSize:
    """Completion and bandwidth of a collective for one message size, over the iterations that count.

    Attributes:
        message_bytes: size of the message.
        iterations: iterations that were completed and count.
        completion_ms: time until the last rank has its result in ms, mean over the iterations.
        completion_ms_min: the shortest of these times in ms.
        completion_ms_max: the longest of these times in ms.
        algorithm_bandwidth_bps: 8 x `message_bytes` / mean completion time, in bit/s.
        bus_bandwidth_bps: `algorithm_bandwidth_bps` x 2 (n - 1) / n for an allreduce of n ranks,
            x (n - 1) / n for an all-to-all, in bit/s; it can be compared with the rate of links (NCCL tests).
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
    """Frames of a collective that carry acknowledgements only.

    Attributes:
        sent: frames that ranks sent.
        received: frames that arrived.
    """

    sent: int
    received: int


@dataclass(frozen=True, kw_only=True)
class CollectiveSummary:
    """Result of a collective; the figures beside `sizes` are those of the largest message.

    Attributes:
        name: name of the collective.
        algorithm: name of its algorithm.
        ranks: number of ranks.
        message_bytes, iterations: as in `sizes`, of the largest message that was completed.
        completion_ms, completion_ms_min, completion_ms_max: as in `sizes`, of the largest message.
        algorithm_bandwidth_bps, bus_bandwidth_bps: as in `sizes`, of the largest message.
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
