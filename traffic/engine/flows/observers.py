"""Observers of hosts' interfaces during TCP flows: counters of frames and bytes, and a sample of hops."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from topology.addressing import INITIAL_TTL
from traffic.engine import sockets
from traffic.engine.jobs import HostSocket
from traffic.engine.receivers import Receivers

SAMPLE_EVERY = 8
_SLOTS = 1024
_MAX_READINGS = 64
_HEADER_BYTES = 54
_READ_BYTES = 1 << 15
# Columns of a line in /proc/PID/net/dev; a host receives what its switch sends, and sends what that receives.
_OF_THE_HOST = (8, 9, 0, 1)

Numbers = npt.NDArray[np.int64]


class InterfaceCounters:
    """Counters of what the switches exchange with all hosts, from /proc/PID/net/dev of the switches."""

    def __init__(self, hosts: Sequence[HostSocket]) -> None:
        self._hosts: dict[int, dict[bytes, int]] = {}  # switch -> its interface -> index of the host
        for index, host in enumerate(hosts):
            self._hosts.setdefault(host.switch_pid, {})[host.switch_interface.encode()] = index
        self._files = {pid: os.open(f"/proc/{pid}/net/dev", os.O_RDONLY) for pid in self._hosts}
        self._last = self._read(np.zeros((len(hosts), 4), np.int64))
        self._first = self._last
        self._steps: list[Numbers] = []

    def sample(self) -> None:
        """Reads the counters and ends an interval of the series."""
        now = self._read(self._last)
        self._steps.append(now - self._last)
        self._last = now

    def totals(self) -> Numbers:
        """Returns the counts since the start: hosts x (rx bytes, rx frames, tx bytes, tx frames)."""
        return self._last - self._first

    def series(self) -> tuple[Numbers, Numbers]:
        """Returns the bytes sent and received in each interval: two int64 arrays, intervals x hosts."""
        steps = np.array(self._steps, np.int64).reshape(-1, *self._last.shape)
        return steps[:, :, 2], steps[:, :, 0]

    def close(self) -> None:
        """Closes the files."""
        for descriptor in self._files.values():
            os.close(descriptor)

    def _read(self, before: Numbers) -> Numbers:
        """Returns the current counts; `before` for a host whose link is gone."""
        counts = before.copy()
        for pid, descriptor in self._files.items():
            for line in _content(descriptor).split(b"\n"):
                name, _, columns = line.partition(b":")
                index = self._hosts[pid].get(name.strip())
                if index is not None:
                    words = columns.split(maxsplit=10)
                    counts[index] = [int(words[place]) for place in _OF_THE_HOST]
        return counts


def _content(descriptor: int) -> bytes:
    """Returns the content of a file in /proc, of which one call reads some pages at most."""
    chunks: list[bytes] = []
    while chunk := os.pread(descriptor, _READ_BYTES, sum(map(len, chunks))):
        chunks.append(chunk)
    return b"".join(chunks)


class HopSampler:
    """Samples the TCP frames that the switches send to all hosts: hops by source and destination.

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
        """Counts the waiting frames; at most as many as fit into the sockets, in case a host floods."""
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
