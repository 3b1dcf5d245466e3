"""Measurements of one run: packets sent and received, iterations of a collective, TCP flows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from traffic.metrics.histogram import LogHistogram

# A packet that arrived: source and destination (indices of hosts), sequence number among its source's
# packets, flow, number of hops, and times of departure and arrival since the schedule's start.
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

# An iteration of a collective: message size, number (negative for warm-up), start time since the run's start,
# time until the last rank had its result, number of ranks with a wrong result, and longest time for which the
# ranks' process did not look at its sockets.
ITERATION = np.dtype(
    [
        ("message_bytes", "i8"),
        ("iteration", "i4"),
        ("start_ns", "i8"),
        ("completion_ns", "i8"),
        ("wrong_ranks", "i4"),
        ("gap_ns", "i8"),
    ]
)

# A TCP flow: scheduled and actual start since the traffic's start (-1 if it did not start), source and
# destination (indices of hosts), bytes, arrival time of the last byte (-1 if it did not arrive), and received
# bytes. Then the kernel's counts (TCP_INFO): payload bytes that the source sent and retransmitted, segments
# that the source sent and the destination received, the same in the other direction, segments out of order.
FLOW = np.dtype(
    [
        ("time_ns", "i8"),
        ("started_ns", "i8"),
        ("source", "u4"),
        ("destination", "u4"),
        ("bytes", "i8"),
        ("finished_ns", "i8"),
        ("received_bytes", "i8"),
        ("sent_bytes", "i8"),
        ("resent_bytes", "i8"),
        ("sent_segments", "i8"),
        ("received_segments", "i8"),
        ("answer_segments", "i8"),
        ("received_answers", "i8"),
        ("out_of_order", "i8"),
        ("failed", "?"),
    ]
)


@dataclass(frozen=True)
class Sent:
    """Packets that hosts sent.

    Attributes:
        frames: int64, hosts x hosts: frames per ordered pair (source, destination) sent in the window.
        run_frames: int64, hosts x hosts: frames per ordered pair sent in the whole run.
        bytes: int64, intervals x hosts: bytes passed to each host's interface, by departure time.
        refused: packets rejected by the host's own queue or interface.
        lag: delays of packets behind the schedule, for packets sent in the window or shortly before it
            (`settling_ns` of TrafficResult).
        seconds: time from the schedule's start to the end of sending.
        unsent: int64 per host: packets among `refused` that the host could not send because its interface
            was down; empty if not counted.
    """

    frames: npt.NDArray[np.int64]
    run_frames: npt.NDArray[np.int64]
    bytes: npt.NDArray[np.int64]
    refused: int
    lag: LogHistogram
    seconds: float
    unsent: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True)
class Received:
    """Packets that hosts received.

    Attributes:
        frames: int64, hosts x hosts: frames per ordered pair (source, destination) that were sent in the
            window and arrived.
        run_frames: int64, hosts x hosts: frames per ordered pair that arrived in the whole run.
        latency_sum_ns: float64, hosts x hosts: sum of the latencies of `frames`.
        out_of_order: int64, hosts x hosts: number of `frames` that arrived after a later frame of their flow
            (RFC 4737, section 3).
        hops_min, hops_max: uint8, hosts x hosts: minimum and maximum hops of all packets of a pair; 255 and 0
            if none arrived.
        hops: int64, 256 entries: packets sent in the window, by number of hops.
        bytes: int64, intervals x hosts: bytes received by each host, by arrival time.
        window_bytes: int64 per host: bytes that arrived in the window.
        latency: latencies of the packets sent in the window.
        last_ns: time from the schedule's start to the arrival of the last packet sent in the window, or to
            the end of the last TCP flow; 0 if none arrived.
        misdelivered: probes that arrived at the wrong host.
        damaged: probes that failed their checks, including duplicates.
        log: ARRIVAL records of all packets in the order of arrival; empty unless a log was requested.
    """

    frames: npt.NDArray[np.int64]
    run_frames: npt.NDArray[np.int64]
    latency_sum_ns: npt.NDArray[np.float64]
    out_of_order: npt.NDArray[np.int64]
    hops_min: npt.NDArray[np.uint8]
    hops_max: npt.NDArray[np.uint8]
    hops: npt.NDArray[np.int64]
    bytes: npt.NDArray[np.int64]
    window_bytes: npt.NDArray[np.int64]
    latency: LogHistogram
    last_ns: int
    misdelivered: int
    damaged: int
    log: npt.NDArray[np.void]


@dataclass(frozen=True)
class CollectiveOutcome:
    """The iterations of a collective and the segments that they needed.

    Attributes:
        sent, received: segments between all hosts of the fabric; every transmission counts.
        hosts: int64 per rank: index of the rank's host.
        iterations: ITERATION records of all completed iterations.
        finished_ns: int64, iterations x ranks: time from the iteration's start to each rank's result.
        resent: number of retransmitted segments.
        acknowledgements_sent, acknowledgements_received: int64 per host: frames without data.
        failed: reason why the collective ended early; empty if it did not.
    """

    sent: Sent
    received: Received
    hosts: npt.NDArray[np.int64]
    iterations: npt.NDArray[np.void]
    finished_ns: npt.NDArray[np.int64]
    resent: int
    acknowledgements_sent: npt.NDArray[np.int64]
    acknowledgements_received: npt.NDArray[np.int64]
    failed: str


@dataclass(frozen=True)
class FlowOutcome:
    """TCP flows and the frames that they needed.

    Attributes:
        flows: FLOW records of all flows, in the order of their starts.
        tx_frames, rx_frames: int64 per host: frames that its interface sent and received.
        bytes_sent, bytes_received: int64, intervals x hosts: bytes of these frames, without FCS.
        window_bytes: int64 per host: payload that it received in the measurement window.
        hop_bytes: float64, hosts x hosts: sum of bytes times hops over a sample of frames, by source and
            destination.
        sampled_bytes: int64, hosts x hosts: bytes of the sampled frames.
        hops: int64, 256 entries: frames by number of hops, estimated from the sample.
        hops_min, hops_max: uint8, hosts x hosts: minimum and maximum hops in the sample; 255 and 0 without
            samples.
        lag: delays of the flows' starts behind the schedule.
        gap_ns: longest time for which the flows' process did not look at its sockets, except regular waits.
        seconds: time from the start of the traffic to its end.
    """

    flows: npt.NDArray[np.void]
    tx_frames: npt.NDArray[np.int64]
    rx_frames: npt.NDArray[np.int64]
    bytes_sent: npt.NDArray[np.int64]
    bytes_received: npt.NDArray[np.int64]
    window_bytes: npt.NDArray[np.int64]
    hop_bytes: npt.NDArray[np.float64]
    sampled_bytes: npt.NDArray[np.int64]
    hops: npt.NDArray[np.int64]
    hops_min: npt.NDArray[np.uint8]
    hops_max: npt.NDArray[np.uint8]
    lag: LogHistogram
    gap_ns: int
    seconds: float

    def sent(self) -> Sent:
        """Returns the kernel's counts of frames sent in the whole run, in the type used for other traffic."""
        frames = self._by_pair("sent_segments", "answer_segments")
        refused = max(0, int(frames.sum() - self.tx_frames.sum()))
        return Sent(frames, frames, self.bytes_sent, refused, self.lag, self.seconds)

    def received(self) -> Received:
        """Returns the kernel's counts of frames received, like `sent`, without latencies."""
        frames = self._by_pair("received_segments", "received_answers")
        hosts = len(self.window_bytes)
        out_of_order = np.zeros((hosts, hosts), np.int64)
        flows = self.flows
        np.add.at(out_of_order, (flows["source"], flows["destination"]), flows["out_of_order"])
        return Received(
            frames=frames,
            run_frames=frames,
            latency_sum_ns=np.zeros((hosts, hosts)),
            out_of_order=out_of_order,
            hops_min=self.hops_min,
            hops_max=self.hops_max,
            hops=self.hops,
            bytes=self.bytes_received,
            window_bytes=self.window_bytes,
            latency=LogHistogram(),
            last_ns=round(self.seconds * 1e9),
            misdelivered=0,
            damaged=0,
            log=np.zeros(0, ARRIVAL),
        )

    def _by_pair(self, there: str, back: str) -> npt.NDArray[np.int64]:
        """Adds up two FLOW fields of all flows per ordered host pair: int64, hosts x hosts.

        Field `there` counts frames from a flow's source to its destination, field `back` those in the reverse
        direction.
        """
        hosts, flows = len(self.window_bytes), self.flows
        sums = np.zeros((hosts, hosts), np.int64)
        np.add.at(sums, (flows["source"], flows["destination"]), flows[there])
        np.add.at(sums, (flows["destination"], flows["source"]), flows[back])
        return sums


