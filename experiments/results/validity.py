"""Whether a run can be trusted: was the machine fast enough for what it emulated?"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MIN_IDLE = 0.35
MOST_RATE_ERROR = 0.05
# Frames may be lost in queues only; what is lost elsewhere is the machine's failure, not the fabric's.
MOST_LOST_ELSEWHERE = 0.01
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
    ticks = _cpu_ticks()
    return ticks[3] + ticks[4], sum(ticks)


def _cpu_ticks() -> list[int]:
    """Returns the ticks of all cores since boot by what they went into, up to "steal" (proc(5))."""
    return [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]


def cpu_stolen_s() -> float:
    """Returns the processor time, of all cores, that a virtual machine wanted and did not get since its boot.

    The machine below had given it to others: proc(5), "steal". Packets that came meanwhile may be lost.
    """
    return _cpu_ticks()[7] / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Evidence:
    """What was observed while a run's traffic passed.

    Attributes:
        idle: the CPU's idle share in each second of the measured window.
        lag_ms_p99: how late the sender was, 99th percentile in ms; None if it sent nothing.
        packet_ms: the time that one frame takes on a link, in ms.
        rate_errors: of each saturated link, its real rate over the asked one, less one; None where the
            queues drain too fast to be watched.
        sent: frames that hosts sent.
        lost_elsewhere: of these, how many neither arrived nor were dropped by a queue; None if not known.
        scheduled: whether packets had times at which to be sent.
    """

    idle: list[float]
    lag_ms_p99: float | None
    packet_ms: float
    rate_errors: list[float] | None = None
    sent: int = 0
    lost_elsewhere: int | None = None
    scheduled: bool = True


def judge(evidence: Evidence) -> dict[str, Any]:
    """Returns the `fidelity` of a run's summary."""
    least = min(evidence.idle, default=None)
    worst = max(evidence.rate_errors or (), key=abs, default=None)
    elsewhere = None
    if evidence.lost_elsewhere is not None and evidence.sent:
        # A switch that retries makes its queue count a drop twice: less than none are none.
        elsewhere = max(0.0, evidence.lost_elsewhere / evidence.sent)
    reasons = _reasons(evidence, least, worst, elsewhere)
    return {
        "valid": not reasons,
        "reasons": reasons,
        "cpu_idle": _rounded(least, 3),
        "generator_lag_ms_p99": _rounded(evidence.lag_ms_p99, 3),
        "link_rate_error": _rounded(worst, 4),
        "links_saturated": None if evidence.rate_errors is None else len(evidence.rate_errors),
        "lost_outside_queues": _rounded(elsewhere, 5),
    }


def _reasons(
    evidence: Evidence, idle: float | None, rate_error: float | None, elsewhere: float | None
) -> list[str]:
    reasons = []
    lag_ms, packet_ms = evidence.lag_ms_p99, evidence.packet_ms
    if idle is None:
        reasons.append("the measured window is too short to sample the CPU in it")
    elif idle < MIN_IDLE:
        reasons.append(f"only {idle:.0%} of the CPU was idle in one second; {MIN_IDLE:.0%} are needed")
    if lag_ms is None and evidence.scheduled:
        reasons.append("nothing was sent in the measured window")
    elif lag_ms is not None and lag_ms > packet_ms:
        reasons.append(
            f"1 % of the packets left over {lag_ms:.2f} ms late; one packet time is {packet_ms:.2f} ms"
        )
    if rate_error is not None and abs(rate_error) > MOST_RATE_ERROR:
        reasons.append(f"a saturated link passed {1 + rate_error:.1%} of its rate")
    if elsewhere is not None and elsewhere > MOST_LOST_ELSEWHERE:
        reasons.append(f"{elsewhere:.1%} of the packets were lost elsewhere than in the links' queues")
    return reasons


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
