"""CPU monitor: the idle share of all cores, second by second, and stolen processor time."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from experiments.results.validity import SAMPLE_S, CpuSamples


class CpuMonitor:
    """Monitor of the CPU's idle share; a context manager."""

    def __init__(self) -> None:
        self.samples = CpuSamples()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> CpuMonitor:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        idle, total = _cpu_times()
        while not self._stop.wait(SAMPLE_S):
            idle_now, total_now = _cpu_times()
            self.samples.times_s.append(time.monotonic())
            self.samples.idle.append((idle_now - idle) / max(1, total_now - total))
            idle, total = idle_now, total_now


def _cpu_times() -> tuple[int, int]:
    """Returns (idle, total) ticks of all cores since boot."""
    ticks = _cpu_ticks()
    return ticks[3] + ticks[4], sum(ticks)


def _cpu_ticks() -> list[int]:
    """Returns the ticks of all cores since boot by their use, up to "steal" (proc(5))."""
    return [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]


def cpu_stolen_s() -> float:
    """Returns the processor time in s, of all cores, that was taken from a virtual machine since its boot.

    The host gave it to others: proc(5), "steal". Packets that came in that time may be lost.
    """
    return _cpu_ticks()[7] / os.sysconf("SC_CLK_TCK")
