"""Reads the queues of all links: loads, waiting packets and drops, now and over the last minute."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from controller.occupancy.queues import QueueReader
from experiments.live_fabric import LiveFabric, open_queue_readers
from experiments.results.link_loads import directed_links

_KEPT_S = 60.0
_SENT, _WAITING, _DROPPED = range(3)

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Reading:
    """State of all queues at one time; their numbers (places) are explained in `LinkReadings`.

    Attributes:
        time_s: time on time.monotonic's clock.
        counts: int64, places x 3: bytes sent since the queue was created, waiting packets, packets dropped
            since the queue was created.
        load: float64, places: bits carried since the previous reading, as a fraction of the link's capacity.
    """

    time_s: float
    counts: Counts
    load: npt.NDArray[np.float64]

    @property
    def waiting(self) -> Counts:
        """Waiting packets (int64, places)."""
        return self.counts[:, _WAITING]

    @property
    def dropped(self) -> Counts:
        """Packets dropped since the queue was created (int64, places)."""
        return self.counts[:, _DROPPED]


class LinkReadings:
    """Reader of all queues of a fabric's switches; a context manager.

    Each queue has a number, its place: first the directions of links between routers, in the order of
    `directed_links`, then the ports to hosts, in the order of hosts.
    """

    def __init__(self, fabric: LiveFabric) -> None:
        """Prepares to read the queues of a fabric."""
        self._fabric = fabric
        topology = fabric.options.topology
        places = [(link.source + 1, link.port) for link in directed_links(topology)]
        self.links = len(places)
        places += [(host.router + 1, topology.host_port(host.router, host.index)) for host in fabric.hosts]
        self._places: dict[int, list[tuple[int, int]]] = {}
        for place, (switch, port) in enumerate(places):
            self._places.setdefault(switch, []).append((place, port))
        self._counts: Counts = np.zeros((len(places), 3), np.int64)
        self._readers: dict[int, QueueReader] = {}
        self._history: deque[Reading] = deque()

    def __enter__(self) -> LinkReadings:
        self._readers = open_queue_readers(self._fabric.network)
        self._first = self.read()
        return self

    def __exit__(self, *_error: object) -> None:
        for reader in self._readers.values():
            reader.close()

    def read(self) -> Reading:
        """Reads all queues; a switch that does not answer keeps its previous values."""
        counts = self._counts.copy()
        for switch, reader in self._readers.items():
            with contextlib.suppress(OSError):
                queues = reader.read()
                for place, port in self._places.get(switch, ()):
                    if state := queues.get(port):
                        counts[place] = state.sent_bytes, state.packets, state.dropped_packets
        now_s, rate_bps = time.monotonic(), self._fabric.options.links.rate_bps
        last = self._history[-1] if self._history else None
        span_s = now_s - last.time_s if last else 1.0
        sent = np.maximum(counts[:, _SENT] - (last.counts[:, _SENT] if last else counts[:, _SENT]), 0)
        reading = Reading(now_s, counts, sent * 8 / (span_s * rate_bps))
        self._counts = counts
        self._history.append(reading)
        while self._history[0].time_s < now_s - _KEPT_S:
            self._history.popleft()
        return reading

    @property
    def latest(self) -> Reading | None:
        """The latest reading; None before the first."""
        return self._history[-1] if self._history else None

    def dropped_since_begin(self, reading: Reading) -> Counts:
        """Returns the packets dropped at each place since the first reading: int64 array, (places,)."""
        dropped: Counts = np.maximum(reading.dropped - self._first.dropped, 0)
        return dropped

    def lately(self, place: int) -> list[tuple[float, float, int, int]]:
        """Returns a queue's last minute: (time in s relative to now, load, waiting packets, drops)."""
        readings = list(self._history)
        now_s = time.monotonic()
        dropped = [int(one.dropped[place] - self._first.dropped[place]) for one in readings]
        return [
            (
                round(one.time_s - now_s, 2),
                round(float(one.load[place]), 4),
                int(one.waiting[place]),
                max(0, drops),
            )
            for one, drops in zip(readings, dropped, strict=True)
        ]
