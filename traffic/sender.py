"""The sender: puts a schedule's probes on the hosts' interfaces at their times, all from one process."""

from __future__ import annotations

import socket
import time
from bisect import bisect_right
from collections.abc import Callable

import numpy as np

from traffic import sockets
from traffic.codec import FrameBuffer
from traffic.histogram import LogHistogram
from traffic.job import Clock, Sent, TrafficJob
from traffic.schedule import CHUNK_EVENTS, Events, from_dict

# Packets due within this time are sent together: a wake-up costs more than a packet.
_TICK_S = 0.0002
# How many packets share a time stamp when the sender has to catch up.
_BURST = 64


class Sender:
    """Sends one job's schedule."""

    def __init__(self, job: TrafficJob) -> None:
        self._job = job
        self._schedule = from_dict(job.schedule)
        self._buffer = FrameBuffer(job.template, CHUNK_EVENTS)
        self._ips = np.array([host.ip for host in job.hosts], np.uint32)
        self._sockets: list[socket.socket] = []
        with sockets.namespaces():
            for host in job.hosts:
                sockets.enter(host.namespace_pid)
                self._sockets.append(sockets.open_sender(host.interface))
        hosts = len(job.hosts)
        intervals = self._schedule.end_ns // job.interval_ns + 1
        self._frames = np.zeros((hosts, hosts), np.int64)
        self._bytes = np.zeros((intervals, hosts), np.int64)
        self._lag = LogHistogram()
        self._refused = 0

    def run(self, clock: Clock, stopped: Callable[[], bool]) -> Sent:
        """Sends everything, or until `stopped` says so, and returns what was sent."""
        sockets.sleep_precisely()
        sockets.run_first()
        for events in self._schedule.chunks():
            if stopped():
                break
            self._buffer.fill(
                self._ips[events.source],
                self._ips[events.destination],
                events.flow,
                events.sequence,
            )
            sent_ns = self._send(events, clock, stopped)
            self._record(events, sent_ns, clock)
        for sender in self._sockets:
            sender.close()
        seconds = (time.monotonic_ns() - clock.monotonic_ns) / 1e9
        return Sent(self._frames, self._bytes, self._refused, self._lag, seconds)

    def _send(self, events: Events, clock: Clock, stopped: Callable[[], bool]) -> list[int]:
        """Sends one chunk on time; returns each packet's time stamp, fewer if it was stopped."""
        due_ns = (events.time_ns + clock.monotonic_ns).tolist()
        to_epoch_ns = clock.epoch_ns - clock.monotonic_ns
        send = [self._sockets[source].send for source in events.source.tolist()]
        views, stamp = self._buffer.views, self._buffer.stamp
        sent_ns: list[int] = []
        position, total = 0, len(due_ns)
        while position < total:
            now_ns = time.monotonic_ns()
            end = min(bisect_right(due_ns, now_ns, position), position + _BURST)
            if end == position:
                if stopped():
                    break
                time.sleep(max((due_ns[position] - now_ns) / 1e9, _TICK_S))
                continue
            stamp(position, end, now_ns + to_epoch_ns)
            for index in range(position, end):
                try:
                    send[index](views[index])
                except OSError:  # the host's queue is full, or its interface is down
                    self._refused += 1
            sent_ns += [now_ns + to_epoch_ns] * (end - position)
            position = end
        return sent_ns

    def _record(self, events: Events, sent_ns: list[int], clock: Clock) -> None:
        done = len(sent_ns)
        since_ns = np.array(sent_ns, np.int64) - clock.epoch_ns
        begin_ns, end_ns = self._job.window_ns
        inside = (since_ns >= begin_ns) & (since_ns < end_ns)
        source, destination = events.source[:done], events.destination[:done]
        np.add.at(self._frames, (source[inside], destination[inside]), 1)
        intervals = np.minimum(since_ns // self._job.interval_ns, len(self._bytes) - 1)
        np.add.at(self._bytes, (intervals, source), len(self._job.template))
        self._lag.add((since_ns - events.time_ns[:done])[inside])
