"""Incidents: probes around a change of the fabric, sent until all probed pairs deliver again."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.failover.course import acted_s, repaired_by
from experiments.live_fabric import LiveFabric
from experiments.observation.model import IncidentState, TrafficSilence
from experiments.observation.pair_probes import BEFORE_S, PairProbes, fitting_pairs, probe_interval_s
from experiments.observation.timeline import Timeline
from experiments.session.interfaces import cut_off_hosts
from routing.replan.surviving_graph import crossing_pairs
from topology.addressing import Host
from topology.errors import PolarLabError
from topology.failures import Failure, failure_of
from topology.faults import Component, ComponentKind
from topology.shortest_paths import connected_components
from traffic.engine.sockets import sleep_precisely
from traffic.metrics.silence import Silence

MAX_PAIRS, MIN_PAIRS = 16, 2
_STEP_S = 0.002
_SETTLED_S = 0.1  # time after a change until lost probes are noticed
_QUIET_S, _LONGEST_S = 1.0, 20.0
_DECIDED_S = 0.9  # below _QUIET_S, so that it is known who repaired before the probes end
_FIRST_RUN = 30_000  # other probes of a fabric have smaller ids
_runs = itertools.count(_FIRST_RUN)


class Incident:
    """The probes around one change, in their own thread.

    Attributes:
        state: counts so far.
        changed_s: time of the change on time.monotonic's clock; None before it.
    """

    def __init__(
        self,
        fabric: LiveFabric,
        number: int,
        what: str,
        pairs: Sequence[tuple[Host, Host]],
        on_progress: Callable[[Incident], object],
    ) -> None:
        """Prepares the probes.

        Args:
            fabric: the fabric.
            number: number of the incident.
            what: the change, in words.
            pairs: the pairs of hosts to probe.
            on_progress: called in the probes' thread, once when all pairs deliver again and once at the end.
        """
        self._interval_s = probe_interval_s(len(pairs), fabric.options.links.rate_bps)
        self.state = IncidentState(number, what, len(pairs), round(self._interval_s * 1e3, 1))
        self.changed_s: float | None = None
        self._finished_s: float | None = None
        self._heard_s: float | None = None
        self._pairs, self._on_progress = list(pairs), on_progress
        self._fabric, self._run_id = fabric, next(_runs)
        self._updating = threading.Lock()
        self._stopping = threading.Event()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Starts to probe and returns when the first probes are on their way."""
        self._thread.start()
        self._started.wait(5.0)
        if self._pairs:
            time.sleep(max(BEFORE_S, 3 * self._interval_s))

    def change(self) -> None:
        """Records that the change starts now."""
        self.changed_s = time.monotonic()

    def finish(self) -> None:
        """Records that the change is complete."""
        self._finished_s = time.monotonic()

    def note_plan(self, monotonic_s: float) -> None:
        """Records that all switches have installed the controller's plan for the change.

        Args:
            monotonic_s: time of the last installation on time.monotonic's clock.
        """
        if self.changed_s is not None and self.state.planned_ms is None:
            self._update(planned_ms=round((monotonic_s - self.changed_s) * 1e3, 1))

    def note_traffic(self, traffic: TrafficSilence | None) -> None:
        """Records the background traffic since the change; None changes nothing."""
        if traffic is not None:
            self._update(traffic=traffic)

    def stop(self) -> None:
        """Ends the probes."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            if self._pairs:
                self._probe()
        except (OSError, PolarLabError):  # a host or the whole fabric has ended
            pass
        finally:
            self._started.set()
            self._update(running=False)
            self._on_progress(self)

    def _probe(self) -> None:
        sleep_precisely()
        probes = PairProbes(self._fabric, self._pairs, self._run_id, self._interval_s)
        try:
            due_s = last_trouble_s = time.monotonic()
            self._started.set()
            while not self._stopping.is_set():
                now_s = time.monotonic()
                if now_s >= due_s:
                    probes.send(now_s)
                    due_s = max(due_s + self._interval_s, now_s)
                probes.receive()
                self._note(probes, now_s)
                if self._finished_s is None or probes.silent(now_s):
                    last_trouble_s = now_s
                began_s = self._finished_s or now_s
                if now_s > max(last_trouble_s, began_s) + _QUIET_S or now_s > began_s + _LONGEST_S:
                    return
                time.sleep(_STEP_S)
        finally:
            probes.close()

    def _note(self, probes: PairProbes, now_s: float) -> None:
        """Updates the counts, and reports the first time that all pairs deliver again."""
        lost = probes.lost(now_s)
        changes: dict[str, Any] = {
            "sent": probes.sent,
            "lost": lost,
            "silence_ms": round(probes.longest_silence_s(now_s, self.changed_s) * 1e3, 1),
        }
        heard_s = None
        if self.changed_s and self._finished_s and now_s > self._finished_s + _SETTLED_S:
            heard_s = probes.recovered_s(self.changed_s, now_s)
        if self._heard_s is None and self.changed_s and heard_s is not None:
            self._heard_s = heard_s
            changes["repaired_ms"] = round(max(0.0, heard_s - self.changed_s) * 1e3, 1)
        self._update(**changes)
        if self._heard_s is not None and self.state.repaired_by is None:
            self.decide(self._heard_s, now_s)

    def decide(self, heard_s: float, now_s: float) -> None:
        """Determines who repaired the fabric, unless the controller may still report its plan.

        Args:
            heard_s: time at which all pairs delivered again, on time.monotonic's clock.
            now_s: current time on the same clock.
        """
        acted = self._controller_acted_s()
        controller, broken = self._fabric.controller, self.state.lost > 0
        idle = controller.stopped or not controller.running
        if broken and acted is None and not idle and now_s < heard_s + _DECIDED_S:
            return
        by = repaired_by(heard_s, acted, broken=broken)
        fails = self.state.what.startswith("fail")
        if by == "switches" and fails and not self._fabric.options.local_repair:
            by = "controller"  # no switch can reroute alone: the controller's report has not come yet
        self._update(repaired_by=by)
        self._on_progress(self)

    def _controller_acted_s(self) -> float | None:
        """Returns when the controller may first have helped, or None; records the controller's plan."""
        controller, changed_s = self._fabric.controller, self.changed_s or 0.0
        with contextlib.suppress(PolarLabError):  # the controller's last report is a fatal error
            controller.catch_up()
        plans = [(plan.monotonic_s, plan) for plan in controller.replans if plan.monotonic_s > changed_s]
        for planned_s, _ in plans[:1]:
            self.note_plan(planned_s)
        return acted_s(plans, [one.monotonic_s for one in controller.ports_set], changed_s)

    def _update(self, **changes: Any) -> None:
        """Updates the state; thread-safe."""
        with self._updating:
            self.state = replace(self.state, **changes)


