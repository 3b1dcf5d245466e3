"""Validity of a run: evidence that the machine was fast enough for what it emulated, and its judgement."""

from __future__ import annotations

from dataclasses import dataclass, field

from experiments.results.model import Fidelity

MIN_IDLE = 0.35
MOST_RATE_ERROR = 0.05
# A frame may be lost in a queue; a frame that is lost elsewhere is the machine's failure, not the fabric's.
MOST_LOST_ELSEWHERE = 0.01
SAMPLE_S = 1.0


@dataclass
class CpuSamples:
    """Idle share of all cores, second by second.

    Attributes:
        times_s: end of each second, on time.monotonic's clock.
        idle: share of idle time in that second, 0 to 1.
    """

    times_s: list[float] = field(default_factory=list)
    idle: list[float] = field(default_factory=list)

    def between(self, begin_s: float, end_s: float) -> list[float]:
        """Returns the samples that lie wholly within a span of time."""
        return [
            idle
            for time_s, idle in zip(self.times_s, self.idle, strict=True)
            if begin_s <= time_s - SAMPLE_S and time_s <= end_s
        ]


@dataclass(frozen=True)
class Evidence:
    """Evidence of a run's validity, observed while its traffic passed.

    Attributes:
        idle: idle share of the CPU in each second of the measured window.
        lag_ms_p99: lateness of the sender, 99th percentile in ms; None if it sent nothing.
        packet_ms: time of one frame on a link, in ms.
        rate_errors: real rate of each saturated link over the asked one, less one; None where the queues
            drain too fast to be observed.
        sent: frames that hosts sent.
        lost_elsewhere: frames that neither arrived nor were dropped by a queue; None if not known.
        scheduled: whether packets had times at which to be sent.
    """

    idle: list[float]
    lag_ms_p99: float | None
    packet_ms: float
    rate_errors: list[float] | None = None
    sent: int = 0
    lost_elsewhere: int | None = None
    scheduled: bool = True


def judge(evidence: Evidence) -> Fidelity:
    """Returns whether a run can be trusted, with the reasons if it cannot.

    Args:
        evidence: observations of the run.
    """
    least = min(evidence.idle, default=None)
    worst = max(evidence.rate_errors or (), key=abs, default=None)
    elsewhere = None
    if evidence.lost_elsewhere is not None and evidence.sent:
        # A switch that retries has its queue count a drop twice: a negative number counts as none.
        elsewhere = max(0.0, evidence.lost_elsewhere / evidence.sent)
    reasons = _reasons(evidence, least, worst, elsewhere)
    return Fidelity(
        valid=not reasons,
        reasons=tuple(reasons),
        cpu_idle=_rounded(least, 3),
        generator_lag_ms_p99=_rounded(evidence.lag_ms_p99, 3),
        link_rate_error=_rounded(worst, 4),
        links_saturated=None if evidence.rate_errors is None else len(evidence.rate_errors),
        lost_outside_queues=_rounded(elsewhere, 5),
    )


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
