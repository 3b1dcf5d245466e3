"""Judgement of a run: whether the machine handled its packets as the emulated network promises."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from experiments.results.model import Fidelity
from experiments.validity.coverage import Coverage
from experiments.validity.samples import Held
from topology.links import MIN_RATE_BPS, even_rate_bps

# Longest time for which a switch may hold frames outside its queues, in frame times: the mean and the root
# mean square in its worst second, and the mean over all switches and seconds. docs/explanation/validity.md
# has the reasons.
MAX_HELD = 0.5
MAX_HELD_RMS = 1.0
MAX_HELD_MEAN = 0.1
MAX_STOLEN = 0.2
MAX_RATE_ERROR = 0.05
# Loss in a queue belongs to the emulated network; loss elsewhere is a failure of the machine.
MAX_LOST_ELSEWHERE = 0.01
# Longest standstill of the ranks' process, as a share of the iteration's completion time.
MAX_STANDSTILL = 0.2

# Strain (see `strain`) to aim at when a link rate is chosen: well below the limit 1, as a longer run has
# worse seconds than a short one. Strain grows with a power of the link rate, as frames get shorter and
# switches wait longer for a processor; USUAL_POWER is that power.
AIM_STRAIN, USUAL_POWER = 0.45, 2.0


class Standstill(NamedTuple):
    """Longest time for which the process that sends and receives did not look at its sockets.

    Attributes:
        gap_ms: that time in ms.
        max_ms: longest such time that hardly affects the result, in ms.
        whose: noun for the process; the reason for doubt begins with it.
    """

    gap_ms: float
    max_ms: float
    whose: str


@dataclass(frozen=True)
class Evidence:
    """Evidence of a run's validity, observed while its traffic passed.

    Attributes:
        packet_ms: time of one frame on a link, in ms.
        held: the longest mean time for which a switch held frames in a second of the measurement window.
        held_mean: mean time for which a switch held a frame, in frame times.
        held_rms: the largest root mean square of that time in a second.
        holds_observed: whether the datapath lets PolarLab observe held frames.
        lag_ms_p99: 99th percentile of the sender's lag in ms; None if nothing was sent.
        standstill: longest standstill of a collective's or TCP flows' process; None for other traffic.
        idle, stolen: idle share and steal time of the CPU in each second of the measurement window, 0 to 1.
        rate_errors: relative error of each saturated link's rate; None if the queues drain too fast to be
            observed.
        sent: frames that hosts sent.
        surplus: frames that arrived although no host was scheduled to send them.
        damaged: frames that arrived with contents that no sender wrote.
        lost_elsewhere: frames that neither arrived nor were dropped by a queue; None if not known.
        link_loss_doubt: reason to doubt the configured random loss of links; None if there is none.
        scheduled: whether packets had scheduled times.
        link_rate_bps: rate of the links in bit/s; None if no lower rate is to be suggested.
        coverages: for each monitor, how much of the judged time it observed.
    """

    packet_ms: float
    held: Held | None = None
    held_mean: float | None = None
    held_rms: Held | None = None
    holds_observed: bool = True
    lag_ms_p99: float | None = None
    standstill: Standstill | None = None
    idle: Sequence[float] = ()
    stolen: Sequence[float] = ()
    rate_errors: Sequence[float] | None = None
    sent: int = 0
    surplus: int = 0
    damaged: int = 0
    lost_elsewhere: int | None = None
    link_loss_doubt: str | None = None
    scheduled: bool = True
    link_rate_bps: int | None = None
    coverages: Sequence[Coverage] = ()

    @property
    def worst_rate_error(self) -> float | None:
        """The rate error that differs most from 0."""
        return max(self.rate_errors or (), key=abs, default=None)

    @property
    def share_lost_elsewhere(self) -> float | None:
        """Frames lost outside the queues, as a fraction of the frames sent."""
        if self.lost_elsewhere is None or not self.sent:
            return None
        # If a switch retries, its queue counts a drop twice. The difference may then be negative.
        return max(0.0, self.lost_elsewhere / self.sent)


class _Measure(NamedTuple):
    """One measure of a run's validity: its value, its limit, and the reason for doubt above the limit."""

    value: float
    limit: float
    reason: str


