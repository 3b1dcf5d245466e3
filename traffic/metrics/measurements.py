"""Measurements of one run: packets sent, packets received, and the iterations of a collective."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from traffic.metrics.histogram import LogHistogram

# One packet that arrived: its source and destination (hosts' indices), its number among its source's packets,
# its flow, the number of its hops, and its times of departure and arrival since the schedule's start.
ARRIVAL = np.dtype(
    [
        ("source", "u4"),
        ("destination", "u4"),
        ("sequence", "u8"),
        ("flow", "u2"),
        ("hops", "u1"),
        ("sent_ns", "i8"),
        ("arrived_ns", "i8"),
    ]
)

# One iteration of a collective: its message size, its number (negative ones are warm-up), its begin since the
# run's start, the time until the last rank had its result, and the number of ranks with a wrong result.
ITERATION = np.dtype(
    [
        ("message_bytes", "i8"),
        ("iteration", "i4"),
        ("start_ns", "i8"),
        ("completion_ns", "i8"),
        ("wrong_ranks", "i4"),
    ]
)


@dataclass(frozen=True)
class Sent:
    """Packets that hosts sent.

    Attributes:
        frames: int64, hosts x hosts: frames per ordered pair (source, destination), sent in the window.
        bytes: int64, intervals x hosts: bytes handed to each host's interface, by time of departure.
        refused: packets that the host's own queue or interface did not take.
        lag: delays of packets behind their scheduled times, of those sent in the window.
        seconds: time from the schedule's start to the end of sending.
    """

    frames: npt.NDArray[np.int64]
    bytes: npt.NDArray[np.int64]
    refused: int
    lag: LogHistogram
    seconds: float


@dataclass(frozen=True)
class Received:
    """Packets that hosts received.

    Attributes:
        frames: int64, hosts x hosts: frames per ordered pair (source, destination) that were sent in the
            window and arrived.
        latency_sum_ns: float64, hosts x hosts: sum of the latencies of these frames.
        out_of_order: int64, hosts x hosts: those of these frames that came after a later one of their flow
            (RFC 4737, section 3).
        hops_min, hops_max: uint8, hosts x hosts: fewest and most hops of all packets of a pair; 255 and
            0 where none arrived.
        hops: int64, 256: packets sent in the window by their number of hops.
        bytes: int64, intervals x hosts: bytes received by each host, by time of arrival.
        window_bytes: int64, hosts: bytes received in the window, by time of arrival.
        latency: latencies of the packets sent in the window.
        misdelivered: probes that reached another host than their destination.
        damaged: probes whose checks failed.
        log: ARRIVAL records of all packets in the order of their arrival; empty unless a log was asked for.
    """

    frames: npt.NDArray[np.int64]
    latency_sum_ns: npt.NDArray[np.float64]
    out_of_order: npt.NDArray[np.int64]
    hops_min: npt.NDArray[np.uint8]
    hops_max: npt.NDArray[np.uint8]
    hops: npt.NDArray[np.int64]
    bytes: npt.NDArray[np.int64]
    window_bytes: npt.NDArray[np.int64]
    latency: LogHistogram
    misdelivered: int
    damaged: int
    log: npt.NDArray[np.void]


@dataclass(frozen=True)
class CollectiveOutcome:
    """The iterations of a collective and the segments that they took.

    Attributes:
        sent, received: its segments, between all hosts of the fabric; every transmission counts.
        hosts: int64, ranks: the index of each rank's host.
        iterations: ITERATION records of all completed iterations.
        finished_ns: int64, iterations x ranks: time from the iteration's start to each rank's result.
        resent: transmissions of segments that had been sent before.
        acknowledgements_sent, acknowledgements_received: frames that carry no data.
        failed: the reason for which the collective ended early; empty if it did not.
    """

    sent: Sent
    received: Received
    hosts: npt.NDArray[np.int64]
    iterations: npt.NDArray[np.void]
    finished_ns: npt.NDArray[np.int64]
    resent: int
    acknowledgements_sent: int
    acknowledgements_received: int
    failed: str


@dataclass(frozen=True)
class Clock:
    """The instant at which a schedule starts, on two clocks.

    Attributes:
        monotonic_ns: on the clock that paces the sender.
        epoch_ns: on the clock of the probes' time stamps and of the kernel's.
    """

    monotonic_ns: int
    epoch_ns: int


@dataclass(frozen=True)
class TrafficResult:
    """The measurements of one job.

    Attributes:
        sent, received: packets that hosts sent and received.
        clock: the instant of its start.
        interval_ns: the time step of its series.
        window_ns: begin and end of the measured window, since the start; None if it never began.
        steady: whether throughput was steady when the window began; None if the job set the window.
        interrupted: whether the job was ended early.
        outcome: a collective's outcome; None for other traffic.
    """

    sent: Sent
    received: Received
    clock: Clock
    interval_ns: int
    window_ns: tuple[int, int] | None
    steady: bool | None = None
    interrupted: bool = False
    outcome: CollectiveOutcome | None = None
