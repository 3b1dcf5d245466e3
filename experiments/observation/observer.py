"""Observer of a running fabric: reports its state a few times a second, and events as they happen."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType

from controller.reports import Proven, Replanned
from experiments.events.base import Event, Ongoing
from experiments.events.marks import ProcessEnded
from experiments.live_fabric import LiveFabric
from experiments.observation.around import WaysAround
from experiments.observation.experiment import ExperimentProgress
from experiments.observation.failure_story import FailureStory
from experiments.observation.incidents import Incident, IncidentCourses, affected_pairs, traffic_silence
from experiments.observation.link_readings import LinkReadings
from experiments.observation.model import FabricState, IncidentState, Proof, Validity
from experiments.observation.port_states import PortStates
from experiments.observation.timeline import Timeline
from experiments.results.link_loads import directed_links
from experiments.results.parts.faults import replan_text
from experiments.results.text import rate_remedy
from experiments.session.background import TrafficStatus
from experiments.session.fabric_session import FabricSession
from experiments.spec.options import default_frame_bytes
from experiments.validity.held_monitor import HeldMonitor
from experiments.validity.judgement import MAX_HELD, MAX_HELD_RMS, Evidence, slower_rate_bps, strain
from experiments.validity.samples import HeldLately
from topology.addressing import switch_name
from topology.errors import PolarLabError
from topology.faults import Component

# Seconds between two states: with a viewer, without one, and during an incident.
WATCHED_S, UNWATCHED_S, INCIDENT_S = 0.5, 1.0, 0.2
_JUDGED_AFTER_S = 2.0  # time from the start of traffic to its first judgement


class Observer:
    """Observer of one fabric; a context manager with a thread that reads and reports states.

    Attributes:
        timeline: all events.
        watched: whether there is a viewer; set by the owner.
        state: the latest state; None before the first.
    """

    def __init__(
        self,
        fabric: LiveFabric,
        session: FabricSession | None,
        timeline: Timeline,
        on_state: Callable[[FabricState], object],
    ) -> None:
        """Prepares to observe.

        Args:
            fabric: the fabric.
            session: the session on it; None if an experiment has exclusive use of the fabric.
            timeline: receives the events.
            on_state: called with every state, in the observer's thread.
        """
        self.timeline, self.watched = timeline, False
        self.state: FabricState | None = None
        self._fabric, self._session, self._on_state = fabric, session, on_state
        self._names = {
            (one.source + 1, one.port): one.name for one in directed_links(fabric.options.topology)
        }
        self._places = {place: number for number, place in enumerate(self._names)}
        topology = fabric.options.topology
        self._host_ports = {
            (host.router + 1, topology.host_port(host.router, host.index)): host.name for host in fabric.hosts
        }
        self._readings = LinkReadings(fabric)
        self._ports = PortStates(fabric.network, self._port_changed)
        self._incident: Incident | None = None
        self._incidents = 0
        self._courses = IncidentCourses(timeline)
        self._plans_seen = len(fabric.controller.replans)
        self._controller, self._whole = "running", True
        self._routing = fabric.controller.routing
        self._experiment = ExperimentProgress()
        self._failures = FailureStory(fabric.options.topology)
        self._around = WaysAround(fabric)
        self._held: HeldMonitor | None = None
        self._held_since_s = 0.0
        self._opened = ExitStack()
        self._wake, self._ending = threading.Event(), False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Observer:
        self._opened.enter_context(self._readings)
        self._opened.enter_context(self._ports)
        if self._session:
            self._session.turns.on_measurement.append(self._end_incident)
        self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._ending = True
        self._wake.set()
        self._thread.join()
        self._end_incident()
        if self._held:
            self._held.__exit__()
        self._opened.close()

    # ---- events ----

    def on_event(self, event: Event) -> None:
        """Processes an event of the fabric or of the experiment that runs on it."""
        self._experiment.take(event)
        self._failures.take(event)
        if not isinstance(event, Ongoing) and event.key != "replanned":  # `_report_plan` says more
            self.timeline.add("fabric", _text_of(event))

    def report_now(self) -> None:
        """Makes the observer report the next state at once."""
        self._wake.set()

    @contextlib.contextmanager
    def incident(
        self, what: str, components: Sequence[Component], active_failures: Sequence[Component]
    ) -> Iterator[None]:
        """Probes the pairs that a change affects, from before the `with` block until all pairs deliver again.

        Args:
            what: the change that the block makes, in words.
            components: the components that it changes.
            active_failures: the components that have already failed.
        """
        self._end_incident()
        self._incidents += 1
        pairs = affected_pairs(self._fabric, components, active_failures)
        incident = self._incident = Incident(
            self._fabric, self._incidents, what, pairs, self._report_incident
        )
        incident.start()
        incident.change()
        self.timeline.add("action", what, incident=incident.state.number)
        if what.startswith("fail"):
            self._failures.begin([one.name for one in components])
        try:
            yield
        except BaseException:
            incident.stop()
            raise
        finally:
            incident.finish()
            self._wake.set()

    def _end_incident(self) -> None:
        """Ends the probes around the latest change."""
        if self._incident:
            self._incident.stop()

    def lately(self, place: int) -> list[tuple[float, float, int, int]]:
        """Returns the last minute of the queue with number `place`; see `LinkReadings.lately`."""
        return self._readings.lately(place)

    @property
    def links(self) -> int:
        """Number of link directions. Their queues have the lowest numbers, before those of ports to hosts."""
        return self._readings.links

    def _port_changed(self, switch: int, port: int, up: bool, time_s: float) -> None:
        own, place = switch_name(switch - 1), (switch, port)
        link = self._names.get(place) or f"{own}-{self._host_ports.get(place)}"
        incident = self._incident.state if self._incident else None
        self.timeline.add(
            "port",
            f"port {port} of {own} ({link}) is {'up again' if up else 'down'}",
            incident=incident.number if incident and incident.running else None,
            monotonic_s=time_s,
        )
        self._wake.set()

    def _incident_state(self) -> IncidentState | None:
        """Returns the latest incident, with the background traffic since its change."""
        if self._incident is None:
            return None
        if self._incident.state.running:
            self._note_traffic(self._incident)
        return self._incident.state

    def _note_traffic(self, incident: Incident) -> None:
        silences = self._session.traffic_silences() if self._session else ()
        if incident.changed_s is not None:
            names = [host.name for host in self._fabric.hosts]
            incident.note_traffic(traffic_silence(silences, incident.changed_s, names))

    def _report_incident(self, incident: Incident) -> None:
        """Reports that all pairs of an incident deliver again, or the outcome of its probes."""
        self._note_traffic(incident)
        self._courses.tell(incident)
        self._wake.set()

    # ---- states ----

    def _run(self) -> None:
        number = 0
        while not self._ending:
            self._wake.clear()
            number += 1
            with contextlib.suppress(PolarLabError, OSError):  # the fabric is being taken down
                self._check_controller()
                state = self._observed(number)
                self._check_recovery(state)
                self.state = self._with_headline(state)
                self._on_state(self.state)
            running = self._incident is not None and self._incident.state.running
            self._wake.wait(INCIDENT_S if running else WATCHED_S if self.watched else UNWATCHED_S)

    def _observed(self, number: int) -> FabricState:
        # Recent loads are used again: a state that follows an event must not wait for new readings.
        latest = self._readings.latest
        fresh = latest is not None and time.monotonic() < latest.time_s + INCIDENT_S
        reading = latest if latest is not None and fresh else self._readings.read()
        links, controller = self._readings.links, self._fabric.controller
        down = self._ports.down()
        dropped = self._readings.dropped_since_begin(reading)
        traffic = self._traffic()
        state = FabricState(
            number=number,
            time_s=round(self.timeline.now_s, 3),
            load=tuple(reading.load[:links].round(4).tolist()),
            waiting=tuple(reading.waiting[:links].tolist()),
            dropped=tuple(dropped[:links].tolist()),
            down=tuple(sorted(self._places[place] for place in down if place in self._places)),
            host_links_down=tuple(
                sorted(self._host_ports[place] for place in down if place in self._host_ports)
            ),
            controller=self._controller,
            planned_failure=controller.planned_failure,
            replans=len(controller.replans),
            groups_modified=controller.groups_modified,
            detoured=controller.detoured if self._fabric.occupancy is not None else None,
            routing=controller.routing,
            traffic=traffic,
            collective=self._experiment.collective(),
            validity=self._validity(traffic),
            incident=self._incident_state(),
            entries=len(self.timeline),
        )
        if self._session:
            failed = tuple(component.name for component in self._session.active_failures())
            drained = tuple(component.name for component in self._session.drained())
            state = replace(state, failed=failed, drained=drained)
        return state

    def _with_headline(self, state: FabricState) -> FabricState:
        """Returns a state with the headline of its failures and the ways around them."""
        if self._session:
            self._failures.observe(state.failed, state.incident, whole=self._whole)
        text, level = self._failures.line
        failed = self._failures.failed
        settled = level != "bad" and self.watched  # not while switches are busy with the failure
        around = self._around.latest(failed if settled else (), state.planned_failure)
        return replace(
            state, failed=failed, headline=text, headline_level=level, around=around if failed else ()
        )

    def _check_recovery(self, state: FabricState) -> None:
        """Reports, only once, that everything works again with the plan for the whole fabric."""
        broken = state.down or state.host_links_down or state.failed or state.controller != "running"
        probing = state.incident is not None and state.incident.running and state.incident.repaired_ms is None
        planned = state.planned_failure == self._fabric.controller.planned_drain == "none"
        whole = not broken and not probing and planned and not state.drained
        if whole and not self._whole:
            text = "fully recovered: all components are up and the initial plan is installed"
            self.timeline.add("repair", text)
        self._whole = whole

    def _check_controller(self) -> None:
        """Reports the controller's new plans, and changes of its state."""
        controller = self._fabric.controller
        with contextlib.suppress(PolarLabError):  # the controller's last report is a fatal error
            controller.catch_up()
        running = "running" if controller.running else "killed" if controller.stopped else "ended"
        if running != self._controller:
            self._controller = running
            self.timeline.add(
                "controller",
                f"the controller is {running}"
                if running != "ended"
                else "the controller has ended by itself",
            )
        self._report_routing()
        for report in controller.replans[self._plans_seen :]:
            self._report_plan(report)
        self._plans_seen = len(controller.replans)

    def _report_routing(self) -> None:
        """Reports the routing's parameters if they have changed."""
        controller = self._fabric.controller
        if self._routing != controller.routing:
            self._routing = controller.routing
            text = f"the routing is {self._routing} from now on; no rule has changed"
            self.timeline.add("controller", text, monotonic_s=controller.routing_since_s)

    def _report_plan(self, report: Replanned) -> None:
        incident = self._incident
        number = None
        if incident and incident.changed_s and report.monotonic_s > incident.changed_s:
            number = incident.state.number
            incident.note_plan(report.monotonic_s)
        text = (
            f"{replan_text(report.failed, report.drained)}: {report.rules} rules and groups changed, planned "
            f"and proven in {report.planning_s * 1e3:.0f} ms"
        )
        if report.cut_off_pairs:
            text += f"; {report.cut_off_pairs} pairs of switches are cut off"
        self.timeline.add("controller", text, incident=number, monotonic_s=report.monotonic_s)

    def _traffic(self) -> TrafficStatus | None:
        """Returns the current traffic, of the session or else of the experiment; None if there is none."""
        background = self._session.traffic_status() if self._session else None
        self._watch_held(background is not None)
        return background or self._experiment.traffic()

    def _watch_held(self, flows: bool) -> None:
        """Starts the monitor of unread frames when background traffic starts; ends it when the traffic ends.

        Experiments have a monitor of their own.
        """
        if flows and self._held is None:
            links = self._fabric.options.links
            frame_bytes = default_frame_bytes(links.mtu)
            self._held = HeldMonitor(self._fabric.network, links.packet_s(frame_bytes))
            self._held.__enter__()
            self._held_since_s = time.monotonic()
        elif not flows and self._held:
            self._held.__exit__()
            self._held = None

    def _validity(self, traffic: TrafficStatus | None) -> Validity:
        """Returns whether the machine keeps up with the current traffic, judged by the last second."""
        collective = self._experiment.collective()
        if traffic is None and collective is None:
            return Validity(None, "nothing is being measured")
        rate_bps = self._fabric.options.links.rate_bps
        if self._held:
            return judged_now(self._held.latest, time.monotonic() - self._held_since_s, rate_bps)
        running = traffic or collective
        return judged_now(self._experiment.held, running.seconds if running else 0.0, rate_bps)


