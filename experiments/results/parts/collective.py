"""Result of a collective, key by key."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.codec import omitted


@dataclass(frozen=True)
class CollectiveSize:
    """Completion time and bandwidth of a collective for one message size, without warm-up iterations.

    Attributes:
        message_bytes: size of the message.
        iterations: number of complete, measured iterations.
        completion_ms: mean time in ms until the last rank has its result.
        completion_ms_min: minimum of these times in ms.
        completion_ms_max: maximum of these times in ms.
        algorithm_bandwidth_bps: 8 x `message_bytes` / mean completion time, in bit/s.
        bus_bandwidth_bps: `algorithm_bandwidth_bps` x 2 (n - 1) / n for an allreduce of n ranks,
            x (n - 1) / n for an all-to-all, in bit/s; comparable to the link rate (NCCL tests).
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
    """Frames of a collective that carry only acknowledgements.

    Attributes:
        sent: frames that ranks sent.
        received: frames that arrived.
    """

    sent: int
    received: int


@dataclass(frozen=True, kw_only=True)
class CollectiveSummary:
    """Result of a collective; values outside `sizes` refer to the largest message.

    Attributes:
        name: name of the collective.
        algorithm: name of its algorithm.
        ranks: number of ranks.
        message_bytes, iterations: see `sizes`, for the largest message with a complete iteration.
        completion_ms, completion_ms_min, completion_ms_max: see `sizes`, for that message.
        algorithm_bandwidth_bps, bus_bandwidth_bps: see `sizes`, for that message.
        sizes: the result for each message size.
        wrong_results: number of ranks with a wrong result, summed over iterations.
        resent: number of retransmitted segments.
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
