"""Results of simulated applications, key by key: collectives and motifs, and traces of messages."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.codec import omitted


@dataclass(frozen=True, kw_only=True)
class CompletionCycles:
    """Completion time and bandwidth of an application for one message size, over its iterations.

    Attributes:
        message_bytes: size of the message.
        iterations: number of complete iterations.
        completion_cycles: mean number of cycles until the last rank has its result.
        completion_cycles_min: minimum of these times in cycles.
        completion_cycles_max: maximum of these times in cycles.
        ideal_cycles: lower bound in cycles: the larger of `ideal_path_cycles` and `ideal_link_cycles`.
        ideal_path_cycles: length in cycles of the longest chain of dependent computations and messages, if
            each message takes a shortest path without contention.
        ideal_link_cycles: cycles that the busiest host link needs to carry all that its host sends or
            receives.
        slowdown: `completion_cycles` / `ideal_cycles`.
        algorithm_bandwidth: flits of the message / `completion_cycles`, so that 1 is the link rate; null for
            motifs.
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
        name: name of the collective or motif.
        algorithm: the collective's algorithm, or the motif's grid.
        ranks: number of ranks.
    """

    name: str
    algorithm: str
    ranks: int


@dataclass(frozen=True, kw_only=True)
class SimulatedCollective(CompletionCycles, ApplicationName):
    """Result of a simulated collective or motif; values outside `sizes` refer to the largest message.

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
        max: maximum.
    """

    mean: float
    p50: float
    p99: float
    max: float


@dataclass(frozen=True, kw_only=True)
class SimulatedMessages:
    """Result of a simulated trace.

    Attributes:
        messages: number of messages in the trace.
        completed: number of messages that arrived completely.
        bytes: bytes of all messages.
        completion_cycles: cycle in which the last message had arrived; null if not all arrived.
        ideal_cycles: lower bound of `completion_cycles`, computed like that of collectives.
        message_cycles: cycles from a message's scheduled time to the arrival of its last flit; null if none
            arrived.
        slowdown: `message_cycles` / cycles of the message without contention; null if none arrived.
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
    """Requested settings of a simulated application; absent for synthetic packets.

    Attributes:
        ranks: number of ranks.
        placement: assignment of ranks to hosts.
        message_bytes: message sizes in bytes.
        iterations: iterations of each size.
        slices: slices of a collective's vector that are processed in parallel.
        compute_cycles: cycles that a rank computes between exchanges.
        flit_bytes: bytes of a flit.
        trace: file with messages and the times at which they are sent.
    """

    ranks: int | None = omitted()
    placement: str | None = omitted()
    message_bytes: tuple[int, ...] | None = omitted()
    iterations: int | None = omitted()
    slices: int | None = omitted()
    compute_cycles: int | None = omitted()
    flit_bytes: int | None = omitted()
    trace: str | None = omitted()