def affected_pairs(
    fabric: LiveFabric, components: Sequence[Component], active_failures: Sequence[Component] = ()
) -> list[tuple[Host, Host]]:
    """Returns up to 16 pairs of hosts that stay connected and whose minimal paths cross the given components.

    Args:
        fabric: the fabric.
        components: the components that are to fail or to be restored.
        active_failures: the components that have already failed.
    """
    topology, hosts = fabric.options.topology, fabric.hosts
    chosen = _failure(fabric, components)
    if not chosen.any_failed:  # for the controller or the link of a host, any pair is suitable
        pairs = [(one, two) for one in hosts for two in hosts if one.router != two.router]
        return _spread(pairs, fabric)
    routers = np.array([host.router for host in hosts])
    failure = _failure(fabric, [*components, *active_failures])
    part = np.array(connected_components(topology, failure))
    dead = np.isin(np.arange(topology.routers), list(failure.failed_routers))
    crossing = crossing_pairs(topology, chosen)[routers[:, None], routers]
    connected = part[routers][:, None] == part[routers]
    alive = ~dead[routers][:, None] & ~dead[routers]
    without = cut_off_hosts(hosts, active_failures)
    found = np.argwhere(crossing & connected & alive).tolist()
    pairs = [(hosts[a], hosts[b]) for a, b in found]
    return _spread([pair for pair in pairs if without.isdisjoint(pair)], fabric)


def _failure(fabric: LiveFabric, components: Sequence[Component]) -> Failure:
    kept = [one for one in components if one.kind is not ComponentKind.CONTROLLER and one.host is None]
    return failure_of(fabric.options.topology, kept)


