"""Estimates the hops of TCP flows from a sample of the frames that arrive at hosts' interfaces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from topology.addressing import INITIAL_TTL
from traffic.engine import sockets
from traffic.engine.jobs import HostSocket
from traffic.engine.receivers import Receivers

SAMPLE_EVERY = 8
_SLOTS = 1024
_MAX_READINGS = 64
_HEADER_BYTES = 54


class HopSampler:
    """Samples the TCP frames that switches send to hosts; adds up their hops by source and destination.

    Attributes:
        hop_bytes, sampled_bytes, hops, hops_min, hops_max: see FlowOutcome.
    """

    def __init__(self, hosts: Sequence[HostSocket]) -> None:
        count = len(hosts)
        self.hop_bytes = np.zeros((count, count))
        self.sampled_bytes = np.zeros((count, count), np.int64)
        self.hops = np.zeros(256, np.int64)
        self.hops_min = np.full((count, count), 255, np.uint8)
        self.hops_max = np.zeros((count, count), np.uint8)
        ips = np.array([host.ip for host in hosts], np.int64)
        self._order = np.argsort(ips)
        self._ips = ips[self._order]
        self._receivers = Receivers(
            (host.arrival_place for host in hosts),
            0,
            _SLOTS,
            frame_bytes=_HEADER_BYTES,
            opener=lambda name: sockets.open_sampler(name, SAMPLE_EVERY),
        )

    def read_waiting(self) -> None:
        """Counts the frames that wait in the sockets, up to a limit, in case a host floods the network."""
        for _ in range(_MAX_READINGS):
            count = self._receivers.receive()
            if not count:
                return
            self._count(count)

    def close(self) -> None:
        """Closes the sockets."""
        self._receivers.close()

    def _count(self, count: int) -> None:
        buffer = self._receivers.buffer
        frames, lengths = buffer.frames[:count], buffer.lengths(count)
        source_ip = frames[:, 26:30].copy().view(">u4")[:, 0].astype(np.int64)
        place = np.minimum(np.searchsorted(self._ips, source_ip), len(self._ips) - 1)
        known = (self._ips[place] == source_ip) & (frames[:, 23] == 6)  # TCP
        known &= (lengths >= _HEADER_BYTES) & (frames[:, 22] > 0) & (frames[:, 22] <= INITIAL_TTL)
        source, destination = self._order[place[known]], self._receivers.owners[:count][known]
        hops = INITIAL_TTL - frames[known, 22].astype(np.int64)
        np.add.at(self.hop_bytes, (source, destination), hops * lengths[known])
        np.add.at(self.sampled_bytes, (source, destination), lengths[known])
        np.minimum.at(self.hops_min, (source, destination), hops.astype(np.uint8))
        np.maximum.at(self.hops_max, (source, destination), hops.astype(np.uint8))
        self.hops += np.bincount(hops, minlength=256) * SAMPLE_EVERY
        buffer.reset(count)
