"""CPU monitor: the idle share of all cores, second by second, and stolen processor time."""

from __future__ import annotations

import threading
import time

import psutil

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
            self.samples.idle.append((idle_now - idle) / max(0.01, total_now - total))
            idle, total = idle_now, total_now


def _cpu_times() -> tuple[float, float]:
    """Returns (idle, total) seconds of all cores since boot."""
    times = psutil.cpu_times()
    # A guest's time is counted as user time, too.
    return times.idle + times.iowait, sum(times) - times.guest - times.guest_nice


def cpu_stolen_s() -> float:
    """Returns the processor time in s, of all cores, that was taken from a virtual machine since its boot.

    The host gave it to others: proc(5), "steal". Packets that came in that time may be lost.
    """
    return float(psutil.cpu_times().steal)