def _spread(pairs: list[tuple[Host, Host]], fabric: LiveFabric) -> list[tuple[Host, Host]]:
    """Returns up to 16 pairs, evenly spread over all; fewer on slow links."""
    most = min(max(MIN_PAIRS, fitting_pairs(fabric.options.links.rate_bps)), MAX_PAIRS, len(pairs))
    places = np.unique(np.linspace(0, len(pairs) - 1, most).round().astype(int))
    return [pairs[place] for place in places.tolist()]


class IncidentCourses:
    """Adds events of incidents to a timeline: the repair with its losses, and later changes of the losses."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._reported: tuple[int, str] | None = None  # number and losses of the last incident

    def tell(self, incident: Incident) -> None:
        """Adds the event that all pairs of an incident deliver again, or that its probes have ended."""
        state = incident.state
        if not state.running:
            self._report_end(state)
        elif (
            state.repaired_by is not None and state.repaired_ms is not None and incident.changed_s is not None
        ):
            losses = _losses(state)
            text = f"none of the {state.pairs} probed pairs lost a packet"
            if state.lost:
                text = (
                    f"all {state.pairs} probed pairs deliver again, repaired by the {state.repaired_by}: "
                    f"{losses}"
                )
            at_s = incident.changed_s + state.repaired_ms / 1e3
            self._timeline.add("repair", text, incident=state.number, monotonic_s=at_s)
            self._reported = state.number, losses if state.lost else ""

    def _report_end(self, state: IncidentState) -> None:
        if state.lost and state.repaired_ms is None:
            text = f"probed pairs stay silent: {state.lost} of {state.sent} probes lost"
            self._timeline.add("warning", text, incident=state.number)
        elif state.lost and self._reported != (state.number, _losses(state)):
            text = f"by the end of the probes: {_losses(state)}"
            self._timeline.add("repair", text, incident=state.number)
        if traffic := state.traffic:
            silence = (
                f"the traffic's longest silence since then: {traffic.silence_ms:g} ms, {traffic.pair} "
                f"(before: {traffic.before_ms:g} ms); "
            )
            text = (
                ("the traffic since then: " if traffic.seldom else silence)
                + ("still ongoing; at least " if traffic.ongoing else "")
                + f"{traffic.lost} of its packets lost"
            )
            self._timeline.add("traffic", text, incident=state.number)


def _losses(state: IncidentState) -> str:
    return f"longest silence {state.silence_ms:g} ms, {state.lost} probes lost"


_UNUSUAL = 2  # a silence is unusual if it is longer than this many times the longest one before the change
_BEFORE_S = 8.0  # seconds before the change in which silences are compared
_SELDOM_S = 1.0  # a pair with longer silences even without a failure sends too seldom to show one


def traffic_silence(
    silences: Sequence[Silence], changed_s: float, hosts: Sequence[str]
) -> TrafficSilence | None:
    """Returns the longest silence of traffic since a change; None if there is no report since then.

    Args:
        silences: reports of the traffic, the oldest first.
        changed_s: time of the change on time.monotonic's clock.
        hosts: names of all hosts, in order.
    """
    since = [report for report in silences if report.time_s > changed_s]
    if not since:
        return None
    before = [report for report in silences if report.time_s <= changed_s]
    ended = [(one.longest_s, one.pair) for one in since if one.ended_s > changed_s]
    open_silence = since[-1].open_s, since[-1].open_pair
    longest_s, pair = max([*ended, open_silence])
    early = (one.longest_s for one in silences if changed_s - _BEFORE_S < one.ended_s <= changed_s)
    before_s = max(early, default=0.0)
    source, destination = divmod(pair, len(hosts))
    return TrafficSilence(
        silence_ms=round(longest_s * 1e3, 1),
        pair=f"{hosts[source]} to {hosts[destination]}" if pair >= 0 else "",
        before_ms=round(before_s * 1e3, 1),
        lost=max(0, since[-1].missing - (before[-1].missing if before else 0)),
        # If a pair sends rarely, a silence as long as earlier ones is not the effect of a failure.
        ongoing=(longest_s, pair) == open_silence and longest_s > _UNUSUAL * before_s > 0,
        seldom=before_s > _SELDOM_S and longest_s <= _UNUSUAL * before_s,
    )
