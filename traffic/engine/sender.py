"""The sender: one process that sends a schedule's probes on time, through the hosts' interfaces."""

from __future__ import annotations

import socket
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from operator import length_hint

import numpy as np
import numpy.typing as npt

from traffic.engine import sockets
from traffic.engine.jobs import TrafficJob
from traffic.engine.telemetry import CountReporter
from traffic.metrics.counters import CounterSettings, SentCounter
from traffic.metrics.measurements import Clock, Sent
from traffic.metrics.window import Window
from traffic.wire.probe_codec import FrameBuffer
from traffic.wire.tags import Tagger
from traffic.workload.arrivals import CHUNK_EVENTS, Events
from traffic.workload.schedule import schedule_from_dict

# Packets due within this time are sent together: waking up costs more than sending a packet.
_TICK_S = 0.0002
# The sender reports even between two distant packets, because a silent process is considered suspended.
_MAX_SLEEP_S = 0.25
# Maximum number of packets with the same timestamp when the sender has to catch up.
_BURST = 64


class Sender:
    """Sends the probes of one `TrafficJob`."""

    def __init__(self, job: TrafficJob, window: Window, reporter: CountReporter) -> None:
        self._schedule = schedule_from_dict(job.schedule)
        self._window, self._reporter = window, reporter
        self._frame_bytes = len(job.template)
        self._buffer = FrameBuffer(job.template, CHUNK_EVENTS, Tagger(job.key))
        self._ips = np.array([host.ip for host in job.hosts], np.uint32)
        self._sockets = sockets.open_all((host.sending_place for host in job.hosts), sockets.open_sender)
        settings = CounterSettings(
            len(job.hosts), job.flows, window, job.interval_ns, settling_ns=job.settling_ns
        )
        self._counts = SentCounter(settings)

    def run(self, clock: Clock, stopped: Callable[[], bool]) -> Sent:
        """Sends the schedule until the window ends or `stopped` returns True; returns the counts."""
        sockets.sleep_precisely()
        sockets.run_first()
        for events in self._schedule.chunks():
            # The window's end is checked here, too, because a late sender never waits in `_send`.
            if stopped() or events.time_ns[0] >= self._window.end_ns:
                break
            self._buffer.fill(
                self._ips[events.source],
                self._ips[events.destination],
                events.flow,
                events.sequence,
            )
            sent_ns = self._send(events, clock, stopped) - clock.monotonic_ns
            done = len(sent_ns)
            self._counts.add(
                events.source[:done],
                events.destination[:done],
                sent_ns,
                events.time_ns[:done],
                self._frame_bytes,
            )
            if done < len(events):
                break
        for sender in self._sockets:
            sender.close()
        return self._counts.result((time.monotonic_ns() - clock.monotonic_ns) / 1e9)

    def _send(self, events: Events, clock: Clock, stopped: Callable[[], bool]) -> npt.NDArray[np.int64]:
        """Sends packets on schedule; returns the departure times (monotonic ns) of those that were sent."""
        due_ns = (events.time_ns + clock.monotonic_ns).tolist()
        to_epoch_ns = clock.epoch_ns - clock.monotonic_ns
        senders = [self._sockets[source] for source in events.source.tolist()]
        stamp = self._buffer.stamp
        sent_ns = np.empty(len(due_ns), np.int64)
        position, total = 0, len(due_ns)
        while position < total:
            now_ns = time.monotonic_ns()
            end = min(bisect_right(due_ns, now_ns, position), position + _BURST)
            if end == position:
                if stopped() or now_ns - clock.monotonic_ns >= self._window.end_ns:
                    break
                time.sleep(min(max((due_ns[position] - now_ns) / 1e9, _TICK_S), _MAX_SLEEP_S))
                self._reporter.add(0, 0)
                continue
            if stopped():  # a late sender never waits: check here, too
                break
            stamp(position, end, now_ns + to_epoch_ns)
            self._send_burst(senders, position, end)
            sent_ns[position:end] = now_ns
            self._reporter.add(end - position, (end - position) * self._frame_bytes)
            position = end
        return sent_ns[:position]

    def _send_burst(self, senders: list[socket.socket], position: int, end: int) -> None:
        views = iter(self._buffer.views[position:end])
        while position < end:
            try:  # `deque(map(...), 0)` loops in C: its overhead is a tenth of the system calls' time
                deque(map(socket.socket.send, senders[position:end], views), 0)
            except OSError as error:
                self._counts.refused += 1
                if sockets.interface_is_down(error):
                    refused = senders[end - length_hint(views) - 1]
                    self._counts.unsent[self._sockets.index(refused)] += 1
            position = end - length_hint(views)
