"""Results of simulated applications, key by key: collectives and motifs, and traces of messages."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.codec import omitted


@dataclass(frozen=True, kw_only=True)
class CompletionCycles:
    """Completion and bandwidth of an application for one message size, over its iterations.

    Attributes:
        message_bytes: size of the message.
        iterations: iterations that were completed.
        completion_cycles: cycles until the last rank has its result, mean over the iterations.
        completion_cycles_min: the shortest of these times in cycles.
        completion_cycles_max: the longest of these times in cycles.
        ideal_cycles: cycles that it takes at least: the greater of `ideal_path_cycles` and
            `ideal_link_cycles`.
        ideal_path_cycles: cycles of the longest path of computations and of messages that wait for one
            another, if each message takes a shortest path and waits for no other.
        ideal_link_cycles: cycles in which the link of a host passes all that the host sends, or all that it
            receives, of the host with most.
        slowdown: `completion_cycles` / `ideal_cycles`.
        algorithm_bandwidth: flits of the message / `completion_cycles`, so that 1 is the rate of a link; null
            for motifs.
        bus_bandwidth: `algorithm_bandwidth` x 2 (n - 1) / n for an allreduce of n ranks, x (n - 1) / n for an
            all-to-all (NCCL tests); null for motifs.
    """

    message_bytes: int
    iterations: int
    completion_cycles: float | None = None
    completion_cycles_min: int | None = None
    completion_cycles_max: int | None = None
    ideal_cycles: int
    ideal_path_cycles: int
    ideal_link_cycles: int
    slowdown: float | None = None
    algorithm_bandwidth: float | None = None
    bus_bandwidth: float | None = None


@dataclass(frozen=True, kw_only=True)
class ApplicationName:
    """Name of an application.

    Attributes:
        name: name of the collective or the motif.
        algorithm: name of the collective's algorithm, or sizes of the motif's grid.
        ranks: number of ranks.
    """

    name: str
    algorithm: str
    ranks: int


@dataclass(frozen=True, kw_only=True)
class SimulatedCollective(CompletionCycles, ApplicationName):
    """Result of a simulated collective or motif; the figures beside `sizes` are those of the largest message.

    Attributes:
        sizes: the result for each message size.
    """

    sizes: tuple[CompletionCycles, ...]


@dataclass(frozen=True)
class Spread:
    """Distribution of a value over messages.

    Attributes:
        mean: arithmetic mean.
        p50: median.
        p99: 99th percentile.
        max: the greatest.
    """

    mean: float
    p50: float
    p99: float
    max: float


@dataclass(frozen=True, kw_only=True)
class SimulatedMessages:
    """Result of a simulated trace.

    Attributes:
        messages: messages of the trace.
        completed: messages that arrived whole.
        bytes: bytes of all messages.
        completion_cycles: cycle in which the last message had arrived; null if not all arrived.
        ideal_cycles: the least that it can be, as of collectives.
        message_cycles: cycles from a message's time to its last flit's arrival; null if none arrived.
        slowdown: these cycles over those that the message takes if it waits for no other; null if none
            arrived.
    """

    messages: int
    completed: int
    bytes: int
    completion_cycles: int | None
    ideal_cycles: int
    message_cycles: Spread | None
    slowdown: Spread | None


@dataclass(frozen=True, kw_only=True)
class ApplicationSettings:
    """Settings of a simulated application, as asked for; absent where packets are drawn.

    Attributes:
        ranks: number of ranks.
        placement: assignment of ranks to hosts.
        message_bytes: message sizes in bytes.
        iterations: iterations of each size.
        slices: slices of a collective's vector that are worked on side by side.
        compute_cycles: cycles that a rank computes between exchanges.
        flit_bytes: bytes of a flit.
        trace: file of the messages that are sent at their times.
    """

    ranks: int | None = omitted()
    placement: str | None = omitted()
    message_bytes: tuple[int, ...] | None = omitted()
    iterations: int | None = omitted()
    slices: int | None = omitted()
    compute_cycles: int | None = omitted()
    flit_bytes: int | None = omitted()
    trace: str | None = omitted()