def _text_of(event: Event) -> str:
    """Returns an event in words, without prompt commands, which viewers cannot use."""
    if isinstance(event, ProcessEnded):
        event = replace(event, remedy="")
    return str(event)


def judged_now(held: HeldLately | None, seconds: float, rate_bps: int) -> Validity:
    """Returns the judgement of the last second, with a remedy if the machine was too slow.

    Args:
        held: the longest times for which switches left frames unread in the last second; None if unknown.
        seconds: time since the traffic started in s.
        rate_bps: rate of the links.
    """
    if held is None or seconds < _JUDGED_AFTER_S:
        return Validity(None, "not yet judged")
    mean, rms = held
    text = (
        f"{mean.switch} held frames for {mean.frame_times:.2f} frame times in the last second; "
        f"limit {MAX_HELD:g}"
    )
    if rms.frame_times > MAX_HELD_RMS:
        times = f"{rms.frame_times:.2f} frame times (root mean square)"
        text += f"; {rms.switch} held many at a time, for {times}"
    valid = mean.frame_times <= MAX_HELD and rms.frame_times <= MAX_HELD_RMS
    strained = strain(Evidence(0.0, held=mean, held_rms=rms))
    text += rate_remedy(slower_rate_bps(rate_bps, strained), "a lower load")
    return Validity(valid, text, round(mean.frame_times, 3))


def proof_of(fabric: LiveFabric) -> Proof | None:
    """Returns the proof of a fabric's plan; None until its controller has reported it."""
    try:
        proven = fabric.controller.latest(Proven)
    except PolarLabError:  # a restarted controller has not proven its plan yet
        return None
    return Proof(proven.pairs, proven.max_hops, fabric.rules.flows, fabric.rules.groups)
