"""Whether a run can be trusted: was the machine fast enough for what it emulated?"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MIN_IDLE = 0.35
_SAMPLE_S = 1.0


@dataclass
class CpuSamples:
    """The idle share of all cores, second by second.

    Attributes:
        times_s: end of each second, on time.monotonic's clock.
        idle: its share of idle time, 0 to 1.
    """

    times_s: list[float] = field(default_factory=list)
    idle: list[float] = field(default_factory=list)

    def between(self, begin_s: float, end_s: float) -> list[float]:
        """Returns the samples that lie wholly within a span of time."""
        return [
            idle
            for time_s, idle in zip(self.times_s, self.idle, strict=True)
            if begin_s <= time_s - _SAMPLE_S and time_s <= end_s
        ]


class CpuSampler:
    """Samples the idle share of the CPU while used as a context manager."""

    def __init__(self) -> None:
        self.samples = CpuSamples()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> CpuSampler:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        idle, total = _cpu_times()
        while not self._stop.wait(_SAMPLE_S):
            idle_now, total_now = _cpu_times()
            self.samples.times_s.append(time.monotonic())
            self.samples.idle.append((idle_now - idle) / max(1, total_now - total))
            idle, total = idle_now, total_now


def _cpu_times() -> tuple[int, int]:
    """Returns (idle, total) ticks of all cores since boot."""
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return fields[3] + fields[4], sum(fields)


def judge(idle: list[float], lag_ms_p99: float | None, packet_ms: float) -> dict[str, Any]:
    """Returns the `fidelity` of a run's summary.

    Args:
        idle: the CPU's idle share in each second of the measured window.
        lag_ms_p99: how late the sender was, 99th percentile in ms; None if it sent nothing.
        packet_ms: the time that one frame takes on a link, in ms.
    """
    reasons = []
    least = min(idle, default=None)
    if least is None:
        reasons.append("the measured window is too short to sample the CPU in it")
    elif least < MIN_IDLE:
        reasons.append(f"only {least:.0%} of the CPU was idle in one second; {MIN_IDLE:.0%} are needed")
    if lag_ms_p99 is None:
        reasons.append("nothing was sent in the measured window")
    elif lag_ms_p99 > packet_ms:
        reasons.append(
            f"1 % of the packets left over {lag_ms_p99:.2f} ms late; one packet time is {packet_ms:.2f} ms"
        )
    return {
        "valid": not reasons,
        "reasons": reasons,
        "cpu_idle": None if least is None else round(least, 3),
        "generator_lag_ms_p99": None if lag_ms_p99 is None else round(lag_ms_p99, 3),
        "link_rate_error": None,  # only links that were saturated tell, and none is known to have been
    }
