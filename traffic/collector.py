"""The collector: receives all hosts' probes in one process and keeps counts, not packets.

It looks at all sockets every few milliseconds and reads what waits in one go; as the kernel stamps
arrivals, looking late does not change a latency. Memory depends on the number of hosts and flows only.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from topology.addressing import INITIAL_TTL
from traffic import sockets
from traffic.codec import SOURCE_PORT_BASE, Headers, intact, read_headers
from traffic.histogram import LogHistogram
from traffic.job import ARRIVAL, Clock, Received, TrafficJob
from traffic.schedule import from_dict

_SLOTS = 4096
_LOOK_EVERY_S = 0.002
_LATE_INTERVALS = 9  # of the series, after the schedule's end; what arrives later still goes into the last
# However much still arrives, a collection ends so long after the last packet was sent.
MAX_DRAIN_NS = 60_000_000_000


class Collector:
    """Collects one job's probes; it receives from its creation on."""

    def __init__(self, job: TrafficJob) -> None:
        self._job = job
        self._schedule = from_dict(job.schedule)
        self._buffer = sockets.ReceiveBuffer(_SLOTS)
        self._host_of_slot = np.zeros(_SLOTS, np.int64)
        self._sockets: list[socket.socket] = []
        self._host_of: dict[int, int] = {}
        self._poll = select.epoll()
        with sockets.namespaces():
            for index, host in enumerate(job.hosts):
                sockets.enter(host.namespace_pid)
                receiver = sockets.open_receiver(host.interface, job.run)
                self._sockets.append(receiver)
                self._host_of[receiver.fileno()] = index
                self._poll.register(receiver.fileno(), select.EPOLLIN)
        self._counts = _Counts(job, self._schedule.end_ns)

    def run(self, clock: Clock, stopped: Callable[[], bool]) -> Received:
        """Collects until it is quiet after the schedule's end, or until `stopped`."""
        last_ns = clock.monotonic_ns + self._schedule.end_ns
        latest_ns = last_ns + MAX_DRAIN_NS
        longest_pause_s, looked = 0.0, time.monotonic()
        while (now_ns := time.monotonic_ns()) < last_ns + self._job.quiet_ns and not stopped():
            count = self._receive()
            if count:
                last_ns = min(max(last_ns, now_ns), latest_ns)
                self._counts.add(self._buffer, self._host_of_slot[:count], clock)
                self._buffer.reset(count)
            if count < _SLOTS // 2:
                time.sleep(_LOOK_EVERY_S)
            now = time.monotonic()
            longest_pause_s, looked = max(longest_pause_s, now - looked), now
        for receiver in self._sockets:
            receiver.close()
        return self._counts.result(longest_pause_s * 1e3)

    def _receive(self) -> int:
        """Reads what waits, as far as there is room, and returns how many frames there were."""
        filled = 0
        for descriptor, _ in self._poll.poll(0):
            count = self._buffer.receive(descriptor, filled, _SLOTS - filled)
            self._host_of_slot[filled : filled + count] = self._host_of[descriptor]
            filled += count
            if filled == _SLOTS:
                break
        return filled


