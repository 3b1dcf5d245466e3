"""Course of a failover while its probes are sent, reported as it happens."""

from __future__ import annotations

from collections.abc import Sequence

from controller.reports import Replanned
from experiments.events.base import OnEvent
from experiments.events.headline import Headline
from experiments.events.notices import Notice
from experiments.failover.course import acted_s, repaired_by
from experiments.fault_injector import FaultSchedule, StartedFault
from experiments.results.parts.faults import replan_text
from topology.faults import CONTROLLER
from traffic.engine.telemetry import TrafficSnapshot
from traffic.metrics.measurements import Clock
from traffic.metrics.silence import Silence

_SILENT_S = 0.1  # a watched pair, probed every millisecond, that is silent this long has no path
_SETTLED = 3  # reports without a silence, a quarter of a second apart, after which the losses are counted
_STRAY = 5  # packets that others may have overtaken on shorter paths at any time
_LATE_S = 0.05  # between a fault and the last packet that arrives in spite of it


class LiveCourse:
    """Reports a failover's repair and the controller's plans as they happen."""

    def __init__(self, faults: FaultSchedule, on_event: OnEvent) -> None:
        """Prepares to report.

        Args:
            faults: the schedule of the failover's faults.
            on_event: called with each event.
        """
        self._faults, self._on_event = faults, on_event
        self._clock: Clock | None = None
        self._plans = 0
        self._reported = ""  # level of the last headline

    def start(self, clock: Clock) -> None:
        """Notes the start of the probes and starts the faults."""
        self._clock = clock
        self._faults.start(clock)

    def update(self, live: TrafficSnapshot) -> None:
        """Reports what has happened, given the probes at this moment."""
        if self._clock is None:
            return
        replans = self._faults.replans(self._clock)
        for _, report in replans[self._plans :]:
            self._on_event(Notice("replanned", text=replan_text(report.failed, report.drained)))
        self._plans = len(replans)
        broken = [entry for entry in self._faults.done if entry.fault.component != CONTROLLER]
        if broken and not any(entry.fault.restores for entry in broken) and self._reported != "repaired":
            failed = tuple(entry.fault.component.name for entry in self._faults.done)
            self._report(failed, broken[0], replans, live.silences)

    def _report(
        self,
        failed: tuple[str, ...],
        first: StartedFault,
        replans: Sequence[tuple[float, Replanned]],
        silences: Sequence[Silence],
    ) -> None:
        assert self._clock
        fail_s, cut_s = first.began_s, self._clock.monotonic_ns / 1e9 + first.began_s
        done_s = cut_s + first.seconds + _LATE_S
        since = [one for one in silences if one.time_s > done_s]
        calm = [one for one in since[-_SETTLED:] if one.open_watched_s < _SILENT_S]
        if calm and calm[-1].missing > calm[0].missing + _STRAY:  # packets of other pairs are still lost
            calm = []
        if not since or (len(calm) < _SETTLED and since[-1].open_watched_s < _SILENT_S):
            return
        before = [one.missing for one in silences if one.time_s <= cut_s]
        lost = max(0, min(one.missing for one in since[-_SETTLED:]) - min(before[-_SETTLED:], default=0))
        if len(calm) < _SETTLED:
            headline = Headline(failed, lost=lost)
        else:
            heard_s = _heard_s(silences, cut_s, done_s)
            failures = [one for one in replans if one[1].failed != "none"]
            acted = acted_s(failures, self._faults.ports_set(self._clock), fail_s)
            headline = Headline(
                failed,
                lost=lost,
                repaired_ms=max(0.0, heard_s - cut_s) * 1e3,
                repaired_by=repaired_by(heard_s - cut_s + fail_s, acted, broken=True),
                cut_off=failures[-1][1].cut_off_pairs if failures else 0,
            )
        if headline.level != self._reported:
            self._reported = headline.level
            self._on_event(headline)


def _heard_s(silences: Sequence[Silence], cut_s: float, done_s: float) -> float:
    """Returns the end of the last outage that began with a failure; `cut_s` if there was none.

    Args:
        silences: reports of silences.
        cut_s: start of the failure.
        done_s: time by which all components had failed.
    """
    outages = [outage for one in silences for outage in one.outages]
    return max((end_s for start_s, end_s in outages if start_s < done_s and end_s > cut_s), default=cut_s)
