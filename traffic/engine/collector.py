"""The collector: receives all hosts' probes in one process and stores counts instead of packets.

It reads all sockets every few milliseconds. The kernel timestamps arrivals, so that late readings do not
affect latencies. Memory depends only on the number of hosts and flows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from topology.addressing import INITIAL_TTL
from traffic.engine import sockets
from traffic.engine.jobs import TrafficJob
from traffic.engine.receivers import Receivers
from traffic.engine.telemetry import CountReporter
from traffic.metrics.counters import CounterSettings, ReceivedCounter, ReceivedPackets
from traffic.metrics.measurements import Clock, Received
from traffic.metrics.reordering import DuplicateDetector
from traffic.metrics.silence import PairOutages, PairSilences, Silence
from traffic.metrics.window import Window
from traffic.wire.layout import SOURCE_PORT_BASE
from traffic.wire.probe_codec import genuine, intact, read_headers
from traffic.wire.tags import Tagger
from traffic.workload.schedule import Schedule, schedule_from_dict

_SLOTS = 4096
_POLL_INTERVAL_S = 0.002
_LATE_INTERVALS = 9  # intervals of the series beyond the schedule's end; the last one includes later arrivals
_MAX_STANDSTILL_NS = 10_000_000_000
# Maximum time from the last packet sent to the end of the collection, even if packets still arrive.
MAX_DRAIN_NS = 60_000_000_000


class Collector:
    """Receives the probes of one `TrafficJob`; its sockets receive frames as soon as it is created."""

    def __init__(self, job: TrafficJob, window: Window, reporter: CountReporter) -> None:
        self._job, self._window, self._reporter = job, window, reporter
        self._schedule = schedule_from_dict(job.schedule)
        self._receivers = Receivers((host.arrival_place for host in job.hosts), job.run, _SLOTS)
        self._counts = ProbeCounts(job, window, self._schedule)

    def run(
        self,
        clock: Clock,
        stopped: Callable[[], bool],
        checkpoint: Callable[[Callable[[], Received]], None] = lambda _measured: None,
    ) -> Received:
        """Collects until the traffic has ended and no more probes arrive, or `stopped` returns True.

        Args:
            clock: the instant of the schedule's start.
            stopped: returns whether to end early.
            checkpoint: called from time to time with a function that returns the measurements so far.
        """
        last_ns = 0
        self._reporter.silences = partial(self._counts.silences, clock)
        # While this process is suspended (standstill), packets wait in its sockets, and other packets may be
        # delayed equally long. Therefore the collection ends later by the longest standstill.
        now_ns, standstill_ns = time.monotonic_ns(), 0
        while now_ns < self._quiet_at(clock, last_ns) + standstill_ns and not stopped():
            before_ns, now_ns = now_ns, time.monotonic_ns()
            standstill_ns = min(max(standstill_ns, now_ns - before_ns), _MAX_STANDSTILL_NS)
            count = self._receivers.receive()
            if count:
                last_ns = now_ns
                buffer = self._receivers.buffer
                arrivals = self._counts.add(buffer, self._receivers.owners[:count], clock)
                buffer.reset(count)
                latency_ns = arrivals.arrived_ns - arrivals.sent_ns
                frame_bytes = int(arrivals.frame_bytes.sum())
                self._reporter.add(len(latency_ns), frame_bytes, latency_ns, self._counts.reordered)
            else:
                self._reporter.add(0, 0)
            checkpoint(self._counts.result)
            if count < _SLOTS // 2:
                time.sleep(_POLL_INTERVAL_S)
        self._receivers.close()
        return self._counts.result()

    def _quiet_at(self, clock: Clock, last_ns: int) -> int:
        """Returns the time at which the collection ends if no packet arrives after `last_ns`."""
        end_ns = clock.monotonic_ns + min(self._schedule.end_ns, self._window.end_ns)
        return min(max(last_ns, end_ns), end_ns + MAX_DRAIN_NS) + self._job.quiet_ns


class ProbeCounts:
    """Checks and counts the probes that a collector receives.

    Programs on hosts run as root and may forge frames. A frame is counted if it has the sender's tag and no
    frame with its number has arrived before; otherwise it counts as damaged.
    """

    def __init__(self, job: TrafficJob, window: Window, schedule: Schedule) -> None:
        intervals = schedule.end_ns // job.interval_ns + _LATE_INTERVALS
        measured = CounterSettings(len(job.hosts), job.flows, window, job.interval_ns, intervals)
        self._frame_bytes, self._tagger = len(job.template), Tagger(job.key)
        self._arrivals = DuplicateDetector(len(job.hosts))
        self._silences = PairSilences(len(job.hosts))
        self._outages, self._watched_flow = PairOutages(len(job.hosts)), job.watched_flow
        self._ips, self._index = _address_index(job)
        self._counts = ReceivedCounter(measured, keep_log=job.keep_log)

    def add(
        self, buffer: sockets.ReceiveBuffer, receivers: npt.NDArray[np.int64], clock: Clock
    ) -> ReceivedPackets:
        """Counts the frames in a buffer, in the order in which each host received them.

        Args:
            buffer: the received frames.
            receivers: index of the host that received each frame; int64, shape (frames,).
            clock: the instant of the schedule's start.

        Returns:
            The intact frames that reached their destination. Frames of earlier runs are ignored.
        """
        count = len(receivers)
        frames = buffer.frames[:count]
        headers = read_headers(frames)
        source, destination = self._lookup(headers["ip_src"]), self._lookup(headers["ip_dst"])
        flow = headers["source_port"].astype(np.int64) - SOURCE_PORT_BASE
        number, sent_ns = headers["sequence"].astype(np.int64), headers["sent_ns"].astype(np.int64)
        lengths, arrived_ns = buffer.lengths(count), buffer.arrivals_ns(count)
        good = intact(headers) & (lengths == self._frame_bytes)
        present = good & (headers["sent_ns"] >= clock.epoch_ns)
        earlier = int(np.count_nonzero(good) - np.count_nonzero(present))  # their tags have another key
        present &= genuine(frames, self._tagger)
        here = present & (destination == receivers)
        misdelivered = int(np.count_nonzero(present & ~here))
        here[here] = ~self._arrivals.repeated(source[here], number[here])
        self._counts.misdelivered += misdelivered
        self._counts.damaged += count - earlier - misdelivered - int(np.count_nonzero(here))
        arrivals = ReceivedPackets(
            source=source[here],
            destination=receivers[here],
            flow=flow[here],
            number=number[here],
            hops=INITIAL_TTL - headers["ttl"][here].astype(np.int64),
            frame_bytes=lengths[here],
            sent_ns=sent_ns[here] - clock.epoch_ns,
            arrived_ns=arrived_ns[here] - clock.epoch_ns,
        )
        self._counts.add(arrivals)
        self._silences.add(arrivals.source, arrivals.destination, arrivals.number, arrivals.arrived_ns)
        if self._watched_flow is not None:
            one = arrivals.flow == self._watched_flow
            source, destination = arrivals.source[one], arrivals.destination[one]
            self._outages.add(source, destination, arrivals.sent_ns[one], arrivals.arrived_ns[one])
        return arrivals

    def silences(self, clock: Clock) -> Silence:
        """Returns the longest times without arrivals since the last call; `clock` is the schedule's start."""
        now_ns = time.time_ns() - clock.epoch_ns
        open_s, outages = self._outages.take(now_ns, clock.monotonic_ns)
        silence = self._silences.take(now_ns, clock.monotonic_ns)
        return silence._replace(open_watched_s=open_s, outages=outages)

    @property
    def reordered(self) -> int:
        """The number of packets so far that arrived after a later packet of their flow."""
        return self._counts.reordered

    def result(self) -> Received:
        """Returns everything counted so far."""
        return self._counts.result()

    def _lookup(self, addresses: npt.NDArray[np.void]) -> npt.NDArray[np.int64]:
        """Returns the host index of each IP address, -1 for an address without a host."""
        native = addresses.astype(np.uint32)
        place = np.minimum(np.searchsorted(self._ips, native), len(self._ips) - 1)
        return np.where(self._ips[place] == native, self._index[place], -1)


def _address_index(job: TrafficJob) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Returns the IP addresses of all hosts in ascending order, and the host index of each address."""
    ips = np.array([host.ip for host in job.hosts], np.uint32)
    order = np.argsort(ips)
    return ips[order], order.astype(np.int64)
