"""Worker that runs TCP flows between all hosts: the sockets of all namespaces in one event loop.

Each flow has its own connection. The source connects at the flow's start time, sends the bytes and closes its
side. The flow is complete when the destination's kernel has received the last byte.
"""

from __future__ import annotations

import contextlib
import errno
import resource
import select
import socket
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from topology.addressing import format_ip
from traffic.engine import sockets
from traffic.engine.flows import tcp
from traffic.engine.flows.observers import HopSampler
from traffic.engine.interface_counters import InterfaceCounters
from traffic.engine.jobs import FlowJob
from traffic.engine.telemetry import CountReporter
from traffic.metrics.histogram import LogHistogram
from traffic.metrics.measurements import Clock, FlowOutcome

_BUFFER_BYTES = 1 << 18
_POLL_INTERVAL_NS = 20_000_000  # interval between two readings of the sampled frames; the longest wait
_MAX_ACCEPTED = 256  # connections to accept at a time, because a host may open any number of them
# Time to wait for the last frames after all flows have ended or have been aborted.
_QUIET_NS = 300_000_000

Handler = Callable[[int], None]


class FlowWorker:
    """Runs the TCP flows of one `FlowJob`; hosts accept connections as soon as it is created."""

    def __init__(self, job: FlowJob, reporter: CountReporter) -> None:
        self._job, self._reporter = job, reporter
        _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
        self._flows = job.records()
        self._addresses = [format_ip(host.ip) for host in job.hosts]
        self._namespaces = sockets.HostNamespaces(host.namespace_pid for host in job.hosts)
        self._epoll = select.epoll()
        self._handlers: dict[int, Handler] = {}
        self._listeners: list[socket.socket] = []
        self._open: dict[int, list[socket.socket]] = {}  # index of a flow -> sockets of its open ends
        # (source's address, source's port, index of the destination host) -> index of the flow
        self._expected: dict[tuple[str, int, int], int] = {}
        self._zeros, self._discarded = memoryview(bytes(_BUFFER_BYTES)), bytearray(_BUFFER_BYTES)
        self._window_bytes = np.zeros(len(job.hosts), np.int64)
        self._lag = LogHistogram()
        self._sampler, self._interfaces = HopSampler(job.hosts), InterfaceCounters(job.hosts)
        self._next = self._ended = self._gap_ns = 0
        with sockets.namespaces():
            for index in sorted(set(job.destination)):
                self._listen(index)

    def run(
        self,
        clock: Clock,
        stopped: Callable[[], bool],
        checkpoint: Callable[[Callable[[], FlowOutcome]], None] = lambda _measured: None,
    ) -> FlowOutcome:
        """Runs all flows until they have ended, the job's end is reached, or `stopped` returns True.

        Args:
            clock: the instant of the start.
            stopped: returns whether to end early.
            checkpoint: called from time to time with a function that returns the measurements so far.
        """
        sockets.sleep_precisely()
        sockets.run_first()
        self._clock = clock
        time.sleep(max(0.0, (clock.monotonic_ns - time.monotonic_ns()) / 1e9))
        poll_ns = sample_ns = turn_ns = 0
        with sockets.namespaces():
            while (now_ns := self._now_ns()) < self._job.end_ns and self._ended < len(self._flows):
                self._start_due(now_ns)
                for descriptor, events in self._epoll.poll(self._wait_s(poll_ns)):
                    handler = self._handlers.get(descriptor)
                    if handler:
                        handler(events)
                now_ns = self._now_ns()
                self._gap_ns = max(self._gap_ns, now_ns - turn_ns - _POLL_INTERVAL_NS)
                turn_ns = now_ns
                if now_ns >= poll_ns:
                    poll_ns = now_ns + _POLL_INTERVAL_NS
                    self._sampler.read_waiting()
                    self._reporter.add(0, 0)
                    if stopped():
                        break
                if now_ns >= sample_ns + self._job.interval_ns:
                    sample_ns += self._job.interval_ns
                    self._interfaces.sample()
                    checkpoint(self._outcome)
        return self._finish()

    def _now_ns(self) -> int:
        return time.monotonic_ns() - self._clock.monotonic_ns

    def _wait_s(self, poll_ns: int) -> float:
        due_ns = self._job.time_ns[self._next] if self._next < len(self._flows) else poll_ns
        return max(0.0, (min(due_ns, poll_ns) - self._now_ns()) / 1e9)

    # ---- sources ----

    def _start_due(self, now_ns: int) -> None:
        due = self._job.time_ns
        while self._next < len(due) and due[self._next] <= now_ns:
            self._start(self._next)
            self._next += 1
            now_ns = self._now_ns()

    def _start(self, flow: int) -> None:
        job, now_ns = self._job, self._now_ns()
        source, destination = job.source[flow], job.destination[flow]
        self._flows[flow]["started_ns"] = now_ns
        self._lag.add(np.array([now_ns - job.time_ns[flow]]))
        self._namespaces.enter(source)
        try:
            address = self._addresses[destination]
            connection, port = tcp.open_connection(address, job.congestion_control)
        except OSError:
            self._fail(flow)
            return
        self._open[flow] = [connection]
        self._expected[self._addresses[source], port, destination] = flow
        left = job.bytes[flow]

        def ready(events: int) -> None:
            nonlocal left
            try:
                if left:
                    left = self._send(connection, left)
                elif events & select.EPOLLIN and not connection.recv(1):
                    self._close_source(flow, connection)
            except BlockingIOError:
                pass
            except OSError:
                self._fail(flow)

        self._register(connection, select.EPOLLOUT, ready)

    def _send(self, connection: socket.socket, left: int) -> int:
        """Sends as many bytes as the kernel accepts, and closes the sending side after the last one.

        Returns:
            The number of remaining bytes.
        """
        with contextlib.suppress(BlockingIOError):
            while left:
                left -= connection.send(self._zeros[: min(left, _BUFFER_BYTES)])
            connection.shutdown(socket.SHUT_WR)
            self._epoll.modify(connection, select.EPOLLIN)
        return left

    def _close_source(self, flow: int, connection: socket.socket) -> None:
        self._note_source(flow, connection)
        self._close(flow, connection)

    # ---- destinations ----

    def _listen(self, index: int) -> None:
        self._namespaces.enter(index)
        listener = tcp.open_listener(self._job.congestion_control)
        self._listeners.append(listener)

        def ready(_events: int) -> None:
            for _ in range(_MAX_ACCEPTED):
                try:
                    connection, peer = listener.accept()
                except OSError:  # no connection waits, or the waiting one has failed
                    return
                self._accept(connection, (*peer, index))

        self._register(listener, select.EPOLLIN, ready)

    def _accept(self, connection: socket.socket, end: tuple[str, int, int]) -> None:
        flow = self._expected.pop(end, None)
        if flow not in self._open:  # another program opened the connection
            connection.close()
            return
        connection.setblocking(False)
        self._open[flow].append(connection)
        tcp.wait_for_bytes(connection, self._job.bytes[flow])

        def ready(_events: int) -> None:
            try:
                self._receive(flow, connection)
            except BlockingIOError:
                pass
            except OSError:
                self._fail(flow)

        self._register(connection, select.EPOLLIN, ready)

    def _receive(self, flow: int, connection: socket.socket) -> None:
        record = self._flows[flow]
        count, arrived_ns = tcp.discard(connection, self._discarded)
        if not count:
            connection.shutdown(socket.SHUT_WR)
            self._note_destination(flow, connection)
            self._close(flow, connection)
            return
        left = int(record["bytes"] - record["received_bytes"]) - count
        if left < 0:  # another program has sent bytes on the connection
            record["finished_ns"] = -1
            raise OSError(errno.EPROTO, "more bytes than the flow has")
        now_ns = arrived_ns - self._clock.epoch_ns if arrived_ns else self._now_ns()
        start_ns, end_ns = self._job.window_ns
        if start_ns <= now_ns < end_ns:
            self._window_bytes[record["destination"]] += count
        record["received_bytes"] += count
        if left < tcp.MAX_UNREAD_BYTES:
            tcp.wait_for_bytes(connection, left)
        if left:
            self._reporter.add(0, count)
            return
        record["finished_ns"] = now_ns
        self._reporter.add(1, count, np.array([now_ns - record["started_ns"]]))

    # ---- ends ----

    def _register(self, connection: socket.socket, events: int, handler: Handler) -> None:
        self._handlers[connection.fileno()] = handler
        self._epoll.register(connection, events)

    def _close(self, flow: int, connection: socket.socket) -> None:
        """Closes one end of a flow; the flow has ended when both ends are closed."""
        self._forget(connection)
        connection.close()
        ends = self._open[flow]
        ends.remove(connection)
        if not ends:
            del self._open[flow]
            self._ended += 1

    def _forget(self, connection: socket.socket) -> None:
        if self._handlers.pop(connection.fileno(), None):
            self._epoll.unregister(connection)

    def _note_source(self, flow: int, connection: socket.socket) -> None:
        record, counts = self._flows[flow], tcp.counts_of(connection)
        record["sent_bytes"], record["resent_bytes"] = counts.sent_bytes, counts.resent_bytes
        record["sent_segments"], record["received_answers"] = counts.sent_segments, counts.received_segments

    def _note_destination(self, flow: int, connection: socket.socket) -> None:
        record, counts = self._flows[flow], tcp.counts_of(connection)
        record["received_segments"] = counts.received_segments
        record["answer_segments"] = 1 + counts.sent_segments  # + SYN-ACK, sent before this socket existed
        record["out_of_order"] = counts.out_of_order

    def _fail(self, flow: int) -> None:
        """Aborts a flow whose connection failed; it counts as incomplete unless all bytes have arrived."""
        self._flows[flow]["failed"] = self._flows[flow]["finished_ns"] < 0
        self._abort(flow)
        self._ended += 1

    def _abort(self, flow: int) -> None:
        source_port = None
        for connection in self._open.pop(flow, []):
            if connection.getsockname()[1] != tcp.FLOW_PORT:
                self._note_source(flow, connection)
                source_port = connection.getsockname()[1]
            else:
                self._note_destination(flow, connection)
            self._forget(connection)
            tcp.reset(connection)
        source = self._addresses[self._job.source[flow]]
        self._expected.pop((source, source_port or 0, self._job.destination[flow]), None)

    def _finish(self) -> FlowOutcome:
        """Aborts all incomplete flows, waits for the last frames, and returns the outcome."""
        ended_ns = self._now_ns()
        for flow in list(self._open):
            self._abort(flow)
        # Sampled frames that nobody reads would look as if switches held them.
        while self._now_ns() < ended_ns + _QUIET_NS:
            time.sleep(_POLL_INTERVAL_NS / 1e9)
            self._sampler.read_waiting()
        self._interfaces.sample()
        for listener in self._listeners:
            listener.close()
        outcome = replace(self._outcome(), seconds=ended_ns / 1e9)
        self._sampler.close()
        self._interfaces.close()
        self._namespaces.close()
        self._epoll.close()
        return outcome

    def _outcome(self) -> FlowOutcome:
        """Returns the outcome so far; arrays are not copied."""
        totals = self._interfaces.totals()
        bytes_sent, bytes_received = self._interfaces.series()
        sampler = self._sampler
        return FlowOutcome(
            flows=self._flows,
            tx_frames=totals[:, 3],
            rx_frames=totals[:, 1],
            bytes_sent=bytes_sent,
            bytes_received=bytes_received,
            window_bytes=self._window_bytes,
            hop_bytes=sampler.hop_bytes,
            sampled_bytes=sampler.sampled_bytes,
            hops=sampler.hops,
            hops_min=sampler.hops_min,
            hops_max=sampler.hops_max,
            lag=self._lag,
            gap_ns=self._gap_ns,
            seconds=self._now_ns() / 1e9,
        )