@dataclass(frozen=True)
class Clock:
    """The instant at which a schedule starts, on two clocks.

    Attributes:
        monotonic_ns: time on the clock that paces the sender.
        epoch_ns: time on the clock of the probes' send times and the kernel's timestamps.
    """

    monotonic_ns: int
    epoch_ns: int


@dataclass(frozen=True)
class TrafficResult:
    """The measurements of one job.

    Attributes:
        sent, received: packets that hosts sent and received.
        clock: the instant of the job's start.
        interval_ns: time step of the series.
        window_ns: start and end of the measurement window, since the job's start; None if it never started.
        steady: whether throughput was steady when the window started; None if the job set the window.
        interrupted: whether the job ended early.
        outcome: outcome of a collective; None for other traffic.
        flows: outcome of TCP flows; None for other traffic.
        failed: reason why the job ended early, a sentence; empty if it did not, or after Ctrl-C.
        settling_ns: how long before the window a stall can still affect the window.
    """

    sent: Sent
    received: Received
    clock: Clock
    interval_ns: int
    window_ns: tuple[int, int] | None
    steady: bool | None = None
    interrupted: bool = False
    outcome: CollectiveOutcome | None = None
    flows: FlowOutcome | None = None
    failed: str = ""
    settling_ns: int = 0