def judge(evidence: Evidence) -> Fidelity:
    """Judges whether a run can be trusted, and states the reasons if it cannot.

    Args:
        evidence: observations of the run.
    """
    held = evidence.held
    reasons = [measure.reason for measure in _measures(evidence) if measure.value > measure.limit]
    missed = [coverage.reason for coverage in evidence.coverages if coverage.lacking]
    reasons += missed
    if evidence.holds_observed and held is None and not missed:
        reasons.append("frames held by switches were not measured")
    if evidence.lag_ms_p99 is None and evidence.scheduled:
        reasons.append("nothing was sent in the measured window; give a longer --duration or a higher --load")
    if evidence.surplus:
        reasons.append(f"{evidence.surplus} more packets arrived than hosts were scheduled to send")
    if evidence.damaged:
        reasons.append(f"{evidence.damaged} damaged or forged frames arrived")
    if evidence.link_loss_doubt is not None:
        reasons.append(evidence.link_loss_doubt)
    return Fidelity(
        valid=not reasons,
        reasons=tuple(reasons),
        observed=_rounded(min((one.share for one in evidence.coverages), default=None), 3),
        held_frame_times_max=_rounded(held and held.frame_times, 4),
        held_frame_times_rms=_rounded(evidence.held_rms and evidence.held_rms.frame_times, 4),
        held_frame_times_mean=_rounded(evidence.held_mean, 4),
        worst_second=held and held.second,
        worst_switch=held and held.switch,
        cpu_idle=_rounded(min(evidence.idle, default=None), 3),
        cpu_stolen=_rounded(max(evidence.stolen, default=None), 3),
        generator_lag_ms_p99=_rounded(evidence.lag_ms_p99, 3),
        link_rate_error=_rounded(evidence.worst_rate_error, 4),
        links_saturated=None if evidence.rate_errors is None else len(evidence.rate_errors),
        lost_outside_queues=_rounded(evidence.share_lost_elsewhere, 5),
        try_link_rate_bps=evidence.link_rate_bps
        and slower_rate_bps(evidence.link_rate_bps, strain(evidence)),
    )


def strain(evidence: Evidence) -> float:
    """Returns the strain of the machine in a run: the largest ratio of a measure to its limit.

    Args:
        evidence: observations of the run.

    Returns:
        The strain, 0 or more; a run with strain above 1 is not valid.
    """
    return max((measure.value / measure.limit for measure in _measures(evidence)), default=0.0)


def slower_rate_bps(rate_bps: int, strained: float) -> int | None:
    """Returns the link rate at which the machine should keep up; None if it keeps up already.

    Args:
        rate_bps: the current rate.
        strained: the strain of the machine at that rate, as `strain` returns it.

    Returns:
        A round rate, at most half of the current one; None also if the current rate is the slowest.
    """
    if strained <= 1 or rate_bps <= MIN_RATE_BPS:
        return None
    return even_rate_bps(rate_bps * min(0.5, (AIM_STRAIN / strained) ** (1 / USUAL_POWER)))


def _measures(evidence: Evidence) -> Iterator[_Measure]:
    held, rms, mean = evidence.held, evidence.held_rms, evidence.held_mean
    if held is not None:
        yield _Measure(
            held.frame_times,
            MAX_HELD,
            f"{held.switch} held frames for {held.frame_times:.2f} frame times in the second from "
            f"{held.second:g} s; limit {MAX_HELD:g}",
        )
    if rms is not None:
        yield _Measure(
            rms.frame_times,
            MAX_HELD_RMS,
            f"{rms.switch} held many frames at a time, for {rms.frame_times:.2f} frame times (root mean "
            f"square) in the second from {rms.second:g} s; limit {MAX_HELD_RMS:g}",
        )
    if mean is not None:
        yield _Measure(
            mean,
            MAX_HELD_MEAN,
            f"switches held frames for {mean:.2f} frame times on average; limit {MAX_HELD_MEAN:g}",
        )
    lag_ms, packet_ms = evidence.lag_ms_p99, evidence.packet_ms
    if lag_ms is not None:
        late = f"1 % of packets left more than {lag_ms:.2f} ms late; one packet time is {packet_ms:.2f} ms"
        yield _Measure(lag_ms, packet_ms, late)
    if evidence.standstill is not None:
        gap_ms, max_ms, whose = evidence.standstill
        stood = f"{whose} stalled for {gap_ms:.0f} ms; limit {max_ms:.0f} ms; give a lower --link-rate"
        yield _Measure(gap_ms, max_ms, stood)
    if evidence.stolen:
        stolen = max(evidence.stolen)
        reason = f"hypervisor steal time reached {stolen:.0%} in one second; limit {MAX_STOLEN:.0%}"
        yield _Measure(stolen, MAX_STOLEN, reason)
    error = evidence.worst_rate_error
    if error is not None:
        yield _Measure(abs(error), MAX_RATE_ERROR, f"a saturated link carried {1 + error:.1%} of its rate")
    lost = evidence.share_lost_elsewhere
    if lost is not None:
        elsewhere = f"{lost:.1%} of the packets were lost outside the links' queues"
        yield _Measure(lost, MAX_LOST_ELSEWHERE, elsewhere)


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
