"""CPU monitor: the idle share of all cores and what was stolen from them, second by second."""

from __future__ import annotations

import threading
import time

import psutil

from experiments.validity.samples import CpuSamples


class CpuMonitor:
    """Monitor of the idle and stolen shares of the CPU; a context manager."""

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
        before = _cpu_times()
        while not self._stop.wait(self.samples.span_s):
            now = _cpu_times()
            idle, stolen, total = (later - earlier for later, earlier in zip(now, before, strict=True))
            self.samples.times_s.append(time.monotonic())
            self.samples.idle.append(idle / max(0.01, total))
            self.samples.stolen.append(stolen / max(0.01, total))
            before = now


def _cpu_times() -> tuple[float, float, float]:
    """Returns (idle, stolen, total) seconds of all cores since boot."""
    times = psutil.cpu_times()
    # A guest's time is counted as user time, too.
    return times.idle + times.iowait, times.steal, sum(times) - times.guest - times.guest_nice


def cpu_stolen_s() -> float:
    """Returns the processor time in s, of all cores, that was taken from a virtual machine since its boot.

    The host gave it to others: proc(5), "steal". Packets that came in that time may be lost.
    """
    return float(psutil.cpu_times().steal)
