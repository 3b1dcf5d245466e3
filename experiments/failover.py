"""What a failure costs: steady probes over all pairs while something breaks, is repaired, and comes back.

Pairs whose minimal path crosses what fails are watched every millisecond, as many of them as the machine
carries, and all pairs now and then. Every probe that arrives is logged, so that what was lost, and for how
long a pair was silent, is known probe by probe.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from emulation.requirements import require_emulation
from emulation.subprocesses import marked_environment
from experiments.events.base import Notify
from experiments.events.outcomes import FailoverStarted, ProbesSent, ResultsNotWritten, ResultsWritten
from experiments.events.traffic import Interrupted
from experiments.failover_probes import Probes, milliseconds
from experiments.fault_injector import DoneFault, FaultPlayer
from experiments.live_fabric import LiveFabric, live_fabric
from experiments.measurement import checked_pairs
from experiments.results.failover_files import EVENT_COLUMNS, EVENTS, PROBE_COLUMNS, PROBES
from experiments.results.run_directory import MANIFEST, SUMMARY, RunDirectory, kept_directory
from experiments.results.summaries import manifest
from experiments.results.validity import cpu_stolen_s
from experiments.spec.fabric import FabricOptions
from experiments.traffic_jobs import make_job
from routing.replan.surviving_graph import crossing_pairs
from topology.base import Topology
from topology.errors import NegativeResult
from topology.failures import Failure, failure_of, link_failures
from topology.faults import CONTROLLER, Element, Fault, link_element
from topology.shortest_paths import connected_components
from traffic.engine.engine import TrafficInterrupted, run_traffic
from traffic.engine.jobs import Clock
from traffic.wire.layout import HEADER_BYTES
from traffic.workload.schedule import ProbeSchedule, ProbeStream

FAST_NS, SLOW_NS = 1_000_000, 100_000_000
# How many probes a second leave the machine enough time for its switches to answer a failure at once. Where
# that is too few, less pairs are watched and all pairs are probed less often, and the result tells.
PROBES_PER_S = 6_000
SLOW_SHARE = 1 / 3
# From how much stolen processor time on losses may be the machine's: on ER_5 runs lost probes in which 80 ms
# and 1,870 ms were, and none in which less was.
DISTURBED_FROM_MS = 50
_RUN_ID = 200


@dataclass(frozen=True)
class FailoverOptions:
    """What fails, and when.

    Attributes:
        elements: what fails; empty for the link that most minimal paths cross.
        kill_controller: whether the controller is killed just before, and starts again while all else is
            still broken.
        fail_s, restore_s, end_s: when, in seconds since the probes start.
    """

    elements: tuple[Element, ...] = ()
    kill_controller: bool = False
    fail_s: float = 2.0
    restore_s: float = 5.0
    end_s: float = 9.0

    def settings(self) -> dict[str, Any]:
        """Returns the same as plain data."""
        return {**vars(self), "elements": [element.name for element in self.elements]}

    def schedule(self, elements: tuple[Element, ...]) -> tuple[Fault, ...]:
        """Returns the faults in order of time."""
        faults = [Fault(self.fail_s, element) for element in elements]
        faults += [Fault(self.restore_s, element, restores=True) for element in elements]
        if self.kill_controller:
            # Gone before anything else is, so that it cannot help, and back before anything else: a switch
            # that returns without rules needs somebody to fill it.
            gone_s = self.fail_s - 0.5 if elements else self.fail_s
            back_s = self.fail_s + 0.8 if elements else self.restore_s
            faults += [Fault(gone_s, CONTROLLER), Fault(back_s, CONTROLLER, restores=True)]
        return tuple(sorted(faults, key=lambda fault: fault.time_s))


def run_failover(
    fabric_options: FabricOptions, options: FailoverOptions, out: Path, notify: Notify
) -> dict[str, Any]:
    """Runs the demonstration and returns its summary, which is in `out` by then, with the series.

    The summary's `negative` tells in words what should not have been, or is None.

    Raises:
        MachineError: the machine lacks something.
        NegativeResult: a proof failed, or not all pairs reached each other at the start.
        KeyboardInterrupt: Ctrl-C; what was measured until then is in `out`.
    """
    require_emulation()
    with kept_directory(out) as directory, live_fabric(fabric_options, notify) as fabric:
        checked_pairs(fabric, notify)
        observed = observe_failure(fabric, options, notify)
        directory.write_json(MANIFEST, manifest(fabric, options.settings(), 0))
        _write(directory, observed, notify)
    notify(ResultsWritten(out, interrupted=observed.summary["interrupted"]))
    if observed.summary["interrupted"]:
        raise KeyboardInterrupt
    return observed.summary


@dataclass(frozen=True)
class Observation:
    """What the probes saw.

    Attributes:
        summary: the result, with the keys of the outside contract and more.
        series: rows of PROBE_COLUMNS.
        events: (seconds since the probes' start, what happened).
    """

    summary: dict[str, Any]
    series: list[tuple[Any, ...]]
    events: list[tuple[float, str]]


def observe_failure(
    fabric: LiveFabric, options: FailoverOptions, notify: Notify, *, check: bool = True
) -> Observation:
    """Has something fail and come back on a fabric, under probes, and returns what they saw.

    With `check`, all pairs are checked at the end: by the paths that they had before.
    """
    topology = fabric.options.topology
    elements = options.elements
    if not elements and not options.kill_controller:
        elements = (busiest_link(topology),)
    failure = failure_of(topology, elements)
    watched = failure if failure.any_failed else failure_of(topology, [busiest_link(topology)])
    schedule, affected = _probe_schedule(fabric, watched, failure, options)
    names = ", ".join(element.name for element in elements) or "nothing"
    if options.kill_controller:
        names += ", and the controller" if elements else " but the controller"
    notify(FailoverStarted(options.end_s, names, options.fail_s))
    window_ns = (0, schedule.end_ns)
    flows = len(schedule.streams)
    job = make_job(fabric, schedule, HEADER_BYTES, _RUN_ID, flows, window_ns, keep_log=True)
    stolen_s = cpu_stolen_s()
    with FaultPlayer(fabric, options.schedule(elements), notify) as player:
        try:
            result = run_traffic(
                job,
                marked_environment(),
                fabric.network.run_dir,
                lambda live: notify(ProbesSent(max(0.0, live.seconds), options.end_s)),
                player.start,
            )
        except TrafficInterrupted as interruption:
            notify(Interrupted())
            result = interruption.result
        stolen_s = cpu_stolen_s() - stolen_s
        player.end()
        troubles = player.mended()
    if check and not troubles:
        try:
            checked_pairs(fabric, notify)
        except NegativeResult as error:
            troubles.append(str(error))
    observation = _observation(fabric, options, Probes(schedule, result), player, result.clock)
    summary = {
        **observation.summary,
        "pairs_affected": affected,
        "cpu_stolen_ms": round(1e3 * stolen_s),
        "generator_lag_ms_p99": result.sent.lag.quantile_ms(0.99),
        "interrupted": result.interrupted,
        "restored": not troubles if check else None,
    }
    summary["negative"] = _negative(summary, troubles)
    return replace(observation, summary=summary)


def _negative(summary: dict[str, Any], troubles: list[str]) -> str | None:
    """Returns in words what should not have been, if anything."""
    if troubles:
        return troubles[0]
    if summary["silent_pairs"]:
        pairs = summary["silent_pairs"]
        return f"{pairs} pairs that are not cut off were silent until the failure was mended"
    lost = summary["lost_at_restore"] if summary["pairs_affected"] else summary["packets_lost"]
    if lost:
        text = f"{lost} probes were lost when nothing was broken any more, or only the controller"
        stolen_ms = summary["cpu_stolen_ms"]
        if stolen_ms >= DISTURBED_FROM_MS:
            text += f"; this virtual machine did not get {stolen_ms} ms of its processors' time meanwhile"
        return text
    return None


def busiest_link(topology: Topology) -> Element:
    """Returns the link that most minimal paths cross, the first of these."""
    links = topology.link_list
    counts = [int(crossing_pairs(topology, failure).sum()) for failure in link_failures(topology)]
    return link_element(links[int(np.argmax(counts))])


def _probe_schedule(
    fabric: LiveFabric, watched: Failure, failure: Failure, options: FailoverOptions
) -> tuple[ProbeSchedule, int]:
    """Returns the probes: of some pairs whose paths cross what is watched, and of all that do not fail.

    Also returns how many affected pairs there are.
    """
    routers = np.array([host.router for host in fabric.hosts])
    count = len(routers)
    crossing = crossing_pairs(fabric.options.topology, watched)[routers[:, None], routers]
    dead = np.isin(routers, list(failure.failed_routers))
    part = np.array(connected_components(fabric.options.topology, failure))[routers]
    # What a failure cuts off is silent whoever repairs it.
    alive = ~np.eye(count, dtype=bool) & ~dead[:, None] & ~dead & (part[:, None] == part)
    affected, slow = np.flatnonzero((crossing & alive).ravel()), np.flatnonzero(alive.ravel())
    slow_ns = max(SLOW_NS, round(len(slow) / (SLOW_SHARE * PROBES_PER_S) * 1e9))
    fitting = int((PROBES_PER_S - len(slow) / slow_ns * 1e9) * FAST_NS / 1e9)
    # Evenly from all of them, so that both directions and all sources have their turn.
    chosen = np.unique(np.linspace(0, len(affected) - 1, min(fitting, len(affected))).round().astype(int))
    streams = (
        ProbeStream(tuple(affected[chosen].tolist()), FAST_NS),
        ProbeStream(tuple(slow.tolist()), slow_ns),
    )
    affected_pairs = len(affected) if failure.any_failed else 0
    return ProbeSchedule(count, streams, round(options.end_s * 1e9)), affected_pairs


def _observation(
    fabric: LiveFabric, options: FailoverOptions, probes: Probes, player: FaultPlayer, clock: Clock
) -> Observation:
    done, replans = player.done, player.replans(clock)
    fails = [d for d in done if not d.fault.restores and d.fault.element != CONTROLLER]
    restores = [d for d in done if d.fault.restores and d.fault.element != CONTROLLER]
    fail_s = fails[0].began_s if fails else options.fail_s
    restore_s = restores[0].began_s if restores else options.restore_s
    heard_s = probes.all_heard_again_s(fail_s, restore_s) if fails else None
    failures = [(time_s, report) for time_s, report in replans if report.failed != "none"]
    converged_s = next((time_s for time_s, _ in failures), None)
    # From when on the controller may have had a hand in it: it sets ports down before it plans.
    acted = [time_s - report.seconds + report.planning_s for time_s, report in failures]
    acted += [time_s for time_s in player.ports_set(clock) if time_s > fail_s]
    phases = {
        "before": (0.0, fail_s),
        "failed": (fail_s, restore_s),
        "restored": (restore_s, options.end_s),
    }
    table = {name: probes.phase(*times) for name, times in phases.items()}
    fast, slow = probes.streams
    summary = {
        "name": fabric.options.name,
        "params": dict(fabric.options.params),
        "routing": fabric.options.routing,
        "hosts": fabric.options.hosts,
        "local_repair": fabric.options.local_repair,
        "failed": [d.fault.element.name for d in done if not d.fault.restores],
        "pairs_watched": len(fast.pairs),
        "packets_sent": len(probes.sent_s),
        "packets_lost": int((~probes.arrived).sum()),
        "gap_ms": milliseconds(probes.longest_silence_s(fail_s, restore_s)),
        "probe_interval_ms": fast.interval_ns / 1e6,
        "all_pairs_interval_ms": slow.interval_ns / 1e6,
        "repaired_by": _repaired_by(heard_s, min(acted, default=None), fails),
        "repaired_ms": None if heard_s is None else milliseconds(heard_s - fail_s),
        "controller_converged_ms": None
        if converged_s is None or not fails
        else milliseconds(converged_s - fail_s),
        "cut_off_pairs": failures[-1][1].cut_off_pairs if failures else 0,
        # At the very end of the failure: neither switches nor controller had helped.
        "silent_pairs": probes.silent_pairs(restore_s - 0.5, restore_s),
        "faults": player.told(clock),
        "lost_at_restore": table["restored"]["lost"],
        "phases": table,
    }
    events = [(d.began_s, str(d.fault)) for d in done]
    if heard_s is not None:
        events.append((heard_s, "all watched pairs heard again"))
    events += [(time_s, _replanned(report.failed)) for time_s, report in replans]
    return Observation(summary, list(probes.series(options.end_s)), sorted(events))


def _replanned(failed: str) -> str:
    return (
        "the controller's first plan is back"
        if failed == "none"
        else f"the controller's plan without {failed} is in place"
    )


def _repaired_by(heard_s: float | None, acted_s: float | None, fails: list[DoneFault]) -> str:
    if not fails:
        return "nothing was broken"
    if heard_s is None:
        return "nobody"
    if acted_s is not None and heard_s > acted_s:
        return "controller"
    return "switches"


def _write(directory: RunDirectory, observed: Observation, notify: Notify) -> None:
    try:
        directory.write_json(SUMMARY, observed.summary)
        directory.write_csv(PROBES, PROBE_COLUMNS, observed.series)
        directory.write_csv(
            EVENTS, EVENT_COLUMNS, [(round(time_s, 4), what) for time_s, what in observed.events]
        )
    except OSError:
        notify(ResultsNotWritten(json.dumps(observed.summary)))
        raise
