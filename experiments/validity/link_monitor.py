"""Monitor of all queues of a fabric while traffic runs: drops, losses, and real rates of saturated links.

All queues are read periodically. If a queue had more packets at one reading than its link can send until the
next, it was never empty in between. The bytes sent between the two readings then give the link's real rate,
whatever the traffic.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

from controller.occupancy.queues import QueueReader, QueueState
from experiments.live_fabric import LiveFabric, open_queue_readers, read_host_queues
from experiments.live_series import LiveLinkSeries
from experiments.results.link_loads import LinkLog, directed_links
from topology.errors import MachineError

# Readings in the time that a full queue takes to drain. With 3 readings, a link whose queue is a third full
# at a reading cannot be idle before the next one.
_READINGS_PER_QUEUE = 3
_MIN_INTERVAL_S, _MAX_INTERVAL_S = 0.02, 0.5
# Reading may take at most this share of the time.
_MAX_SHARE = 1 / 40


class LinkMonitor:
    """Monitor of a fabric's queues; a context manager.

    Attributes:
        log: the readings; None if the queues cannot be read over netlink.
    """

    def __init__(self, fabric: LiveFabric, frame_bytes: int, folder: Path | None = None) -> None:
        """Opens the queues.

        Args:
            fabric: the fabric.
            frame_bytes: length of the longest frames on its links.
            folder: folder of the results, for the table that is written during the run; None for no table.
        """
        self._network, spec = fabric.network, fabric.options.links
        self._drain_s = spec.queue_packets * spec.packet_s(frame_bytes)
        self._interval_s = min(max(self._drain_s / _READINGS_PER_QUEUE, _MIN_INTERVAL_S), _MAX_INTERVAL_S)
        self._rate_bps, self._paused_s = spec.rate_bps, 0.0
        self._readers: dict[int, QueueReader] = {}
        with contextlib.suppress(OSError, MachineError):
            self._readers = open_queue_readers(fabric.network)
        self._last: dict[int, tuple[float, dict[int, QueueState]]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.log: LinkLog | None = LinkLog() if self._readers else None
        self._live: LiveLinkSeries | None = None
        if self.log and folder:
            self._live = LiveLinkSeries(folder, directed_links(fabric.options.topology))

    def __enter__(self) -> LinkMonitor:
        if self.log:
            self._hosts_before = read_host_queues(self._network)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()
        for reader in self._readers.values():
            reader.close()
        if self._live:
            self._live.close()
        if self.log:
            for host, after in read_host_queues(self._network).items():
                before = self._hosts_before.get(host)
                if before and after.sent_bytes >= before.sent_bytes:
                    dropped = after.dropped_packets - before.dropped_packets
                    self.log.host_queues[host] = (after.sent_bytes - before.sent_bytes, dropped)

    def _run(self) -> None:
        seconds = self._timed(self._read)
        while not self._stop.wait(self._pause_s(seconds)):
            seconds = self._timed(self._read)
        if self.log:
            self.log.history.keep_next()
        self._read()  # a last reading, with the drops until now

    def _pause_s(self, seconds: float) -> float:
        interval_s = max(self._interval_s, seconds / _MAX_SHARE)
        if self.log and interval_s > self._drain_s:
            self.log.observable = False
        self._paused_s = interval_s
        return interval_s - seconds

    @staticmethod
    def _timed(action: Callable[[], None]) -> float:
        """Returns the processor time of an action in s; waiting for a processor does not count."""
        started = time.thread_time()
        action()
        return time.thread_time() - started

    def _read(self) -> None:
        if self.log:
            self.log.note_reading(time.monotonic(), self._paused_s)
        for number, reader in self._readers.items():
            try:
                queues = reader.read()
            except OSError:  # the switch's network namespace is gone
                continue
            now = time.monotonic()
            if self.log:
                self.log.history.note(number, now, queues)
            if self._live:
                self._live.note(number, now, queues)
            if number in self._last and self.log:
                then, before = self._last[number]
                for port in queues.keys() & before.keys():
                    link = (number, port)
                    self.log.note(link, before[port], queues[port], now - then, self._rate_bps)
            self._last[number] = (now, queues)
