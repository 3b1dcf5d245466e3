"""The kernel's counters of the frames and bytes that switches exchange with hosts."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from topology.files.reading import read_counters
from traffic.engine.jobs import HostSocket

# A host's rx bytes, rx frames, tx bytes and tx frames: columns of its switch's line in /proc/PID/net/dev. The
# directions are swapped, because the host receives what the switch sends.
_OF_THE_HOST = (8, 9, 0, 1)

Numbers = npt.NDArray[np.int64]


class InterfaceCounters:
    """Reads the counters of all switch interfaces to hosts from the switches' /proc/PID/net/dev."""

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
        """Returns each host's counts since the start: hosts x (rx bytes, rx frames, tx bytes, tx frames)."""
        return self._last - self._first

    def series(self) -> tuple[Numbers, Numbers]:
        """Returns the bytes that hosts sent and received: two int64 arrays, intervals x hosts."""
        steps = np.array(self._steps, np.int64).reshape(-1, *self._last.shape)
        return steps[:, :, 2], steps[:, :, 0]

    def close(self) -> None:
        """Closes the files."""
        for descriptor in self._files.values():
            os.close(descriptor)

    def _read(self, before: Numbers) -> Numbers:
        """Returns the current counters, hosts x 4; a host whose link is gone keeps its row of `before`."""
        counts = before.copy()
        for pid, descriptor in self._files.items():
            for line in read_counters(descriptor).split(b"\n"):
                name, _, columns = line.partition(b":")
                index = self._hosts[pid].get(name.strip())
                if index is not None:
                    words = columns.split(maxsplit=10)
                    counts[index] = [int(words[place]) for place in _OF_THE_HOST]
        return counts