class _Counts:
    """The running counts of a collection."""

    def __init__(self, job: TrafficJob, end_ns: int) -> None:
        hosts = len(job.hosts)
        self._job = job
        self._hosts = hosts
        self._ips, self._index = _address_index(job)
        self._frames = np.zeros((hosts, hosts), np.int64)
        self._latency_sum_ns = np.zeros((hosts, hosts))
        self._out_of_order = np.zeros((hosts, hosts), np.int64)
        self._hops_min = np.full((hosts, hosts), 255, np.uint8)
        self._hops_max = np.zeros((hosts, hosts), np.uint8)
        self._hops = np.zeros(256, np.int64)
        self._bytes = np.zeros((end_ns // job.interval_ns + _LATE_INTERVALS, hosts), np.int64)
        self._window_bytes = np.zeros(hosts, np.int64)
        self._latency = LogHistogram()
        self._log: list[npt.NDArray[np.void]] = []
        self._misdelivered = 0
        self._damaged = 0
        # Per flow, one more than the highest sequence number so far; untouched pages cost nothing.
        self._next = np.zeros(hosts * hosts * job.flows, np.uint32)

    def add(self, buffer: sockets.ReceiveBuffer, receivers: npt.NDArray[np.int64], clock: Clock) -> None:
        """Counts the frames in a buffer, in the order in which each host received them."""
        count = len(receivers)
        headers = read_headers(buffer.frames[:count])
        source = self._lookup(headers["ip_src"])
        destination = self._lookup(headers["ip_dst"])
        good = intact(headers) & (source >= 0)
        self._damaged += int(count - good.sum())
        here = good & (destination == receivers)
        self._misdelivered += int((good & ~here).sum())
        arrived_ns = buffer.arrivals_ns(count)[here] - clock.epoch_ns
        lengths = buffer.lengths(count)[here]
        self._add_bytes(arrived_ns, receivers[here], lengths)
        self._add_packets(headers[here], source[here], receivers[here], arrived_ns, clock)

    def result(self, longest_pause_ms: float) -> Received:
        """Returns everything counted so far."""
        return Received(
            frames=self._frames,
            latency_sum_ns=self._latency_sum_ns,
            out_of_order=self._out_of_order,
            hops_min=self._hops_min,
            hops_max=self._hops_max,
            hops=self._hops,
            bytes=self._bytes,
            window_bytes=self._window_bytes,
            latency=self._latency,
            misdelivered=self._misdelivered,
            damaged=self._damaged,
            longest_pause_ms=longest_pause_ms,
            log=np.concatenate([np.zeros(0, ARRIVAL), *self._log]),
        )

    def _lookup(self, addresses: npt.NDArray[np.void]) -> npt.NDArray[np.int64]:
        """Returns the host index of each IP address, -1 for one that is no host's."""
        native = addresses.astype(np.uint32)
        place = np.minimum(np.searchsorted(self._ips, native), len(self._ips) - 1)
        return np.where(self._ips[place] == native, self._index[place], -1)

    def _add_bytes(
        self,
        arrived_ns: npt.NDArray[np.int64],
        receivers: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
    ) -> None:
        intervals = np.clip(arrived_ns // self._job.interval_ns, 0, len(self._bytes) - 1)
        np.add.at(self._bytes, (intervals, receivers), lengths)
        begin_ns, end_ns = self._job.window_ns
        inside = (arrived_ns >= begin_ns) & (arrived_ns < end_ns)
        np.add.at(self._window_bytes, receivers[inside], lengths[inside])

    def _add_packets(
        self,
        headers: Headers,
        source: npt.NDArray[np.int64],
        destination: npt.NDArray[np.int64],
        arrived_ns: npt.NDArray[np.int64],
        clock: Clock,
    ) -> None:
        sent_ns = headers["sent_ns"].astype(np.int64) - clock.epoch_ns
        hops = (INITIAL_TTL - headers["ttl"].astype(np.int64)) & 0xFF
        pair = (source, destination)
        np.minimum.at(self._hops_min, pair, hops.astype(np.uint8))
        np.maximum.at(self._hops_max, pair, hops.astype(np.uint8))
        flow = np.minimum(headers["source_port"] - SOURCE_PORT_BASE, self._job.flows - 1)
        if self._job.keep_log:
            log = np.zeros(len(headers), ARRIVAL)
            columns = (source, destination, headers["sequence"], flow, hops, sent_ns, arrived_ns)
            for name, column in zip(ARRIVAL.names or (), columns, strict=True):
                log[name] = column
            self._log.append(log)
        late = self._late(
            (source * self._hosts + destination) * self._job.flows + flow,
            headers["sequence"].astype(np.uint32) + np.uint32(1),
        )
        begin_ns, end_ns = self._job.window_ns
        inside = (sent_ns >= begin_ns) & (sent_ns < end_ns)
        pair = (source[inside], destination[inside])
        latency_ns = (arrived_ns - sent_ns)[inside]
        np.add.at(self._frames, pair, 1)
        np.add.at(self._latency_sum_ns, pair, latency_ns)
        np.add.at(self._out_of_order, pair, late[inside])
        self._hops += np.bincount(hops[inside], minlength=256)
        self._latency.add(latency_ns)

    def _late(self, flow: npt.NDArray[np.int64], number: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
        """Returns which packets came after a later one of their flow, and remembers the latest."""
        order = np.argsort(flow, kind="stable")
        flows, numbers = flow[order], number[order].astype(np.int64)
        first = np.ones(len(flows), bool)
        first[1:] = flows[1:] != flows[:-1]
        # A running maximum that starts anew with each flow: each gets a base above all before it.
        base = np.cumsum(first).astype(np.int64) << 33
        highest = np.maximum.accumulate(numbers + base) - base
        before = np.zeros_like(numbers)
        before[1:] = np.where(first[1:], 0, highest[:-1])
        before = np.maximum(before, self._next[flows])
        np.maximum.at(self._next, flows, numbers.astype(np.uint32))
        late = np.zeros(len(flow), bool)
        late[order] = numbers < before
        return late


def _address_index(job: TrafficJob) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Returns the hosts' IP addresses, ascending, and which host each belongs to."""
    ips = np.array([host.ip for host in job.hosts], np.uint32)
    order = np.argsort(ips)
    return ips[order], order.astype(np.int64)
