"""Timeline of a failover demonstration: failure, repair and plans, from probes, faults and reports."""

from __future__ import annotations

from collections.abc import Sequence

from controller.reports import Replanned
from experiments.events.headline import Headline
from experiments.failover.probes import Probes, milliseconds
from experiments.fault_injector import FaultSchedule
from experiments.planned_fabric import PlannedFabric
from experiments.results.failover import ControllerRestart, FailoverSummary, Phases
from experiments.results.parts.faults import replan_text
from experiments.spec.failover import FailoverOptions
from topology.faults import CONTROLLER
from traffic.metrics.measurements import Clock

# The sender may be late by so many probe intervals, or by so much of the longest silence if that is more.
_MAX_LAG_INTERVALS, _MAX_LAG_SHARE = 10, 0.5


class Course:
    """Timeline of a demonstration: failure, repair and plans, in seconds since the first probe."""

    def __init__(self, options: FailoverOptions, probes: Probes, faults: FaultSchedule, clock: Clock) -> None:
        self.probes = probes
        self._options = options
        self._started = faults.done
        self._replans = faults.replans(clock)
        self._ports_set_s = faults.ports_set(clock)
        self._faults = faults.record(clock)
        self._restarted = faults.restart(clock)
        broken = [entry for entry in self._started if entry.fault.component != CONTROLLER]
        self._fails = [entry for entry in broken if not entry.fault.restores]
        restores = [entry for entry in broken if entry.fault.restores]
        self._fail_s = self._fails[0].began_s if self._fails else options.fail_s
        self._restore_s = restores[0].began_s if restores else options.restore_s
        heard_s = probes.all_recovered_s(self._fail_s, self._restore_s)
        self._heard_s = heard_s if self._fails else None

    def summary(self, fabric: PlannedFabric, affected: int) -> FailoverSummary:
        """Returns the result, without the conditions of the measurement.

        Args:
            fabric: the fabric.
            affected: number of pairs of hosts that the failure affects.
        """
        failures = [(time_s, report) for time_s, report in self._replans if report.failed != "none"]
        converged_s = failures[0][0] - self._fail_s if failures and self._fails else None
        phases = self._phases()
        failure_end_s = min(self._restore_s, self.probes.end_s)
        fast, slow = self.probes.streams
        return FailoverSummary(
            name=fabric.options.name,
            params=dict(fabric.options.params),
            routing=fabric.options.routing,
            hosts=fabric.options.hosts,
            local_repair=fabric.options.local_repair,
            failed=tuple(entry.fault.component.name for entry in self._started if not entry.fault.restores),
            pairs_watched=len(fast.pairs),
            packets_sent=len(self.probes.sent_s),
            packets_lost=int((~self.probes.arrived).sum()),
            gap_ms=milliseconds(self.probes.longest_silence_s(self._fail_s, self._restore_s)),
            probe_interval_ms=fast.interval_ns / 1e6,
            all_pairs_interval_ms=slow.interval_ns / 1e6,
            repaired_by=repaired_by(
                self._heard_s,
                acted_s(failures, self._ports_set_s, self._fail_s),
                broken=bool(self._fails),
            ),
            repaired_ms=None if self._heard_s is None else milliseconds(self._heard_s - self._fail_s),
            controller_converged_ms=None if converged_s is None else milliseconds(converged_s),
            # Plans during the restoration are for what is still down: they cut off fewer.
            cut_off_pairs=max((report.cut_off_pairs for _, report in failures), default=0),
            # In the last half second of the failure: pairs that neither switches nor controller repaired.
            silent_pairs=self.probes.silent_pairs(failure_end_s - 0.5, failure_end_s),
            faults=self._faults,
            lost_at_restore=phases.restored.lost,
            phases=phases,
            pairs_affected=affected,
            controller_restart=self._controller_restart(),
        )

    def lag_doubts(self, gap_ms: float) -> list[str]:
        """Returns a reason to doubt the measured silences if probes left late during the failure.

        Args:
            gap_ms: longest silence of a watched pair during the failure.
        """
        lag_ms = milliseconds(self.probes.longest_lag_s(self._fail_s, self._restore_s))
        interval_ms = self.probes.streams[0].interval_ns / 1e6
        if lag_ms <= max(_MAX_LAG_INTERVALS * interval_ms, _MAX_LAG_SHARE * gap_ms):
            return []
        return [
            f"a probe left {lag_ms:.0f} ms late during the failure; the longest silence is {gap_ms:.0f} ms"
        ]

    def _controller_restart(self) -> ControllerRestart | None:
        """Returns the timing of the new controller's start; None if none was started."""
        restarts = [e.began_s for e in self._started if e.fault.component == CONTROLLER and e.fault.restores]
        if not restarts:
            return None
        began_s = restarts[-1]
        after = (None if time_s is None else milliseconds(time_s - began_s) for time_s in self._restarted)
        return ControllerRestart(milliseconds(began_s - self._fail_s), *after)

    def _phases(self) -> Phases:
        return Phases(
            before=self.probes.phase(0.0, self._fail_s),
            failed=self.probes.phase(self._fail_s, self._restore_s),
            restored=self.probes.phase(self._restore_s, self._options.end_s),
        )

    def events(self) -> tuple[tuple[float, str], ...]:
        """Returns all events as (seconds since the first probe, description), in order of time."""
        events = [(entry.began_s, str(entry.fault)) for entry in self._started]
        if self._heard_s is not None:
            events.append((self._heard_s, "all watched pairs heard again"))
        events += [(time_s, replan_text(report.failed, report.drained)) for time_s, report in self._replans]
        if self._controller_restart():
            words = ("the new controller listens", "the last switch has called it", "it is in charge")
            events += [(t, text) for t, text in zip(self._restarted, words, strict=True) if t is not None]
        return tuple(sorted(events))


def acted_s(
    failures: Sequence[tuple[float, Replanned]], ports_set_s: Sequence[float], fail_s: float
) -> float | None:
    """Returns the first time at which the controller may have helped; None if it did nothing.

    Args:
        failures: (time, report) of the controller's plans for the failure.
        ports_set_s: times at which the controller set ports down or up.
        fail_s: time of the failure.
    """
    times_s = [time_s - report.seconds + report.planning_s for time_s, report in failures]
    times_s += [time_s for time_s in ports_set_s if time_s > fail_s]
    return min(times_s, default=None)


def final_headline(summary: FailoverSummary) -> Headline:
    """Returns the headline of a failover that has ended, with at least one failure."""
    return Headline(
        summary.failed,
        lost=summary.phases.failed.lost,
        repaired_ms=summary.repaired_ms,
        repaired_by=summary.repaired_by,
        cut_off=summary.cut_off_pairs,
        back=True,
        right=bool(summary.restored) and summary.negative is None,
        trouble=summary.negative or "",
    )


def repaired_by(heard_s: float | None, acted_s: float | None, *, broken: bool) -> str:
    """Returns who repaired a failure: `switches`, `controller`, `nobody`, or `nothing was broken`.

    Args:
        heard_s: time at which all watched pairs delivered again; None if never.
        acted_s: first time at which the controller may have helped; None if it did nothing.
        broken: whether anything except the controller failed.
    """
    if not broken:
        return "nothing was broken"
    if heard_s is None:
        return "nobody"
    return "controller" if acted_s is not None and heard_s > acted_s else "switches"