def no_packets_sent(hosts: int, seconds: float) -> Sent:
    """Returns measurements with all counts 0, for hosts that sent nothing or whose measurements are lost.

    Args:
        hosts: number of hosts.
        seconds: length of the measurement in seconds.
    """
    pairs, one_interval = np.zeros((hosts, hosts), np.int64), np.zeros((1, hosts), np.int64)
    return Sent(pairs, pairs, one_interval, 0, LogHistogram(), seconds)


def no_outcome(hosts: int, ranks: Sequence[int], seconds: float, failed: str) -> CollectiveOutcome:
    """Returns the outcome of a collective whose measurements are lost: no iterations, no packets.

    Args:
        hosts: number of hosts.
        ranks: index of each rank's host.
        seconds: duration of the collective in seconds.
        failed: reason for the loss.
    """
    return CollectiveOutcome(
        sent=no_packets_sent(hosts, seconds),
        received=no_packets_received(hosts),
        hosts=np.array(ranks, np.int64),
        iterations=np.zeros(0, ITERATION),
        finished_ns=np.zeros((0, len(ranks)), np.int64),
        resent=0,
        acknowledgements_sent=np.zeros(hosts, np.int64),
        acknowledgements_received=np.zeros(hosts, np.int64),
        failed=failed,
    )


def no_flows(listed: npt.NDArray[np.void], hosts: int, seconds: float) -> FlowOutcome:
    """Returns the outcome of TCP flows whose measurements are lost.

    Args:
        listed: FLOW records of the flows, marked as not started.
        hosts: number of hosts.
        seconds: duration of the traffic in seconds.
    """
    shape, per_host = (hosts, hosts), np.zeros(hosts, np.int64)
    return FlowOutcome(
        flows=listed,
        tx_frames=per_host,
        rx_frames=per_host,
        bytes_sent=np.zeros((1, hosts), np.int64),
        bytes_received=np.zeros((1, hosts), np.int64),
        window_bytes=per_host,
        hop_bytes=np.zeros(shape),
        sampled_bytes=np.zeros(shape, np.int64),
        hops=np.zeros(256, np.int64),
        hops_min=np.full(shape, 255, np.uint8),
        hops_max=np.zeros(shape, np.uint8),
        lag=LogHistogram(),
        gap_ns=0,
        seconds=seconds,
    )


def no_packets_received(hosts: int) -> Received:
    """Returns measurements with all counts 0, for hosts that received nothing or whose measurements are lost.

    Args:
        hosts: number of hosts.
    """
    shape = (hosts, hosts)
    return Received(
        frames=np.zeros(shape, np.int64),
        run_frames=np.zeros(shape, np.int64),
        latency_sum_ns=np.zeros(shape),
        out_of_order=np.zeros(shape, np.int64),
        hops_min=np.full(shape, 255, np.uint8),
        hops_max=np.zeros(shape, np.uint8),
        hops=np.zeros(256, np.int64),
        bytes=np.zeros((1, hosts), np.int64),
        window_bytes=np.zeros(hosts, np.int64),
        latency=LogHistogram(),
        last_ns=0,
        misdelivered=0,
        damaged=0,
        log=np.zeros(0, ARRIVAL),
    )
